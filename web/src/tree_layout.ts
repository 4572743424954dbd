/** Where the parts of a tree stand that are seen: in rows, each part below what it reads. */

import type { GraphProfile } from "./report";
import type { Part, Tree } from "./module_tree";

export const [NODE_WIDTH, NODE_HEIGHT] = [168, 36];
export const HEADER = 24;
const [GAP_X, GAP_Y, INSET] = [18, 22, 12];

export interface Box {
  part: Part;
  x: number;
  y: number;
  width: number;
  height: number;
  /** Whether its children are seen. */
  open: boolean;
  /** After how many boxes those inside end. */
  end: number;
}

export interface Line {
  from: Box;
  to: Box;
  /** Where it passes the rows between, if it passes any. */
  around: number | null;
}

export interface Picture {
  boxes: Box[];
  lines: Line[];
  /** The box that stands for each part that is seen, by its number. */
  boxOf: Map<number, Box>;
  width: number;
  height: number;
}

interface Plan {
  width: number;
  height: number;
  /** Of each child, from the upper left corner of the content. */
  spots: { x: number; y: number; row: number }[];
  rows: { left: number; right: number }[];
}

export function layOutTree(tree: Tree, side: GraphProfile): Picture {
  const plans = new Map<Part, Plan>();
  const size = (one: Part): [number, number] => {
    if (!one.open || one.children.length === 0) return [NODE_WIDTH, NODE_HEIGHT];
    const plan = planned(one, one.children.map(size));
    plans.set(one, plan);
    return [plan.width + 2 * INSET, plan.height + HEADER + INSET];
  };
  size(tree.root);
  const boxes: Box[] = [];
  const boxOf = new Map<number, Box>();
  const put = (one: Part, x: number, y: number): void => {
    const plan = plans.get(one);
    const box: Box = {
      part: one, x, y, open: plan !== undefined, end: 0,
      width: plan === undefined ? NODE_WIDTH : plan.width + 2 * INSET,
      height: plan === undefined ? NODE_HEIGHT : plan.height + HEADER + INSET,
    };
    boxes.push(box);
    boxOf.set(one.id, box);
    if (plan !== undefined) one.children.forEach((child, at) => put(child, x + INSET + (plan.spots[at]?.x ?? 0), y + HEADER + (plan.spots[at]?.y ?? 0)));
    box.end = boxes.length;
  };
  const outer = plans.get(tree.root);
  put(tree.root, -INSET, -HEADER);
  return { boxes, lines: lines(tree, side, plans, boxOf), boxOf, width: outer?.width ?? 0, height: outer?.height ?? 0 };
}

/** Rows by the longest way from the start; within a row, each below the middle of what it reads. */
function planned(one: Part, sizes: [number, number][]): Plan {
  const count = one.children.length;
  const before: number[][] = one.children.map(() => []);
  const after: number[][] = one.children.map(() => []);
  for (const [from, to] of one.edges) {
    before[to]?.push(from);
    after[from]?.push(to);
  }
  const row = new Array<number>(count).fill(0);
  for (let at = 0; at < count; at += 1) for (const source of before[at] ?? []) row[at] = Math.max(row[at] ?? 0, (row[source] ?? 0) + 1);
  // What reads nothing stands right above its first reader.
  for (let at = count - 1; at >= 0; at -= 1) {
    const readers = after[at] ?? [];
    if ((before[at] ?? []).length === 0 && readers.length > 0) row[at] = Math.max(0, Math.min(...readers.map((each) => row[each] ?? 0)) - 1);
  }
  const rows: number[][] = [];
  row.forEach((number, at) => (rows[number] ??= []).push(at));
  const center = new Array<number>(count).fill(0);
  const spots: Plan["spots"] = new Array(count);
  const extents: Plan["rows"] = [];
  let y = 0;
  for (let number = 0; number < rows.length; number += 1) {
    const members = rows[number] ?? [];
    const wanted = new Map(members.map((at) => [at, mean((before[at] ?? []).map((source) => center[source] ?? 0))]));
    members.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0) || a - b);
    let right = -Infinity;
    let drift = 0;
    for (const at of members) {
      const width = sizes[at]?.[0] ?? 0;
      const left = Math.max((wanted.get(at) ?? 0) - width / 2, right + GAP_X);
      right = left + width;
      center[at] = left + width / 2;
      drift += center[at] - (wanted.get(at) ?? 0);
    }
    const shift = members.length === 0 ? 0 : drift / members.length;
    let [least, most, tall] = [Infinity, -Infinity, 0];
    for (const at of members) {
      const [width, height] = sizes[at] ?? [0, 0];
      center[at] = (center[at] ?? 0) - shift;
      spots[at] = { x: (center[at] ?? 0) - width / 2, y, row: number };
      least = Math.min(least, (center[at] ?? 0) - width / 2);
      most = Math.max(most, (center[at] ?? 0) + width / 2);
      tall = Math.max(tall, height);
    }
    extents.push({ left: least, right: most });
    y += tall + GAP_Y;
  }
  const left = Math.min(...extents.map((each) => each.left));
  for (const spot of spots) spot.x -= left;
  for (const each of extents) {
    each.left -= left;
    each.right -= left;
  }
  return { width: Math.max(...extents.map((each) => each.right)), height: Math.max(0, y - GAP_Y), spots, rows: extents };
}

function mean(values: number[]): number {
  return values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length;
}

/** Every edge of the graph between the parts that are seen, once. */
function lines(tree: Tree, side: GraphProfile, plans: Map<Part, Plan>, boxOf: Map<number, Box>): Line[] {
  const seen = tree.leaves.map((leaf) => {
    let found: Part = leaf;
    for (let at = leaf.parent; at !== null; at = at.parent) if (!plans.has(at)) found = at;
    return found;
  });
  const known = new Set<string>();
  const all: Line[] = [];
  side.sources.forEach((sources, place) => {
    for (const source of sources) {
      const [a, b] = [seen[source], seen[place]];
      if (a === undefined || b === undefined || a === b) continue;
      const key = `${a.id}>${b.id}`;
      if (known.has(key)) continue;
      known.add(key);
      const [from, to] = [boxOf.get(a.id), boxOf.get(b.id)];
      if (from !== undefined && to !== undefined) all.push({ from, to, around: around(a, b, plans, boxOf) });
    }
  });
  return all;
}

/** On which side, and how far out, a line over several rows passes those between. */
function around(from: Part, to: Part, plans: Map<Part, Plan>, boxOf: Map<number, Box>): number | null {
  let [a, b] = [from, to];
  while (a.parent !== b.parent && a.parent !== null && b.parent !== null) {
    if (a.depth >= b.depth) a = a.parent;
    else b = b.parent;
  }
  const parent = a.parent;
  const plan = parent === null ? undefined : plans.get(parent);
  const frame = parent === null ? undefined : boxOf.get(parent.id);
  if (parent === null || plan === undefined || frame === undefined || parent !== b.parent) return null;
  const [first, last] = [rowOf(a, plans), rowOf(b, plans)];
  const middle = (boxOf.get(from.id)?.x ?? 0) + (boxOf.get(from.id)?.width ?? 0) / 2;
  if (last - first < 2) {
    // Out of a module or into it: along its border, where something stands between.
    const leaves = a !== from && !inRow(from, a, plans, "last");
    const enters = b !== to && !inRow(to, b, plans, "first");
    const frame = leaves ? boxOf.get(a.id) : enters ? boxOf.get(b.id) : undefined;
    if (frame === undefined) return null;
    return middle - frame.x <= frame.x + frame.width - middle ? frame.x + INSET / 2 : frame.x + frame.width - INSET / 2;
  }
  const between = plan.rows.slice(first + 1, last);
  const left = frame.x + INSET + Math.min(...between.map((each) => each.left)) - 10;
  const right = frame.x + INSET + Math.max(...between.map((each) => each.right)) + 10;
  return middle - left <= right - middle ? left : right;
}

function rowOf(one: Part, plans: Map<Part, Plan>): number {
  const plan = one.parent === null ? undefined : plans.get(one.parent);
  return plan?.spots[one.parent?.children.indexOf(one) ?? 0]?.row ?? 0;
}

/** Whether a part, and all that it is in up to a module, stand in the first or the last row. */
function inRow(one: Part, module: Part, plans: Map<Part, Plan>, which: "first" | "last"): boolean {
  for (let at = one; at !== module && at.parent !== null; at = at.parent) {
    const rows = plans.get(at.parent)?.rows.length ?? 1;
    if (rowOf(at, plans) !== (which === "first" ? 0 : rows - 1)) return false;
  }
  return true;
}
