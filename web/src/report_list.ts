/** The reports of a folder: a filtered list, and how the error of each pair went over time. */

import { abridged, brief, h, section, shown, svg, table } from "./dom";
import { figure, times } from "./figures";
import { real } from "./page_report";
import type { Real, Verdict } from "./report";

export interface Listed {
  id: string;
  name: string;
  verdict: Verdict;
  reason: string;
  reference: string | null;
  candidate: string | null;
  findings: number;
  node: string | null;
  cause: string | null;
  causes: string[];
  /** The largest error by its budget. */
  ratio: Real | null;
  modified: number;
}

export const FILTERS = ["verdict", "model", "cause", "text"] as const;
export type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

export function fileName(path: string | null): string {
  return path?.split(/[\\/]/).pop() ?? "–";
}

function pair(one: Listed): string {
  return one.reference === null ? fileName(one.candidate) : `${fileName(one.reference)} → ${fileName(one.candidate)}`;
}

export function passes(one: Listed, filters: Filters): boolean {
  const text = [one.name, one.reason, one.reference, one.candidate, one.node, ...one.causes].join("\n").toLowerCase();
  return (
    (filters.verdict === undefined || one.verdict === filters.verdict) &&
    (filters.model === undefined || [one.reference, one.candidate].some((path) => path !== null && fileName(path) === filters.model)) &&
    (filters.cause === undefined || one.causes.includes(filters.cause)) &&
    (filters.text === undefined || text.includes(filters.text.toLowerCase()))
  );
}

/** Controls that state a filter each; `changed` is called with all of them. */
export function filterControls(listed: Listed[], filters: Filters, changed: (filters: Filters) => void): HTMLElement {
  const current: Filters = { ...filters };
  const take = (name: keyof Filters, value: string): void => {
    if (value === "") delete current[name];
    else current[name] = value;
    changed(current);
  };
  const choice = (name: keyof Filters, label: string, values: (string | null)[]): HTMLElement => {
    const known = [...new Set(values.filter((one): one is string => one !== null && one !== ""))].sort();
    const select = h("select", { "aria-label": label }, h("option", { value: "" }, label), ...known.map((one) => h("option", { value: one }, abridged(shown(one), 60))));
    select.value = current[name] ?? "";
    select.addEventListener("change", () => take(name, select.value));
    return select;
  };
  const text = h("input", { type: "search", placeholder: "Search names, nodes, reasons", "aria-label": "Search the reports", value: current.text ?? "" });
  text.addEventListener("input", () => take("text", text.value.trim()));
  return h(
    "div",
    { class: "tools filters", role: "group", "aria-label": "Filters" },
    text,
    choice("verdict", "any verdict", listed.map((one) => one.verdict)),
    choice("model", "any model", listed.flatMap((one) => [one.reference, one.candidate]).map((path) => (path === null ? null : fileName(path)))),
    choice("cause", "any cause", listed.flatMap((one) => one.causes)),
  );
}

export function reportRows(listed: Listed[], open: (id: string) => void, tick: (one: Listed) => HTMLElement): HTMLElement {
  return table(
    ["", "report", "verdict", "models", "#error, in its budget", "first finding", "written"],
    listed.map((one) => [
      tick(one),
      h("button", { type: "button", class: "link", click: () => open(one.id) }, one.name),
      h("span", { class: `chip ${one.verdict}` }, one.verdict),
      h("span", { title: [one.reference, one.candidate].filter(Boolean).join(" → ") }, brief(pair(one))),
      one.ratio === null || (one.verdict === "unknown" && real(one.ratio) === 0) ? "–" : times(one.ratio),
      one.node === null ? one.reason : h("span", {}, brief(one.node), one.cause !== null && h("span", { class: "dim" }, ` ${one.cause}`)),
      h("span", { class: "when" }, new Date(one.modified * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })),
    ]),
    "stacks",
  );
}

const [WIDE, TALL, SIDE] = [440, 120, 44];
const MARKS: Record<Verdict, string> = { equivalent: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0", degraded: "M-5,-5h10v10h-10z", divergent: "M0,-6l6,11h-12z", unknown: "M0,-7l6,7l-6,7l-6,-7z" };

/** One small picture for each pair with several reports: its error over time, by its budget. */
export function trends(listed: Listed[], open: (id: string) => void): HTMLElement | null {
  const pairs = new Map<string, Listed[]>();
  for (const one of [...listed].sort((a, b) => a.modified - b.modified)) pairs.set(pair(one), [...(pairs.get(pair(one)) ?? []), one]);
  const several = [...pairs].filter(([, reports]) => reports.length > 1);
  if (several.length === 0) return null;
  return section(
    "trends",
    "Trends",
    "The largest error of each pair, by its budget, over the time at which the reports were written. Above the line it is more than is explained. A circle is equivalent, a square degraded, a triangle divergent, a diamond unknown.",
    h("div", { class: "panels" }, ...several.map(([name, reports]) => h("figure", { class: "trend" }, h("figcaption", {}, h("code", {}, shown(name)), h("span", { class: "dim" }, ` · ${reports.length} reports`)), trend(reports, open)))),
  );
}

function trend(reports: Listed[], open: (id: string) => void): SVGElement {
  const measured = reports.map((one) => real(one.ratio)).map((ratio) => (ratio === null || Number.isNaN(ratio) ? null : ratio));
  const finite = measured.filter((ratio): ratio is number => ratio !== null && Number.isFinite(ratio) && ratio > 0);
  const least = Math.floor(Math.log10(Math.min(0.1, ...finite)));
  const most = Math.ceil(Math.log10(Math.max(10, ...finite)));
  const y = (ratio: number): number => {
    const power = ratio <= 0 ? least : Number.isFinite(ratio) ? Math.log10(ratio) : most;
    return 10 + (TALL - 20) * (1 - (Math.min(most, Math.max(least, power)) - least) / (most - least));
  };
  const [first, last] = [reports[0]?.modified ?? 0, reports.at(-1)?.modified ?? 0];
  // Reports of one moment stand beside each other in their order.
  const x = (at: number): number => SIDE + 12 + (WIDE - SIDE - 24) * (last > first ? ((reports[at]?.modified ?? 0) - first) / (last - first) : at / Math.max(1, reports.length - 1));
  const points = measured.flatMap((ratio, at) => (ratio === null ? [] : [`${x(at).toFixed(1)},${y(ratio).toFixed(1)}`]));
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${TALL + 22}`, role: "group", "aria-label": "Error over time" },
    svg("line", { x1: SIDE, x2: WIDE, y1: y(1), y2: y(1), class: "budget-line" }),
    svg("polyline", { points: points.join(" "), class: "trend-line" }),
    ...[most, 0, least].map((power) => svg("text", { x: SIDE - 8, y: y(10 ** power) + 4, "text-anchor": "end", class: "tick" }, power === 0 ? "budget" : `${figure(10 ** power, 1)}×`)),
    ...reports.map((one, at) => {
      const ratio = measured[at] ?? null;
      const words = `${one.name}: ${one.verdict}, ${ratio === null ? "no error judged" : times(ratio)}`;
      const act = (event: Event): void => {
        if (event instanceof KeyboardEvent && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        open(one.id);
      };
      return svg("path", { d: MARKS[one.verdict], transform: `translate(${x(at).toFixed(1)},${y(ratio ?? 10 ** least).toFixed(1)})`, class: `trend-point ${one.verdict}`, tabindex: 0, role: "link", "aria-label": words, click: act, keydown: act }, svg("title", {}, words));
    }),
    svg("text", { x: SIDE, y: TALL + 16, class: "tick" }, moment(first, first, last)),
    svg("text", { x: WIDE, y: TALL + 16, "text-anchor": "end", class: "tick" }, moment(last, first, last)),
  );
}

/** A day; within one day, the time. */
function moment(seconds: number, first: number, last: number): string {
  const day = (one: number): string => new Date(one * 1000).toLocaleDateString();
  return day(first) === day(last) ? new Date(seconds * 1000).toLocaleTimeString() : day(seconds);
}
