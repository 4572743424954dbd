/** Which node everybody looks at. */

import type { Report } from "./page_report";
import type { GraphProfile } from "./report";
import { graph } from "./page_report";

export interface Place {
  role: "reference" | "candidate";
  index: number;
}

type Listener = (place: Place) => void;

export class Selection {
  private listeners: Listener[] = [];
  current: Place | null = null;

  constructor(private readonly report: Report) {}

  onChange(listener: Listener): void {
    this.listeners.push(listener);
  }

  set(place: Place): void {
    this.current = place;
    for (const listener of this.listeners) listener(place);
  }

  /** Select a node of the candidate by name; false where it is in no profile. */
  byName(name: string | null): boolean {
    const side = graph(this.report, "candidate");
    const index = name === null || side === undefined ? -1 : placeOf(side, name);
    if (index < 0) return false;
    this.set({ role: "candidate", index });
    return true;
  }

  /** The same place on the candidate's side, if it has one. */
  onCandidate(place: Place): number | null {
    if (place.role === "candidate") return place.index;
    const found = graph(this.report, "candidate")?.counterpart.indexOf(place.index) ?? -1;
    return found < 0 ? null : found;
  }

  onReference(place: Place): number | null {
    if (place.role === "reference") return place.index;
    return graph(this.report, "candidate")?.counterpart[place.index] ?? null;
  }
}

const BODY = /\/([^/]*#\d+)\//;

/** The way to a node inside bodies, `parent/body#k/node`, step by step; itself where it is in none. */
export function pathInto(node: string): string[] {
  return node.split(BODY);
}

/** Where a node stands; one inside a body stands where its parent does. */
export function placeOf(side: GraphProfile, node: string): number {
  const own = side.nodes.indexOf(node);
  return own >= 0 ? own : side.nodes.indexOf(pathInto(node)[0] ?? node);
}

/** The faulty nodes that findings name inside the bodies of the node at a place. */
export function faultyInside(report: Report, side: GraphProfile, place: number): string[] {
  const parent = side.nodes[place] ?? "";
  return report.findings.flatMap(({ node, effect }) =>
    node === null || effect === "none" || node === parent || placeOf(side, node) !== place ? [] : [node.slice(parent.length + 1)],
  );
}

/** Places of the nodes that a finding names as faulty. */
export function faulty(report: Report, side: GraphProfile): Map<number, number> {
  const places = new Map<number, number>();
  for (const finding of report.findings) {
    if (finding.node === null || finding.effect === "none") continue;
    const index = placeOf(side, finding.node);
    if (index >= 0 && !places.has(index)) places.set(index, finding.rank);
  }
  return places;
}
