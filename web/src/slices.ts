/** A piece of each graph around the chosen node, drawn side by side. */

import cytoscape from "cytoscape";
import { abridged, css, h, shown } from "./dom";
import { figure } from "./figures";
import { real, type Report } from "./page_report";
import { mark, nodeStandings } from "./proof";
import type { GraphProfile, NodeProof } from "./report";
import { commonRanks, HEIGHT, joined, key, layOut, settled, WIDTH, type Role, type Side } from "./arrange";
import { faultyInside, faulty, type Place, type Selection } from "./selection";

export const USUAL = 11;
export const MOST = 150;
const BETWEEN = 90;
const LEGIBLE = 0.65;

/** The first faulty node, or where the error is largest. */
export function firstPlace(report: Report, side: GraphProfile): number {
  const first = [...faulty(report, side)].sort((a, b) => a[1] - b[1])[0];
  if (first !== undefined) return first[0];
  const measured = side.translation.some((one) => one !== null) ? side.translation : side.execution;
  const values = measured.map((one) => real(one) ?? -1);
  return values.indexOf(values.reduce((a, b) => Math.max(a, b), -1));
}

type Spots = Map<string, { x: number; y: number }>;

/** The picture of both pieces, and the words about the chosen node. */
export class Slices {
  private cy: cytoscape.Core | null = null;
  private size = USUAL;
  private place: Place | null = null;
  private readonly readers: Map<Role, number[][]>;
  private readonly standings: Map<string, NodeProof>;

  constructor(
    private readonly report: Report,
    private readonly left: GraphProfile | undefined,
    private readonly right: GraphProfile,
    private readonly box: HTMLElement,
    private readonly readout: HTMLElement,
    private readonly selection: Selection,
  ) {
    this.standings = nodeStandings(report.proof);
    this.readers = new Map([["candidate", readers(right)]]);
    if (left !== undefined) this.readers.set("reference", readers(left));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    addEventListener("beforeprint", () => this.fit());
  }

  resize(size: number): void {
    this.size = size;
    this.redraw();
  }

  fit(): void {
    this.cy?.fit(undefined, 24);
  }

  /** Rather a part that can be read than all of it: with both chosen nodes, if they fit. */
  private magnify(): void {
    const chosen = this.cy?.nodes(".chosen");
    if (this.cy === null || chosen === undefined || chosen.empty() || this.cy.zoom() >= LEGIBLE || this.size > USUAL) return;
    this.cy.fit(chosen, 40);
    if (this.cy.zoom() > LEGIBLE) {
      this.cy.zoom(LEGIBLE);
      this.cy.center(chosen);
    }
    if (this.cy.zoom() < 0.55) {
      // Too far from each other: the candidate's surroundings, then.
      this.cy.zoom(0.6);
      this.cy.center(chosen.filter(".candidate"));
    }
  }

  /** No blank margin on one side while something is cut off on the other. */
  private settle(): void {
    if (this.cy === null) return;
    const box = this.cy.elements().renderedBoundingBox();
    this.cy.panBy({ x: settled(box.x1, box.x2, this.cy.width()), y: settled(box.y1, box.y2, this.cy.height()) });
  }

  resized(): void {
    this.cy?.resize();
    this.fit();
    this.magnify();
    this.settle();
  }

  show(place: Place): void {
    const known = this.cy?.getElementById(key(place.role, place.index));
    this.place = place;
    // What is in sight already is chosen without moving everything.
    if (known !== undefined && known.nonempty() && this.cy !== null) {
      this.cy.nodes().removeClass("chosen");
      for (const one of this.chosen()) this.cy.getElementById(one).addClass("chosen");
      this.describe();
      return;
    }
    this.redraw();
  }

  private chosen(): string[] {
    if (this.place === null) return [];
    const [ref, cand] = [this.selection.onReference(this.place), this.selection.onCandidate(this.place)];
    return [ref === null ? "" : key("reference", ref), cand === null ? "" : key("candidate", cand)].filter(Boolean);
  }

  private redraw(): void {
    if (this.place === null) return;
    const cand = this.selection.onCandidate(this.place);
    const ref = this.selection.onReference(this.place);
    const right = cand === null ? [] : around(this.right, this.readers.get("candidate") ?? [], cand, this.size);
    const left = this.beside(ref, right);
    const positions = this.arranged(left, right);
    this.cy?.destroy();
    this.cy = cytoscape({
      container: this.box,
      elements: [...this.nodes("reference", left), ...this.nodes("candidate", right), ...this.edges("reference", left, positions), ...this.edges("candidate", right, positions), ...this.links(left, right)],
      style: style(),
      layout: { name: "preset", positions: (node: string | cytoscape.NodeSingular) => positions.get(typeof node === "string" ? node : node.id()) ?? { x: 0, y: 0 }, padding: 24 },
      minZoom: 0.15,
      maxZoom: 2.5,
      userPanningEnabled: true,
      autoungrabify: true,
      boxSelectionEnabled: false,
    });
    // The wheel belongs to the page unless someone means the graph.
    this.cy.userZoomingEnabled(false);
    this.box.onwheel = (event) => this.cy?.userZoomingEnabled(event.ctrlKey || event.metaKey);
    this.cy.on("tap", "node", (event) => {
      const [role, index] = String(event.target.id()).split(":");
      this.selection.set({ role: role as Role, index: Number(index) });
    });
    this.cy.on("mouseover", "node", (event) => this.describe(event.target.id()));
    this.cy.on("mouseout", "node", () => this.describe());
    for (const one of this.chosen()) this.cy.getElementById(one).addClass("chosen");
    this.fit();
    if (this.cy.zoom() > 1.1) {
      this.cy.zoom(1.1);
      this.cy.center();
    } else this.magnify();
    this.settle();
    this.box.dataset["nodes"] = String(this.cy.nodes().length);
    this.describe();
  }

  /** The counterparts of what is shown of the candidate, and what joins them. */
  private beside(chosen: number | null, right: number[]): number[] {
    const side = this.left;
    if (side === undefined) return [];
    const following = this.readers.get("reference") ?? [];
    const found = new Set(right.map((place) => this.right.counterpart[place]).filter((one) => one !== null && one !== undefined));
    if (chosen !== null) found.add(chosen);
    const first = [...found][0];
    if (found.size < 2) return first === undefined ? [] : around(side, following, chosen ?? first, this.size);
    // A node of the reference may be spelled out, or folded away, on the other side.
    const between = side.nodes.map((_, place) => place).filter((place) => {
      const known = (one: number): boolean => found.has(one);
      return !found.has(place) && carries(side, place) && (side.sources[place] ?? []).some(known) && (following[place] ?? []).some(known);
    });
    return [...found, ...between].slice(0, Math.max(this.size, found.size));
  }

  /** Both sides below themselves, joined nodes at one height. */
  private arranged(left: number[], right: number[]): Spots {
    const positions: Spots = new Map();
    const sides: Side[] = [{ role: "candidate", places: right, sources: joined(this.right, right) }];
    if (this.left !== undefined) sides.unshift({ role: "reference", places: left, sources: joined(this.left, left) });
    const ranks = commonRanks(sides, this.right.counterpart);
    let offset = 0;
    for (const side of sides) offset = layOut(positions, side, ranks, offset) + BETWEEN;
    return positions;
  }

  private nodes(role: Role, places: number[]): cytoscape.ElementDefinition[] {
    const side = role === "candidate" ? this.right : this.left;
    if (side === undefined) return [];
    const marked = role === "candidate" ? faulty(this.report, side) : new Map<number, number>();
    const heat = heatOf(this.right);
    const inner = (place: number): string | undefined => (marked.has(place) ? faultyInside(this.report, side, place)[0] : undefined);
    const standing = (place: number): NodeProof["standing"] | undefined => this.standings.get(`${role}:${side.nodes[place] ?? ""}`)?.standing;
    return places.map((place) => ({
      data: {
        id: key(role, place),
        label: `${mark(standing(place))}${shown(side.ops[place] ?? "")}${inner(place) === undefined ? "" : ` › ${abridged(shown(inner(place) ?? ""), 22)}`}\n${abridged(shown(side.nodes[place] ?? ""), 26)}`,
        heat: role === "candidate" ? heat(place) : 0,
      },
      classes: [role, marked.has(place) ? "faulty" : "", standing(place) ?? ""].join(" "),
    }));
  }

  private edges(role: Role, places: number[], positions: Spots): cytoscape.ElementDefinition[] {
    const side = role === "candidate" ? this.right : this.left;
    if (side === undefined) return [];
    return [...joined(side, places)].flatMap(([place, sources]) =>
      sources.map((source) => {
        const through = (side.sources[place] ?? []).includes(source) ? "" : "through";
        return {
          data: { id: `${role}:${source}>${place}`, source: key(role, source), target: key(role, place) },
          classes: this.far(positions, role, source, place) ? `far ${through}` : through,
        };
      }),
    );
  }

  /** An edge over several rows leads around what stands between. */
  private far(positions: Spots, role: Role, source: number, target: number): boolean {
    const [from, to] = [positions.get(key(role, source)), positions.get(key(role, target))];
    return from !== undefined && to !== undefined && to.y - from.y > 1.5 * (HEIGHT + 26);
  }

  private links(left: number[], right: number[]): cytoscape.ElementDefinition[] {
    const present = new Set(left);
    return right.flatMap((place) => {
      const other = this.right.counterpart[place];
      if (other === null || other === undefined || !present.has(other)) return [];
      return [{ data: { id: `pair:${place}`, source: key("reference", other), target: key("candidate", place) }, classes: "pair" }];
    });
  }

  private describe(id?: string): void {
    const query = id ?? this.chosen().at(-1);
    const [role, index] = (query ?? "").split(":");
    const side = role === "candidate" ? this.right : this.left;
    const place = Number(index);
    if (side === undefined || query === undefined) return;
    const counterpart = role === "candidate" && this.left !== undefined ? side.counterpart[place] : null;
    const parts = [
      h("span", { class: "who" }, h("span", { class: "dim" }, `${role} · ${side.ops[place] ?? ""} `), h("code", { class: "name" }, side.nodes[place] ?? "")),
      ...(role === "candidate" && this.left !== undefined
        ? [
            pairing("corresponds to", counterpart === null || counterpart === undefined ? "no single node" : (this.left.nodes[counterpart] ?? "")),
            pairing("translation", figure(side.translation[place])),
            pairing("arises here", figure(side.local[place])),
          ]
        : []),
      ...(role === "candidate" ? faultyInside(this.report, side, place).map((one) => pairing("faulty inside", shown(one))) : []),
      ...[this.standings.get(`${role}:${side.nodes[place] ?? ""}`)].flatMap((one) => (one === undefined ? [] : [pairing("proof", one.standing)])),
      pairing("run", figure(side.execution[place])),
      pairing("budget", figure(side.run_budget?.[place] ?? side.budget[place])),
    ];
    this.readout.replaceChildren(...parts);
  }
}

function pairing(label: string, value: string): HTMLElement {
  return h("span", { class: "pairing" }, h("span", { class: "dim" }, label), h("b", {}, value));
}

function readers(side: GraphProfile): number[][] {
  const found: number[][] = side.nodes.map(() => []);
  side.sources.forEach((sources, place) => sources.forEach((source) => found[source]?.push(place)));
  return found;
}

/** Whether a node carries values that rounding can move, or that the other side has too. */
function carries(side: GraphProfile, place: number): boolean {
  if (side.tensors[place] === "") return false;
  const paired = side.counterpart[place] !== null && side.counterpart[place] !== undefined;
  return paired || real(side.budget[place]) !== 0;
}

/** The nodes nearest to one, those first that carry values from the inputs. */
function around(side: GraphProfile, following: number[][], center: number, count: number): number[] {
  const found = new Set([center]);
  let layer = [center];
  while (layer.length > 0 && found.size < count) {
    const next: number[] = [];
    for (const place of layer) {
      for (const near of [...(side.sources[place] ?? []), ...(following[place] ?? [])]) {
        // Sizes and constants surround every node and explain none.
        if (found.size >= count || found.has(near) || !carries(side, near)) continue;
        found.add(near);
        next.push(near);
      }
    }
    layer = next;
  }
  return [...found];
}

/** How strong the fill of a node is: up to one at the largest error that arises anywhere, and nothing
 * at what is usual in this graph. Between a half and 0.86 no color of text could be read, so none is. */
export function heatOf(side: GraphProfile): (place: number) => number {
  const values = side.local.some((one) => one !== null) ? side.local : side.execution;
  const finite = values.map((one) => real(one)).filter((one): one is number => one !== null && Number.isFinite(one)).sort((a, b) => a - b);
  const [usual, most] = [finite[finite.length >> 1] ?? 0, finite.at(-1) ?? 0];
  const floor = Math.max(usual * 10, most * 1e-3);
  return (place) => {
    const value = real(values[place]) ?? 0;
    if (value === Infinity) return 1;
    const share = value <= floor || most <= floor ? 0 : Math.log(value / floor) / Math.log(most / floor);
    return share <= 0.55 ? share * 0.9 : 0.86 + ((share - 0.55) / 0.45) * 0.14;
  };
}

function style(): cytoscape.StylesheetJson {
  const [ink, dim, paper, lineColor, accent] = ["--ink", "--dim", "--raised", "--edge", "--translation"].map(css);
  return [
    {
      selector: "node",
      style: {
        shape: "round-rectangle",
        width: WIDTH,
        height: HEIGHT,
        "background-color": `mapData(heat, 0, 1, ${paper}, ${accent})`,
        "border-width": 1,
        "border-color": lineColor ?? "",
        label: "data(label)",
        "text-wrap": "wrap",
        "text-valign": "center",
        "text-halign": "center",
        "font-size": 11,
        "font-family": "system-ui, sans-serif",
        "line-height": 1.25,
        color: ink ?? "",
      },
    },
    { selector: "node[heat > 0.55]", style: { color: css("--on-accent") } },
    { selector: "node.proven", style: { "border-width": 2.5, "border-color": css("--proven") } },
    { selector: "node.proven[heat <= 0]", style: { "background-color": css("--proven-wash") } },
    { selector: "node.faulty", style: { "border-width": 3, "border-color": accent ?? "" } },
    { selector: "node.chosen", style: { "border-width": 3, "border-color": ink ?? "", "outline-width": 3, "outline-color": css("--reference"), "outline-opacity": 0.45, "outline-offset": 2 } },
    { selector: "edge", style: { width: 1.25, "line-color": lineColor ?? "", "target-arrow-color": lineColor ?? "", "target-arrow-shape": "triangle", "arrow-scale": 0.8, "curve-style": "bezier" } },
    { selector: "edge.through", style: { "line-style": "dotted" } },
    { selector: "edge.far", style: { "curve-style": "unbundled-bezier", "control-point-distances": [WIDTH * 0.75], "control-point-weights": [0.5] } },
    { selector: "edge.pair", style: { "line-style": "dashed", "line-dash-pattern": [4, 4], "target-arrow-shape": "none", width: 1, "line-color": dim ?? "", opacity: 0.5, "curve-style": "straight" } },
  ] as cytoscape.StylesheetJson;
}
