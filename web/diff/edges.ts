/** The edges of one graph beside its nodes: a line down to the reader, in a lane of its own where it is long. */

import type { DiffRow } from "./document";

export type Side = "reference" | "candidate";

export interface Edge {
  from: number;
  to: number;
  lane: number;
}

export const LANES = 4;

/** The edges between rows; those that skip rows have a lane, 1 to LANES, so that they do not overlap. */
export function edgesOf(rows: DiffRow[], side: Side): Edge[] {
  const at = new Map<string, number>();
  rows.forEach((row, place) => row[side].forEach((node) => at.set(node.name, place)));
  const present = rows.map((row) => row[side].length > 0);
  const before: number[] = [];
  let last = -1;
  present.forEach((one, place) => {
    before[place] = last;
    if (one) last = place;
  });
  const seen = new Set<string>();
  const edges: Edge[] = [];
  rows.forEach((row, to) => {
    for (const node of row[side]) {
      for (const name of node.reads) {
        const from = at.get(name);
        if (from === undefined || from === to || seen.has(`${from} ${to}`)) continue;
        seen.add(`${from} ${to}`);
        edges.push({ from, to, lane: before[to] === from ? 0 : 1 });
      }
    }
  });
  edges.sort((one, other) => Math.min(one.from, one.to) - Math.min(other.from, other.to));
  const busy: number[] = new Array<number>(LANES + 1).fill(-1);
  for (const edge of edges) {
    if (edge.lane === 0) continue;
    const [start, end] = [Math.min(edge.from, edge.to), Math.max(edge.from, edge.to)];
    let lane = 1;
    while (lane < LANES && (busy[lane] ?? -1) > start) lane++;
    busy[lane] = Math.max(busy[lane] ?? -1, end);
    edge.lane = lane;
  }
  return edges;
}
