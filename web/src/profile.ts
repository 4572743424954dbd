/** The error along the graph: three lines over topological order, and what rounding explains. */

import uPlot from "uplot";
import { css, h, name, section } from "./dom";
import { figure, raised } from "./figures";
import { graph, real, type Report } from "./page_report";
import type { GraphProfile, Real } from "./report";
import { faultyInside, faulty, type Selection } from "./selection";

const HEIGHT = 340;

interface Rows {
  /** Places in the candidate's graph, in order. */
  places: number[];
  translation: (number | null)[];
  reference: (number | null)[];
  candidate: (number | null)[];
  /** Of the run, where it computes in another type than the file's. */
  budget: (number | null)[];
  /** Of the declared types, where the run's is another. */
  declared: (number | null)[];
}

export function profile(report: Report, selection: Selection): HTMLElement | null {
  const side = graph(report, "candidate");
  if (side === undefined) {
    // Where nothing was measured, another check would record nothing either.
    if (report.outputs.every((one) => one.translation === null && one.execution_candidate === null)) return null;
    return section("profile", "Error profile", "Not recorded in this report. Check with --format html or --profile to see the error of every node.");
  }
  const plot = h("div", { class: "plot", tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": "Error of every node, logarithmic; left and right arrows choose a node" });
  const readout = h("div", { class: "readout", "aria-live": "polite" });
  const rows = collect(side, graph(report, "reference"));
  if (rows.places.length === 0) {
    return section("profile", "Error profile", "No node has an error to draw: every measured one is exactly 0, or no value was finite.", ...notes(report));
  }
  requestAnimationFrame(() => draw(report, side, rows, plot, readout, selection));
  return section(
    "profile",
    "Error profile",
    `Relative error at every node in topological order (${report.profile?.origin ?? ""}). The band is what rounding explains. ${bodies(side)}Drag to zoom, double-click to reset, click to choose a node.`,
    plot,
    readout,
    ...notes(report),
  );
}

/** What is missing from the profile, and why. */
function notes(report: Report): HTMLElement[] {
  return report.skipped.filter((one) => one.section === "profile").map((one) => h("p", { class: "note" }, `No ${one.what}: ${one.why}.`));
}

function bodies(side: GraphProfile): string {
  const inside = side.rounds?.some((one) => one !== null) ?? false;
  return inside ? "Nodes inside a branch or loop stand before the node that holds them, fed with right values, on one of its rounds. " : "";
}

/** Only nodes whose values rounding can move: sizes and masks are exact or wrong elsewhere. */
function collect(side: GraphProfile, other: GraphProfile | undefined): Rows {
  const rows: Rows = { places: [], translation: [], reference: [], candidate: [], budget: [], declared: [] };
  side.nodes.forEach((_, place) => {
    const counterpart = side.counterpart[place];
    const counterpartError = other !== undefined && counterpart !== null && counterpart !== undefined ? other.execution[counterpart] : null;
    const measured = [side.translation[place], side.execution[place], counterpartError, side.budget[place]].map((one) => real(one));
    if (measured.every((one) => one === null || one === 0)) return;
    rows.places.push(place);
    rows.translation.push(measured[0] ?? null);
    rows.candidate.push(measured[1] ?? null);
    rows.reference.push(measured[2] ?? null);
    const run = largest([side.run_budget?.[place], counterpart === null || counterpart === undefined ? null : other?.run_budget?.[counterpart]]);
    rows.budget.push(run ?? measured[3] ?? null);
    rows.declared.push(run === null ? null : (measured[3] ?? null));
  });
  return rows;
}

function largest(values: (Real | null | undefined)[]): number | null {
  const known = values.map((one) => real(one)).filter((one): one is number => one !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** Powers of ten around all that is drawn; exact equality lies on the floor. */
function bounds(rows: Rows): [number, number] {
  let [least, most] = [Infinity, 0];
  for (const column of [rows.translation, rows.reference, rows.candidate, rows.budget, rows.declared]) {
    for (const one of column) {
      if (one === null || !Number.isFinite(one) || one <= 0) continue;
      least = Math.min(least, one);
      most = Math.max(most, one);
    }
  }
  if (most === 0) return [1e-16, 1];
  return [10 ** Math.floor(Math.log10(Math.max(least, 1e-18))), 10 ** Math.ceil(Math.log10(most * 1.5))];
}

function draw(report: Report, side: GraphProfile, rows: Rows, box: HTMLElement, readout: HTMLElement, selection: Selection): void {
  const [floor, ceiling] = bounds(rows);
  const drawn = (column: (number | null)[]): (number | null)[] =>
    column.map((one) => (one === null || Number.isNaN(one) ? null : Math.min(Math.max(one, floor), ceiling)));
  const x = rows.places.map((_, at) => at);
  const rank = new Map(rows.places.map((place, at) => [place, at]));
  const marks = [...faulty(report, side)].flatMap(([place, number]) => {
    const at = nearest(rows.places, place);
    return at === null ? [] : [{ at, number }];
  });
  const narrow = rows.declared.some((one) => one !== null);
  let chosen: number | null = null;
  let plot: uPlot | null = null;

  const options = (): uPlot.Options => ({
    width: Math.max(280, box.clientWidth),
    height: HEIGHT,
    padding: [22, 14, 0, 4],
    cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false } },
    legend: { show: true, live: false, markers: { width: 3 } },
    scales: { x: { time: false, range: (_u, from, to) => [from - 0.5, to + 0.5] }, y: { distr: 3, log: 10, range: [floor, ceiling] } },
    axes: [
      { label: "node, in topological order", labelSize: 18, labelGap: 0, size: 30, labelFont: font(12), font: font(12), stroke: css("--dim"), grid: { show: false }, ticks: { stroke: css("--line"), size: 4 }, values: (_u, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? String((rows.places[tick] ?? 0) + 1) : "")) },
      { size: 56, font: font(12), stroke: css("--dim"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, splits: () => powers(floor, ceiling), filter: (_u, splits) => splits, values: (_u, ticks) => ticks.map((tick) => `10${raised(Math.round(Math.log10(tick)))}`) },
    ],
    series: [
      {},
      { label: narrow ? "what rounding explains of the run" : "what rounding explains", stroke: css("--band-edge"), fill: css("--band"), width: 1, points: { show: false }, spanGaps: true },
      ...(narrow ? [{ label: "of the declared types", stroke: css("--dim"), width: 1, dash: [3, 3], points: { show: false }, spanGaps: true }] : []),
      { label: "reference run", stroke: css("--reference"), width: 1.5, points: { show: false }, spanGaps: true },
      { label: "candidate run", stroke: css("--candidate"), width: 1.5, dash: [7, 3], points: { show: false }, spanGaps: true },
      { label: "translation", stroke: css("--translation"), width: 2.75, points: { show: false }, spanGaps: true },
    ],
    hooks: {
      draw: [(u) => drawMarks(u, marks, chosen)],
      setCursor: [(u) => showReadout(u.cursor.idx ?? chosen)],
    },
  });

  const showReadout = (at: number | null | undefined): void => {
    const place = at === null || at === undefined ? undefined : rows.places[at];
    readout.replaceChildren(...(place === undefined ? [hint()] : described(report, side, rows, at ?? 0, place)));
  };
  const build = (): void => {
    plot?.destroy();
    plot = new uPlot(options(), [x, drawn(rows.budget), ...(narrow ? [drawn(rows.declared)] : []), drawn(rows.reference), drawn(rows.candidate), drawn(rows.translation)] as uPlot.AlignedData, box);
    const over = plot.over;
    let pressed = 0;
    over.addEventListener("mousedown", (event) => (pressed = event.clientX));
    over.addEventListener("click", (event) => {
      const at = plot?.cursor.idx;
      const place = at === null || at === undefined ? undefined : rows.places[at];
      // The end of a drag is a zoom, not a choice.
      if (place !== undefined && Math.abs(event.clientX - pressed) < 4) selection.set({ role: "candidate", index: place });
    });
    showReadout(chosen);
    box.dataset["drawn"] = "yes";
  };
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || rows.places.length === 0) return;
    event.preventDefault();
    const next = Math.min(rows.places.length - 1, Math.max(0, (chosen ?? -step) + step));
    selection.set({ role: "candidate", index: rows.places[next] ?? 0 });
  });
  selection.onChange((place) => {
    const candidate = selection.onCandidate(place);
    chosen = candidate === null ? null : (rank.get(candidate) ?? nearest(rows.places, candidate));
    plot?.redraw(false);
    showReadout(chosen);
  });
  if (selection.current !== null) {
    const candidate = selection.onCandidate(selection.current);
    chosen = candidate === null ? null : (rank.get(candidate) ?? null);
  }
  build();
  let width = box.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(box.clientWidth - width) < 2) return;
    width = box.clientWidth;
    plot?.setSize({ width: Math.max(280, width), height: HEIGHT });
  }).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", build);
}

export function font(size: number): string {
  return `${size}px system-ui, sans-serif`;
}

/** Powers of ten, as many as fit. */
export function powers(floor: number, ceiling: number): number[] {
  const [from, to] = [Math.round(Math.log10(floor)), Math.round(Math.log10(ceiling))];
  const every = Math.max(1, Math.ceil((to - from) / 8));
  const found: number[] = [];
  for (let exponent = Math.ceil(from / every) * every; exponent <= to; exponent += every) found.push(10 ** exponent);
  return found;
}

function nearest(places: number[], target: number): number | null {
  let best: number | null = null;
  places.forEach((place, at) => {
    if (best === null || Math.abs(place - target) < Math.abs((places[best] ?? 0) - target)) best = at;
  });
  return best;
}

function drawMarks(u: uPlot, marks: { at: number; number: number }[], chosen: number | null): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  ctx.save();
  if (chosen !== null) {
    const at = u.valToPos(chosen, "x", true);
    ctx.strokeStyle = css("--ink");
    ctx.globalAlpha = 0.55;
    ctx.lineWidth = ratio;
    line(ctx, at, bbox.top, bbox.top + bbox.height);
    ctx.globalAlpha = 1;
  }
  ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (const mark of marks) {
    const at = u.valToPos(mark.at, "x", true);
    if (at < bbox.left - 1 || at > bbox.left + bbox.width + 1) continue;
    ctx.strokeStyle = ctx.fillStyle = css("--translation");
    ctx.lineWidth = ratio;
    ctx.setLineDash([4 * ratio, 3 * ratio]);
    line(ctx, at, bbox.top, bbox.top + bbox.height);
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.arc(at, bbox.top - 11 * ratio, 9 * ratio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.fillStyle = css("--paper");
    ctx.fillText(String(mark.number), at, bbox.top - 11 * ratio);
  }
  ctx.restore();
}

function line(ctx: CanvasRenderingContext2D, x: number, from: number, to: number): void {
  ctx.beginPath();
  ctx.moveTo(x, from);
  ctx.lineTo(x, to);
  ctx.stroke();
}

function hint(): HTMLElement {
  return h("span", { class: "dim" }, "Point at the curve to read a node.");
}

function round(number: number | null): Node[] {
  return number === null ? [] : [h("span", { class: "pairing" }, h("span", { class: "dim" }, "round"), h("b", {}, String(number + 1)))];
}

function described(report: Report, side: GraphProfile, rows: Rows, at: number, place: number): Node[] {
  const one = (label: string, value: Real | null | undefined): Node =>
    h("span", { class: "pairing" }, h("span", { class: "dim" }, label), h("b", {}, figure(value)));
  return [
    h("span", { class: "who" }, h("span", { class: "dim" }, `${place + 1} ${side.ops[place] ?? ""}`), " ", name(side.nodes[place])),
    ...round(side.rounds?.[place] ?? null),
    ...faultyInside(report, side, place).map((inner) => h("span", { class: "pairing" }, h("span", { class: "dim" }, "faulty inside"), h("b", {}, inner))),
    one("translation", rows.translation[at]),
    one("arises here", side.local[place]),
    one("reference run", rows.reference[at]),
    one("candidate run", rows.candidate[at]),
    one(rows.declared[at] === null ? "budget" : "budget of the run", rows.budget[at]),
    ...(rows.declared[at] === null ? [] : [one("of the declared types", rows.declared[at])]),
  ];
}
