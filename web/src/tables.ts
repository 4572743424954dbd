/** What the answer rests on: quantization, sequences, alignment, environments, inputs, gaps. */

import { brief, h, name, section, table } from "./dom";
import { decibels, figure, percent, shape } from "./figures";
import { real, type Report } from "./page_report";
import type { AxisProfile, Environment, Real } from "./report";
import { bars } from "./tensors";

const MOST_ROWS = 200;

export function quantization(report: Report): HTMLElement | null {
  const rows = report.quantization;
  if (rows.length === 0) return null;
  const gains = rows.some((row) => (row.gain ?? null) !== null);
  const ends = (interval: Real[] | null): HTMLElement =>
    interval === null ? h("span", {}, "–") : h("span", {}, h("span", { class: "unbroken" }, `${figure(interval[0])} …`), " ", h("span", { class: "unbroken" }, figure(interval[1])));
  const remarks = rows.map((row) => [real(row.factor ?? null) === null ? "" : `${figure(row.factor ?? null)} × the reference's`, row.misread.length > 0 ? `reader has another ${row.misread.join(", ")}` : "", row.changed.length > 0 ? `${row.changed.join(", ")} changed` : ""].filter(Boolean).join("; "));
  const remarked = remarks.some((one) => one !== "");
  return section(
    "quantization",
    "Quantization",
    "Worst first. Clipped: values beyond the range. Used: the share of the range that values fill. SQNR beside that of an ideal min/max quantizer of the same width. Quanta: steps by which the runtime misses the float64 result of the same operands." + (gains ? " Gain: the share of the outputs' error that goes if this tensor alone stays in float." : ""),
    table(
      ["tensor", "type", "scale", "zero point", "range", "seen", "#clipped", "#used", "#SQNR", "#ideal", "#quanta", ...(gains ? ["#gain"] : []), ...(remarked ? ["parameters"] : [])],
      rows.slice(0, MOST_ROWS).map((row, place) => [
        brief(row.tensor),
        `${row.dtype}${row.channels > 1 ? ` ×${row.channels}` : ""} ${row.kind}`,
        row.scale[0] === row.scale[1] ? figure(row.scale[0]) : ends(row.scale),
        row.zero_point[0] === row.zero_point[1] ? String(row.zero_point[0]) : row.zero_point.join(" … "),
        ends(row.representable),
        ends(row.seen),
        percent(row.clipped),
        percent(row.used),
        h("span", { class: lost(row.sqnr_db, row.ideal_sqnr_db) ? "bad" : undefined }, decibels(row.sqnr_db)),
        decibels(row.ideal_sqnr_db),
        h("span", { class: (real(row.local_quanta) ?? 0) > 1 ? "bad" : undefined }, figure(row.local_quanta)),
        ...(gains ? [percent(row.gain)] : []),
        ...(remarked ? [remarks[place]] : []),
      ]),
      "stacks",
    ),
    rows.length > MOST_ROWS && h("p", { class: "note" }, `… and ${rows.length - MOST_ROWS} more.`),
  );
}

/** More than a bit of precision behind the ideal. */
function lost(seen: QuantizedFigure, ideal: QuantizedFigure): boolean {
  const [a, b] = [real(seen), real(ideal)];
  return a !== null && b !== null && b - a > 6;
}
type QuantizedFigure = Parameters<typeof real>[0];

/** The error by time step: of the sample looked at, and over a test set. */
export function steps(report: Report): HTMLElement | null {
  const own = (report.profile?.close_ups ?? []).filter((one) => one.kind === "output").flatMap((one) => one.by_axis.filter(timed).map((axis) => ({ label: one.tensor, axis })));
  const over = (report.test_set?.outputs ?? []).flatMap((one) => one.by_axis.filter(timed).map((axis) => ({ label: `${one.candidate_output}, all samples`, axis })));
  const all = [...own, ...over];
  if (all.length === 0) return null;
  return section(
    "steps",
    "Error by time step",
    "Along each axis before the features that is as long as one of an input's. Where there are two, one of them is the batch: a file does not state which.",
    h("div", { class: "panels" }, ...all.map(({ label, axis }) => h("figure", {}, h("figcaption", {}, name(label), ` · axis ${axis.axis} (${axis.length}), as in `, name(axis.input)), bars(axis)))),
  );
}

function timed(axis: AxisProfile): boolean {
  return axis.input !== null && axis.length >= 4;
}

export function testSet(report: Report): HTMLElement | null {
  const summary = report.test_set;
  if (summary === null) return null;
  return section(
    "test-set",
    "Test set",
    `${summary.samples} samples of ${summary.location}, run against run.`,
    table(
      ["output", "worst sample", "#its relative error", "#median", "#99%", "#labels agree"],
      summary.outputs.map((one) => [name(one.candidate_output), name(one.worst), figure(one.worst_relative), figure(one.quantiles["0.5"]), figure(one.quantiles["0.99"]), percent(one.label_agreement)]),
    ),
    summary.metric !== null && h("p", {}, name(summary.metric.name), `: reference ${figure(summary.metric.reference, 6)}, candidate ${figure(summary.metric.candidate, 6)}`),
  );
}

export function foundations(report: Report): HTMLElement {
  return section(
    "foundations",
    "Environments and inputs",
    "",
    details("Models", report.models.length, table(["role", "file", "framework", "#nodes", "#constants", "producer", "digest"], report.models.map((one) => [one.role, name(one.location), one.framework, one.nodes, one.constants, [one.producer, ...one.notes].filter(Boolean).join("; "), name(one.digest.slice(0, 24))]))),
    details("Environments", Object.keys(report.environments).length, table(["who", "runtime", "device", "precision", "#threads", "isolation", "settings and facts"], Object.entries(report.environments).map(([who, one]) => environment(who, one)))),
    details("Inputs", report.inputs.length, table(["input", "type", "origin", "digest"], report.inputs.map((one) => [name(one.name), `${one.dtype}[${shape(one.shape)}]`, one.origin, name(one.digest.slice(0, 24))]))),
    report.skipped.length > 0 && details("Skipped", report.skipped.length, table(["what", "why"], report.skipped.map((one) => [one.what, one.why]), "stacks")),
    report.trusted.length > 0 && details("Trusted", report.trusted.length, h("ul", {}, ...report.trusted.map((one) => h("li", {}, name(one))))),
    h(
      "p",
      { class: "note" },
      `Seed ${report.seed}`,
      report.draws > 0 && `, up to ${report.draws} draws, false alarm ${figure(report.false_alarm)} per output`,
      report.cost
        ? `, ${figure(report.cost.wall)} s, ${figure(report.cost.cpu)} CPU s (${report.cost.phases.slice(0, 3).map((one) => `${one.name} ${figure(one.cpu)}`).join(", ")})`
        : `, ${figure(Object.values(report.elapsed).reduce<number>((sum, one) => sum + (real(one) ?? 0), 0))} s`,
      report.version !== "" && `, isomorph ${report.version}`,
      report.profile === null ? "." : ". Where fusions are switched off to read a tensor, the profile shows the run without them; the figures at the top are of the untouched runs.",
    ),
  );
}

function details(title: string, count: number, content: HTMLElement, open = false): HTMLElement {
  return h("details", { open }, h("summary", {}, title, " ", h("span", { class: "dim" }, count)), count > 0 ? content : h("p", { class: "empty" }, "Nothing."));
}

function environment(who: string, one: Environment): (HTMLElement | string | number | null)[] {
  const words = [...(one.interpreter ? [["interpreter", one.interpreter]] : []), ...Object.entries(one.settings), ...Object.entries(one.facts)].filter(([, value]) => value !== "").map(([key, value]) => `${key}=${value}`);
  return [who, `${one.runtime} ${one.version}`, one.device, one.precision, one.threads ?? "–", one.isolation, h("span", { class: "small" }, words.join(" · "))];
}
