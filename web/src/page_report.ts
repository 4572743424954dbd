/** What the page is given: a report, with the repair and the parts that are fetched later. */

import type { CloseUp as StoredCloseUp, ErrorProfile, GraphProfile, ModelSummary, Real, Report as StoredReport, Verdict } from "./report";

export interface CloseUp extends StoredCloseUp {
  /** Under which it is fetched, where its values were left out. */
  id?: string;
}

/** The JSON of `isomorph fix --format json`. */
export interface Repair {
  repaired: boolean;
  reason: string;
  output: string | null;
  patches: { node: string | null; cause: string | null; summary: string; words: string[] }[];
  before: Measured[];
  after: Measured[];
}

export interface Measured {
  origin: string;
  verdict: Verdict;
  reason: string;
  outputs?: { candidate_output: string | null; times_over_budget: Real | null; relative_l2: Real | null }[];
}

export interface Report extends StoredReport {
  repair?: Repair | null;
  profile: (ErrorProfile & { close_ups: CloseUp[] }) | null;
}

/** A number out of its spelling; null stays null. */
export function real(value: Real | null | undefined): number | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return value;
  return { nan: NaN, inf: Infinity, "-inf": -Infinity }[value];
}

export function model(report: Report, role: string): ModelSummary | undefined {
  return report.models.find((one) => one.role === role);
}

export function graph(report: Report, role: string): GraphProfile | undefined {
  return report.profile?.graphs.find((one) => one.role === role);
}
