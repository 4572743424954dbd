/** What the page is given: a report, with the repair and the parts that are fetched later. */

import type { CloseUp as StoredCloseUp, ErrorProfile, GraphProfile, ModelSummary, Real, RepairDocument, Report as StoredReport } from "./report";

export interface CloseUp extends StoredCloseUp {
  /** Under which it is fetched, where its values were left out. */
  id?: string;
}

export interface Report extends StoredReport {
  /** The JSON of `isomorph fix --format json`. */
  repair?: RepairDocument | null;
  /** The output that differs most, by how much, on how many inputs; empty where no difference was measured. */
  difference?: string;
  /** The command that repairs each finding, in their order; null where no patch may help. */
  repair_commands?: (string | null)[];
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
