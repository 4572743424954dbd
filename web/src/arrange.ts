/** Where the nodes of two slices stand: each below its sources, joined ones at one height. */

import dagre from "@dagrejs/dagre";
import type { GraphProfile } from "./report";

export const [WIDTH, HEIGHT] = [190, 44];

export type Role = "reference" | "candidate";

export interface Side {
  role: Role;
  places: number[];
  /** What stands before each place, among the places shown. */
  sources: Map<number, number[]>;
}

const DEEPEST = 8;
const MARGIN = 16;

/** How far to move what reaches from one place to another, so that no side is blank while another is cut off. */
export function settled(from: number, to: number, room: number): number {
  if (to - from <= room - 2 * MARGIN) return (room - from - to) / 2;
  if (from > MARGIN) return MARGIN - from;
  return Math.max(0, room - MARGIN - to);
}

/** The nearest shown nodes before each: directly, or through some that are not shown. */
export function joined(graph: GraphProfile, places: number[]): Map<number, number[]> {
  const present = new Set(places);
  const before = (place: number): number[] => {
    const [found, passed] = [new Set<number>(), new Set<number>()];
    let layer = graph.sources[place] ?? [];
    for (let depth = 0; depth < DEEPEST && layer.length > 0; depth += 1) {
      const next: number[] = [];
      for (const source of layer) {
        if (present.has(source)) found.add(source);
        else if (!passed.has(source)) {
          passed.add(source);
          next.push(...(graph.sources[source] ?? []));
        }
      }
      layer = next;
    }
    return [...found];
  };
  return new Map(places.map((place) => [place, before(place)]));
}

export function key(role: Role, place: number): string {
  return `${role}:${place}`;
}

/** The row of every node; the two of a pair share one, unless that would turn an edge around. */
export function commonRanks(sides: Side[], counterpart: (number | null)[]): Map<string, number> {
  const joined = new Map<string, string>();
  const reference = new Set(sides.find((side) => side.role === "reference")?.places ?? []);
  for (const side of sides) {
    if (side.role !== "candidate") continue;
    for (const place of side.places) {
      const other = counterpart[place];
      if (other === null || other === undefined || !reference.has(other)) continue;
      const referenceKey = key("reference", other);
      // Several nodes may hold the values of one: the first of them stands beside it.
      if (![...joined.values()].includes(referenceKey)) joined.set(key("candidate", place), referenceKey);
    }
  }
  return ranked(sides, joined) ?? ranked(sides, new Map()) ?? new Map();
}

/** Longest path over the merged nodes; null where merging closed a circle. */
function ranked(sides: Side[], joined: Map<string, string>): Map<string, number> | null {
  const merged = (one: string): string => joined.get(one) ?? one;
  const before = new Map<string, Set<string>>();
  const after = new Map<string, Set<string>>();
  for (const { role, places, sources } of sides) {
    for (const place of places) {
      const target = merged(key(role, place));
      before.set(target, before.get(target) ?? new Set());
      for (const source of sources.get(place) ?? []) {
        const from = merged(key(role, source));
        before.get(target)?.add(from);
        after.set(from, (after.get(from) ?? new Set()).add(target));
      }
    }
  }
  const ranks = new Map<string, number>();
  const waiting = new Map([...before].map(([one, sources]) => [one, sources.size]));
  const ready = [...waiting].filter(([, count]) => count === 0).map(([one]) => one);
  const order: string[] = [];
  while (ready.length > 0) {
    const one = ready.pop() as string;
    order.push(one);
    ranks.set(one, Math.max(-1, ...[...(before.get(one) ?? [])].map((source) => ranks.get(source) ?? 0)) + 1);
    for (const next of after.get(one) ?? []) {
      const left = (waiting.get(next) ?? 0) - 1;
      waiting.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  if (order.length < before.size) return null;
  // A node without sources stands right above its first reader, not at the very top.
  for (const one of order.reverse()) {
    const readers = [...(after.get(one) ?? [])].map((next) => ranks.get(next) ?? 0);
    if (readers.length > 0 && (before.get(one)?.size ?? 0) === 0) ranks.set(one, Math.min(...readers) - 1);
  }
  const all = new Map<string, number>();
  for (const { role, places } of sides) for (const place of places) all.set(key(role, place), ranks.get(merged(key(role, place))) ?? 0);
  return all;
}

/** One side on its rows; returns how far to the right it reaches. */
export function layOut(positions: Map<string, { x: number; y: number }>, side: Side, ranks: Map<string, number>, offset: number): number {
  const { role, places, sources } = side;
  if (places.length === 0) return offset;
  const plan = new dagre.graphlib.Graph();
  plan.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 26 });
  plan.setDefaultEdgeLabel(() => ({}));
  const rank = (place: number): number => ranks.get(key(role, place)) ?? 0;
  const least = Math.min(...places.map(rank));
  // Topological order keeps the picture the same however the places were found.
  const ordered = [...places].sort((a, b) => a - b);
  plan.setNode("root", { width: 1, height: 1 });
  for (const one of ordered) {
    plan.setNode(String(one), { width: WIDTH, height: HEIGHT });
    if ((sources.get(one) ?? []).length === 0) plan.setEdge("root", String(one), { minlen: rank(one) - least + 1, weight: 0 });
  }
  for (const one of ordered) {
    for (const source of sources.get(one) ?? []) plan.setEdge(String(source), String(one), { minlen: Math.max(1, rank(one) - rank(source)) });
  }
  dagre.layout(plan);
  const spots = ordered.map((one) => plan.node(String(one)) as { x: number; y: number });
  const left = Math.min(...spots.map((at) => at.x)) - WIDTH / 2;
  ordered.forEach((one, at) => {
    positions.set(key(role, one), { x: (spots[at]?.x ?? 0) - left + offset, y: rank(one) * (HEIGHT + 26) });
  });
  return Math.max(...spots.map((at) => at.x)) + WIDTH / 2 - left + offset;
}
