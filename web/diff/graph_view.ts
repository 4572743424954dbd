/** Two graphs side by side: corresponding nodes on one row, drawn only where they are in sight. */

import { abridged, h, shown, svg } from "../src/dom";
import { LANES, edgesOf, type Edge, type Side } from "./edges";
import type { DiffNode, DiffRow, ModelDiff, Relation } from "./document";
import { LINE, MOST_IN_GROUP, SIGNS, WORDS, arranged, differs, lineAt, modules, searched, writtenChanges, type Shown } from "./rows";

const SIDES: Side[] = ["reference", "candidate"];
const BEYOND = 400;
const LANE = 7;
const RAIL = 12 + LANES * LANE;

export class GraphView {
  readonly element: HTMLElement;
  private readonly scroller: HTMLElement;
  private readonly sheet: HTMLElement;
  private readonly rows: DiffRow[];
  private readonly edges: Record<Side, Edge[]>;
  private readonly texts: string[];
  private readonly open = new Set<number>();
  private readonly wanted: Set<Relation>;
  private lines: Shown[] = [];
  private lineOf: number[] = [];
  private all = false;
  selected = -1;

  constructor(
    diff: ModelDiff,
    private readonly onSelect: (row: DiffRow) => void,
  ) {
    this.rows = diff.rows;
    this.wanted = new Set(Object.keys(WORDS) as Relation[]);
    this.edges = { reference: edgesOf(this.rows, "reference"), candidate: edgesOf(this.rows, "candidate") };
    this.texts = this.rows.map(searched);
    this.all = !this.rows.some(differs);
    this.sheet = h("div", { class: "sheet", role: "list" });
    this.scroller = h("div", { class: "graphs-scroller", tabindex: 0, "aria-label": "Both graphs, row by row", role: "region" }, this.sheet);
    this.scroller.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()));
    this.scroller.addEventListener("keydown", (event) => this.onKey(event));
    addEventListener("resize", () => this.draw());
    this.element = h(
      "div",
      { class: "graphs-frame" },
      h(
        "div",
        { class: "graphs-heads" },
        ...SIDES.map((side) => h("div", { class: `head ${side}` }, h("b", {}, side), h("span", { class: "name" }, ` ${diff[side].location.split("/").pop() ?? ""}`), h("span", { class: "dim" }, ` ${diff[side].framework}, ${diff[side].nodes} nodes`))),
      ),
      this.scroller,
    );
    this.arrange();
  }

  /** Show every row, or those that differ with folded runs between them. */
  showAll(all: boolean): void {
    this.all = all;
    this.arrange();
  }

  /** Show or fold away the rows of one relation. */
  toggle(relation: Relation, on: boolean): void {
    if (on) this.wanted.add(relation);
    else this.wanted.delete(relation);
    this.arrange();
  }

  /** The rows that a text occurs in. */
  find(text: string): number[] {
    const words = text.toLowerCase();
    return words === "" ? [] : this.texts.flatMap((one, at) => (one.includes(words) ? [at] : []));
  }

  /** Select a row, open what hides it, and bring it into sight. */
  select(place: number, focus = false): void {
    const row = this.rows[place];
    if (row === undefined) return;
    this.selected = place;
    let line = this.lines[this.lineOf[place] ?? -1];
    if (line?.folded) {
      this.open.add(line.from);
      this.arrange();
      line = this.lines[this.lineOf[place] ?? -1];
    }
    if (line !== undefined) {
      const { scrollTop, clientHeight } = this.scroller;
      if (line.top < scrollTop || line.top + line.height > scrollTop + clientHeight) this.scroller.scrollTop = Math.max(0, line.top - clientHeight / 3);
    }
    this.draw();
    this.onSelect(row);
    if (focus) this.scroller.focus({ preventScroll: true });
  }

  /** The next or previous row that differs and is wanted. */
  step(by: 1 | -1): void {
    for (let place = this.selected + by; place >= 0 && place < this.rows.length; place += by) {
      const row = this.rows[place] as DiffRow;
      if (differs(row) && this.wanted.has(row.relation)) return this.select(place);
    }
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const by = event.key === "ArrowDown" ? 1 : -1;
    this.select(Math.min(this.rows.length - 1, Math.max(0, this.selected + by)));
  }

  private arrange(): void {
    this.lines = arranged(this.rows, this.wanted, this.open, this.all);
    this.lineOf = [];
    this.lines.forEach((line, at) => {
      for (let row = line.from; row < line.to; row++) this.lineOf[row] = at;
    });
    const last = this.lines[this.lines.length - 1];
    this.sheet.style.height = `${last === undefined ? 0 : last.top + last.height}px`;
    this.draw();
  }

  /** Draw what is in sight, and a little beyond it. */
  draw(): void {
    const top = this.scroller.scrollTop - BEYOND;
    const bottom = this.scroller.scrollTop + (this.scroller.clientHeight || 600) + BEYOND;
    const [first, last] = [lineAt(this.lines, top), lineAt(this.lines, bottom)];
    const drawn: Element[] = [];
    for (const line of this.lines.slice(first, last + 1)) drawn.push(line.folded ? this.folded(line) : this.row(line));
    this.sheet.replaceChildren(...SIDES.map((side) => this.rail(side, first, last)), ...drawn);
    this.sheet.dataset["drawn"] = String(drawn.length);
  }

  /** About how many characters an operator and a name have on one line. */
  private get room(): number {
    return Math.round((this.scroller.clientWidth / 2 - 80) / 7.6);
  }

  private folded(line: Shown): HTMLElement {
    const rows = this.rows.slice(line.from, line.to);
    const equal = rows.every((row) => !differs(row));
    const where = modules(rows);
    return h(
      "button",
      {
        class: "fold",
        role: "listitem",
        style: `top:${line.top}px;height:${line.height}px`,
        click: () => {
          this.open.add(line.from);
          this.arrange();
        },
      },
      `${rows.length} ${equal ? "matched" : "hidden"} ${rows.length === 1 ? "row" : "rows"}${where === "" ? "" : ` · ${where}`}`,
    );
  }

  private row(line: Shown): HTMLElement {
    const row = this.rows[line.from] as DiffRow;
    const chosen = line.from === this.selected;
    return h(
      "div",
      {
        class: `pair-row ${row.relation}${row.changes.length > 0 ? " has-changes" : row.uncompared.length > 0 ? " has-unknown" : ""}${chosen ? " selected" : ""}`,
        role: "listitem",
        "data-row": line.from,
        style: `top:${line.top}px;height:${line.height}px`,
        click: () => this.select(line.from, true),
      },
      nodes(row.reference, "reference", this.room),
      h("div", { class: "sign", title: WORDS[row.relation] }, SIGNS[row.relation]),
      nodes(row.candidate, "candidate", this.room),
      (row.changes.length > 0 || row.uncompared.length > 0) &&
        h(
          "div",
          { class: "changes" },
          ...writtenChanges(row).map((change) =>
            h(
              "div",
              { class: "change", title: shown(`${change.name}: ${change.reference} → ${change.candidate} ${change.detail}`) },
              h("span", { class: "what" }, `${change.name} `),
              h("del", {}, change.reference),
              " → ",
              h("ins", {}, change.candidate),
              change.detail !== "" && h("span", { class: "dim" }, ` ${change.detail}`),
            ),
          ),
          row.uncompared.length > 0 && h("div", { class: "change", title: shown(row.uncompared.join(", ")) }, h("span", { class: "unknown" }, "not compared: "), row.uncompared.join(", ")),
        ),
    );
  }

  /** The lines of one side's edges that cross the part in sight. */
  private rail(side: Side, first: number, last: number): SVGElement {
    const paths: SVGElement[] = [];
    const right = RAIL - 4;
    for (const edge of this.edges[side]) {
      const [from, to] = [this.lineOf[edge.from] ?? -1, this.lineOf[edge.to] ?? -1];
      if (from === to || Math.max(from, to) < first || Math.min(from, to) > last) continue;
      const [one, other] = [this.lines[from], this.lines[to]];
      if (one === undefined || other === undefined) continue;
      const [start, end] = [middle(one), middle(other)];
      const near = Math.abs(from - to) === 1 || edge.lane === 0;
      const x = near ? right : right - edge.lane * LANE;
      const bend = Math.min(10, Math.abs(end - start) / 2) * Math.sign(end - start);
      paths.push(svg("path", { class: near ? "edge near" : "edge", d: near ? `M${right} ${start}V${end}` : `M${right} ${start}Q${x} ${start} ${x} ${start + bend}V${end - bend}Q${x} ${end} ${right} ${end}` }));
    }
    for (const line of this.lines.slice(first, last + 1)) {
      if (line.folded) continue;
      if ((this.rows[line.from] as DiffRow)[side].length > 0) paths.push(svg("circle", { class: "dot", cx: right, cy: middle(line), r: 3 }));
    }
    return svg("svg", { class: `rail ${side}`, width: RAIL, height: this.sheet.clientHeight || 1, "aria-hidden": "true" }, ...paths);
  }
}

function middle(line: Shown): number {
  return line.folded ? line.top + line.height / 2 : line.top + 7 + LINE / 2;
}

/** The nodes of one side of a row, one to a line. */
function nodes(list: DiffNode[], side: Side, room: number): HTMLElement {
  const written = list.slice(0, MOST_IN_GROUP).map((node) =>
    h(
      "div",
      { class: "node", title: shown(`${node.op} ${node.name}${node.source?.module ? ` in ${node.source.module}` : ""}`) },
      h("b", {}, node.op),
      h("span", { class: "name" }, abridged(node.name, Math.max(12, room - node.op.length))),
      node.source?.module && !node.name.includes(node.source.module) ? h("span", { class: "dim module" }, node.source.module) : null,
    ),
  );
  if (list.length > MOST_IN_GROUP) written.push(h("div", { class: "node dim" }, `and ${list.length - MOST_IN_GROUP} more`));
  return h("div", { class: `cell ${side}${list.length === 0 ? " none" : ""}` }, ...written);
}
