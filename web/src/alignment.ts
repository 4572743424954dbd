/** What corresponds to what, and how that is known; searched as one types. */

import { abridged, brief, h, section, shown, table } from "./dom";
import { figure } from "./figures";
import { graph, type Report } from "./page_report";
import type { Alignment, GraphProfile } from "./report";
import type { Selection } from "./selection";

const MOST_ROWS = 200;

interface Row {
  text: string;
  paired: boolean;
  cells: () => (HTMLElement | string)[];
}

export function alignment(report: Report, selection: Selection): HTMLElement | null {
  const side = graph(report, "candidate");
  if (report.alignment) {
    const alignment = report.alignment;
    const rows = ofPairs(alignment, side, selection);
    const tensors = alignment.pairs.filter((one) => one.kind !== "constant").length;
    const note = `${tensors} tensors and ${alignment.pairs.length - tensors} constants of the candidate have a counterpart, ${alignment.unaligned_candidate.length} have none; looked at on ${alignment.inputs} ${alignment.inputs === 1 ? "input" : "inputs"}.`;
    const list = searched(["candidate", "reference", "how one becomes the other", "evidence", "confidence"], rows);
    return section("alignment", "Alignment", note, folded(list), groups(alignment));
  }
  const other = graph(report, "reference");
  if (side === undefined || other === undefined) return null;
  const rows = ofNodes(side, other, selection);
  const note = `${rows.filter((row) => row.paired).length} of ${rows.length} nodes of the candidate have a counterpart: equal values in some arrangement of axes, everything before put right.`;
  return section("alignment", "Alignment", note, folded(searched(["candidate", "op", "reference", "#translation", "#arises here"], rows)));
}

/** The table has a row for each tensor: it is closed until someone asks for it. */
function folded(content: HTMLElement[]): HTMLElement {
  return h("details", { class: "all-pairs" }, h("summary", {}, "Show the table"), ...content);
}

function searched(headings: string[], rows: Row[]): HTMLElement[] {
  const body = h("div", {});
  const find = h("input", { type: "search", placeholder: "Search names and reasons", "aria-label": "Search the alignment" });
  const only = h("input", { type: "checkbox", id: "unpaired" });
  const show = (): void => {
    const query = find.value.trim().toLowerCase();
    const found = rows.filter((row) => row.text.includes(query) && !(only.checked && row.paired));
    body.replaceChildren(
      table(headings, found.slice(0, MOST_ROWS).map((row) => row.cells()), "tight"),
      h("p", { class: "note" }, found.length > MOST_ROWS ? `${MOST_ROWS} of ${found.length} shown; search for the rest.` : `${found.length} shown.`),
    );
  };
  find.addEventListener("input", show);
  only.addEventListener("change", show);
  show();
  return [h("div", { class: "tools" }, find, only, h("label", { for: "unpaired" }, "only those without")), body];
}

/** A name that leads to its node, where the profile has one. */
function link(text: string, index: number | undefined, selection: Selection): HTMLElement {
  if (index === undefined) return brief(text);
  return h("button", { type: "button", class: "link", title: shown(text), click: () => selection.set({ role: "candidate", index }) }, abridged(text, 44));
}

function ofPairs(alignment: Alignment, side: GraphProfile | undefined, selection: Selection): Row[] {
  const places = new Map((side?.tensors ?? []).map((tensor, place) => [tensor, place]));
  const aligned = alignment.pairs.map((pair) => ({
    text: [pair.candidate, ...pair.reference, pair.transform, pair.kind].join("\n").toLowerCase(),
    paired: true,
    cells: () => [
      h("span", {}, link(pair.candidate, places.get(pair.candidate), selection), pair.kind !== "tensor" && h("span", { class: "dim" }, ` ${pair.kind}`)),
      h("span", {}, ...pair.reference.flatMap((one, at) => (at === 0 ? [brief(one)] : [", ", brief(one)]))),
      pair.transform,
      pair.evidence.join(", ") + (pair.rivals > 0 ? `; ${pair.rivals} more with these values` : ""),
      pair.confidence,
    ],
  }));
  const alone = [...alignment.unaligned_candidate.map((one) => ({ ...one, ofReference: false })), ...alignment.unaligned_reference.map((one) => ({ ...one, ofReference: true }))];
  const unaligned = alone.map((one) => ({
    text: [one.name, one.reason, one.kind].join("\n").toLowerCase(),
    paired: false,
    cells: () => [
      one.ofReference ? h("span", { class: "dim" }, "–") : h("span", {}, link(one.name, places.get(one.name), selection), one.kind !== "tensor" && h("span", { class: "dim" }, ` ${one.kind}`)),
      one.ofReference ? brief(one.name) : h("span", { class: "dim" }, "–"),
      one.reason,
      "",
      "",
    ],
  }));
  return [...aligned, ...unaligned];
}

function ofNodes(side: GraphProfile, other: GraphProfile, selection: Selection): Row[] {
  return side.nodes.flatMap((node, place) => {
    if (side.tensors[place] === "") return [];
    const counterpart = side.counterpart[place] ?? null;
    const counterparts = counterpart === null ? [] : [other.nodes[counterpart], other.tensors[counterpart]];
    return [
      {
        text: [node, side.ops[place], side.tensors[place], ...counterparts].join("\n").toLowerCase(),
        paired: counterpart !== null,
        cells: () => [
          link(node, place, selection),
          side.ops[place] ?? "",
          counterpart === null ? h("span", { class: "dim" }, "no single counterpart") : brief(other.nodes[counterpart]),
          figure(side.translation[place]),
          figure(side.local[place]),
        ],
      },
    ];
  });
}

function groups(alignment: Alignment): HTMLElement | null {
  const joined = alignment.groups.filter((one) => one.reference.length > 0 && one.candidate.length > 0);
  if (joined.length === 0) return null;
  const listed = (names: string[]): HTMLElement => h("span", {}, ...names.flatMap((one, at) => (at === 0 ? [brief(one)] : [", ", brief(one)])));
  return h(
    "details",
    {},
    h("summary", {}, "Fused and split nodes ", h("span", { class: "dim" }, joined.length)),
    table(["candidate", "reference"], joined.slice(0, MOST_ROWS).map((one) => [listed(one.candidate), listed(one.reference)]), "tight"),
  );
}
