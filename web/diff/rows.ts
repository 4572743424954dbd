/** Which rows are shown, and where: runs of equal nodes are folded where only changes are asked for. */

import type { DiffNode, DiffRow, NodeChange, Relation } from "./document";

export interface Shown {
  /** Places in the rows of the document; several where equal nodes are folded into one line. */
  from: number;
  to: number;
  folded: boolean;
  top: number;
  height: number;
}

export const LINE = 22;
const PAD = 14;
const FOLD = 34;
/** Equal nodes shown on either side of a change. */
const CONTEXT = 1;
/** Nodes of a group that are written out; the rest is counted. */
export const MOST_IN_GROUP = 8;
const MOST_CHANGES = 6;

export const WORDS: Record<Relation, string> = {
  matched: "matched",
  changed: "changed",
  regrouped: "regrouped",
  conversion: "conversion",
  added: "added",
  removed: "removed",
  moved: "moved",
};

export const MEANINGS: Record<Relation, string> = {
  matched: "One node on each side, equal as far as the files state it",
  changed: "One node on each side, with an attribute, a constant, a type or an input that differs",
  regrouped: "Nodes that compute together what other nodes compute",
  conversion: "Nodes of one side that hand on every number: layout, shape, type or quantizer",
  added: "Only in the candidate",
  removed: "Only in the reference",
  moved: "One node on each side, at another place",
};

export const SIGNS: Record<Relation, string> = {
  matched: "=",
  changed: "≠",
  regrouped: "↔",
  conversion: "⇄",
  added: "+",
  removed: "−",
  moved: "↕",
};

export function differs(row: DiffRow): boolean {
  return row.relation !== "matched";
}

/** The changes written into the row itself; the panel has all of them. */
export function writtenChanges(row: DiffRow): NodeChange[] {
  return row.changes.slice(0, MOST_CHANGES);
}

export function heightOf(row: DiffRow): number {
  const lines = Math.max(linesOf(row.reference), linesOf(row.candidate));
  return lines * LINE + (writtenChanges(row).length + (row.uncompared.length > 0 ? 1 : 0)) * LINE + PAD;
}

function linesOf(nodes: DiffNode[]): number {
  return Math.min(nodes.length, MOST_IN_GROUP) + (nodes.length > MOST_IN_GROUP ? 1 : 0);
}

/** The lines of the view: every row, or the changed ones with folded runs between them. */
export function arranged(rows: DiffRow[], wanted: Set<Relation>, open: Set<number>, all: boolean): Shown[] {
  const keep = rows.map((row) => (all ? wanted.has(row.relation) || row.relation === "matched" : differs(row) && wanted.has(row.relation)));
  const near = keep.map((one, at) => {
    for (let by = -CONTEXT; by <= CONTEXT && !one; by++) one = keep[at + by] === true;
    return one;
  });
  const found: Shown[] = [];
  let top = 0;
  const add = (from: number, to: number, folded: boolean): void => {
    const height = folded ? FOLD : heightOf(rows[from] as DiffRow);
    found.push({ from, to, folded, top, height });
    top += height;
  };
  for (let at = 0; at < rows.length; ) {
    if (near[at]) {
      add(at, at + 1, false);
      at++;
      continue;
    }
    let end = at;
    while (end < rows.length && !near[end]) end++;
    if (open.has(at) || end - at === 1) for (let one = at; one < end; one++) add(one, one + 1, false);
    else add(at, end, true);
    at = end;
  }
  return found;
}

/** The first line that ends behind a height. */
export function lineAt(lines: Shown[], height: number): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const line = lines[middle] as Shown;
    if (line.top + line.height <= height) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Text that a search looks at, in lower case. */
export function searched(row: DiffRow): string {
  const words: string[] = [];
  for (const node of [...row.reference, ...row.candidate]) {
    words.push(node.name, node.op, node.native_op, node.source?.module ?? "", ...node.constants);
    for (const output of node.outputs) words.push(output.name);
  }
  words.push(...row.uncompared);
  for (const change of row.changes) words.push(change.name, change.reference, change.candidate);
  return words.join("\n").toLowerCase();
}

/** The module that most of the nodes of some rows come from; the first and the last, where several. */
export function modules(rows: DiffRow[]): string {
  const found: string[] = [];
  for (const row of rows) {
    const module = [...row.reference, ...row.candidate].map((node) => node.source?.module).find((one) => one);
    if (module && found[found.length - 1] !== module) found.push(module);
  }
  const first = found[0];
  const last = found[found.length - 1];
  if (first === undefined || last === undefined) return "";
  return first === last ? first : `${first} … ${last}`;
}
