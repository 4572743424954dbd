/** Both whole graphs, and beside them a piece of each around the chosen node. */

import { h, section } from "./dom";
import { graphSearch } from "./graph_search";
import { graph, type Report } from "./page_report";
import { nodeStandings } from "./proof";
import type { GraphProfile } from "./report";
import { faulty, type Place, type Selection } from "./selection";
import { firstPlace, heatOf, MOST, Slices, USUAL } from "./slices";
import { WholeGraph } from "./whole_graph";

export function graphs(report: Report, selection: Selection): HTMLElement {
  const [left, right] = [graph(report, "reference"), graph(report, "candidate")];
  if (right === undefined) return h("div", { hidden: true });
  const canvas = h("div", { class: "canvas", role: "img", "aria-label": "Both graphs around the chosen node" });
  const readout = h("p", { class: "readout", "aria-live": "polite" });
  const size = h("input", { type: "range", min: 5, max: MOST, value: USUAL, id: "slice-size" });
  const slices = new Slices(report, left, right, canvas, readout, selection);
  size.addEventListener("input", () => slices.resize(Number(size.value)));
  const panes = h("div", { class: left === undefined ? "panes alone" : "panes" });
  const element = section(
    "graphs",
    left === undefined ? "The graph" : "Both graphs",
    `${left === undefined ? "" : "Dashed lines join tensors that correspond, dotted edges lead through nodes that are not shown. A node with a dashed border has no counterpart. "}The fill is the error that arises at the node.${report.proof ? " Blue with a ✓: proven for every input of these shapes." : ""}`,
    h(
      "div",
      { class: "tools" },
      graphSearch(report, (place) => selection.set(place)),
      h("span", { class: "legend" }, h("i", { class: "ramp" }), h("span", {}, "own error: none … largest")),
      report.proof && h("span", { class: "legend proof" }, h("i", { class: "swatch proven" }), h("span", {}, "✓ proven")),
    ),
    panes,
    readout,
  );
  const build = async (): Promise<void> => {
    const wholes: WholeGraph[] = [];
    for (const side of [left, right].filter((one) => one !== undefined)) {
      wholes.push(whole(report, side, left !== undefined, selection));
      // A large graph takes its time: the page answers between the two.
      await new Promise((done) => setTimeout(done, 0));
    }
    const widen = h("button", { type: "button", "aria-pressed": "false" }, "Wide");
    widen.addEventListener("click", () => {
      widen.setAttribute("aria-pressed", String(panes.classList.toggle("wide")));
      requestAnimationFrame(() => slices.resized());
    });
    panes.append(
      h(
        "div",
        { class: "tools whole-tools", role: "group", "aria-label": "Whole graphs" },
        button("Open all", () => wholes.forEach((one) => one.openAll(true))),
        button("Close all", () => wholes.forEach((one) => one.openAll(false))),
        button("Fit", () => wholes.forEach((one) => one.fit())),
        button("+", () => wholes.forEach((one) => one.zoomBy(1.4)), "Zoom in"),
        button("−", () => wholes.forEach((one) => one.zoomBy(1 / 1.4)), "Zoom out"),
        widen,
      ),
      ...wholes.map((one) => one.element),
      h("div", { class: "pane around" }, h("div", { class: "tools" }, h("h3", { class: "pane-title" }, "Around the chosen node"), h("span", { class: "size" }, h("label", { for: "slice-size" }, "nodes shown"), size), button("Fit", () => slices.fit())), canvas),
    );
    const show = (place: Place): void => {
      if (left !== undefined) wholes[0]?.show(selection.onReference(place));
      wholes.at(-1)?.show(selection.onCandidate(place));
      slices.show(place);
    };
    selection.onChange(show);
    if (selection.current === null) selection.set({ role: "candidate", index: firstPlace(report, right) });
    else show(selection.current);
  };
  // Canvases ask for colors, which are known once the page is styled; and the verdict is painted
  // before large graphs are laid out.
  requestAnimationFrame(() => setTimeout(() => void build(), 0));
  return element;
}

function button(label: string, act: () => void, spoken?: string): HTMLElement {
  return h("button", { type: "button", "aria-label": spoken, title: spoken, click: act }, label);
}

function whole(report: Report, side: GraphProfile, paired: boolean, selection: Selection): WholeGraph {
  const standings = nodeStandings(report.proof);
  const role = side.role === "reference" ? "reference" : "candidate";
  const none = (): number => 0;
  const used = role === "reference" ? new Set(graph(report, "candidate")?.counterpart ?? []) : new Set<number>();
  return new WholeGraph(
    role,
    !paired ? "Model" : role === "reference" ? "Reference" : "Candidate",
    side,
    {
      heat: role === "candidate" ? heatOf(side) : none,
      faulty: role === "candidate" ? faulty(report, side) : faultyOnReference(report, side),
      alone: (place) => paired && side.tensors[place] !== "" && (role === "candidate" ? side.counterpart[place] === null : !used.has(place)),
      proven: (place) => standings.get(`${role}:${side.nodes[place] ?? ""}`)?.standing === "proven",
    },
    (index) => selection.set({ role, index }),
  );
}

/** The reference's nodes that findings name beside the faulty ones. */
function faultyOnReference(report: Report, side: GraphProfile): Map<number, number> {
  const found = new Map<number, number>();
  for (const finding of report.findings) {
    if (finding.node === null || finding.effect === "none") continue;
    for (const name of finding.reference_nodes.slice(0, 1)) {
      const place = side.nodes.indexOf(name);
      if (place >= 0 && !found.has(place)) found.set(place, finding.rank);
    }
  }
  return found;
}
