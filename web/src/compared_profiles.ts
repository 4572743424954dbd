/** The error profiles of two reports over each other, joined by the names of the nodes. */

import uPlot from "uplot";
import { css, h, section } from "./dom";
import { figure, raised } from "./figures";
import { graph, real, type Report } from "./page_report";
import { font, powers } from "./profile";
import type { GraphProfile, Real } from "./report";

const HEIGHT = 320;

interface Columns {
  /** Names of the nodes of the later report, in its order. */
  nodes: string[];
  budget: (number | null)[];
  before: (number | null)[];
  after: (number | null)[];
  runBefore: (number | null)[];
  runAfter: (number | null)[];
}

export function comparedProfiles(before: Report, after: Report): HTMLElement {
  const [old, now] = [graph(before, "candidate"), graph(after, "candidate")];
  if (old === undefined || now === undefined) {
    const which = old === undefined && now === undefined ? "Neither report has" : old === undefined ? "The older report does not have" : "The newer report does not have";
    return section("profile", "Error profiles", `${which} the error of every node: check with --profile.`);
  }
  const shared = now.nodes.filter((node) => old.nodes.includes(node)).length;
  const columns = joined(old, now);
  const plot = h("div", { class: "plot compared", role: "img", "aria-label": "Error of every node in both reports, logarithmic" });
  const readout = h("p", { class: "readout", "aria-live": "polite" });
  requestAnimationFrame(() => draw(columns, plot, readout));
  const apart = shared === now.nodes.length && shared === old.nodes.length ? "" : ` ${shared} of ${now.nodes.length} nodes have the same name in both; others have one line only.`;
  return section("profile", "Error profiles", `Relative error at every node of the candidate: dashed before, solid after. The band is what rounding explains after. A click on a name below the plot hides its line.${apart}`, plot, readout);
}

function joined(old: GraphProfile, now: GraphProfile): Columns {
  const places = new Map(old.nodes.map((node, place) => [node, place]));
  const columns: Columns = { nodes: [], budget: [], before: [], after: [], runBefore: [], runAfter: [] };
  now.nodes.forEach((node, place) => {
    const then = places.get(node);
    const values = [
      now.run_budget?.[place] ?? now.budget[place],
      then === undefined ? null : old.translation[then],
      now.translation[place],
      then === undefined ? null : old.execution[then],
      now.execution[place],
    ].map((one: Real | null | undefined) => real(one));
    if (values.every((one) => one === null || one === 0)) return;
    columns.nodes.push(node);
    [columns.budget, columns.before, columns.after, columns.runBefore, columns.runAfter].forEach((column, at) => column.push(values[at] ?? null));
  });
  return columns;
}

function draw(columns: Columns, box: HTMLElement, readout: HTMLElement): void {
  const all = [columns.budget, columns.before, columns.after, columns.runBefore, columns.runAfter];
  const positive = all.flat().filter((one): one is number => one !== null && Number.isFinite(one) && one > 0);
  const floor = 10 ** Math.floor(Math.log10(positive.reduce((a, b) => Math.min(a, b), 1)));
  const ceiling = 10 ** Math.ceil(Math.log10(positive.reduce((a, b) => Math.max(a, b), floor * 10) * 1.5));
  const drawn = all.map((column) => column.map((one) => (one === null || Number.isNaN(one) ? null : Math.min(Math.max(one, floor), ceiling))));
  let plot: uPlot | null = null;
  const show = (at: number | null | undefined): void => {
    const words = at === null || at === undefined ? ["Point at the curves to read a node."] : [columns.nodes[at] ?? "", `translation ${figure(columns.before[at])} → ${figure(columns.after[at])}`, `candidate run ${figure(columns.runBefore[at])} → ${figure(columns.runAfter[at])}`];
    readout.replaceChildren(...words.map((word) => h("span", {}, word)));
  };
  const build = (): void => {
    plot?.destroy();
    const line = (label: string, color: string, width: number, dash?: number[]): uPlot.Series => ({ label, stroke: css(color), width, points: { show: false }, spanGaps: true, ...(dash === undefined ? {} : { dash }) });
    plot = new uPlot(
      {
        width: Math.max(280, box.clientWidth),
        height: HEIGHT,
        padding: [10, 14, 0, 4],
        cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false } },
        legend: { show: true, live: false, markers: { width: 3 } },
        scales: { x: { time: false, range: (_u, from, to) => [from - 0.5, to + 0.5] }, y: { distr: 3, log: 10, range: [floor, ceiling] } },
        axes: [
          { size: 30, font: font(12), stroke: css("--dim"), grid: { show: false }, ticks: { stroke: css("--line"), size: 4 }, values: (_u, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? String(tick + 1) : "")) },
          { size: 56, font: font(12), stroke: css("--dim"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, splits: () => powers(floor, ceiling), filter: (_u, splits) => splits, values: (_u, ticks) => ticks.map((tick) => `10${raised(Math.round(Math.log10(tick)))}`) },
        ],
        series: [
          {},
          { label: "what rounding explains", stroke: css("--band-edge"), fill: css("--band"), width: 1, points: { show: false }, spanGaps: true },
          line("translation before", "--translation", 2, [7, 5]),
          line("translation after", "--translation", 2.75),
          line("candidate run before", "--candidate", 1.25, [7, 5]),
          line("candidate run after", "--candidate", 1.75),
        ],
        hooks: { setCursor: [(u) => show(u.cursor.idx)] },
      },
      [columns.nodes.map((_, at) => at), ...drawn] as uPlot.AlignedData,
      box,
    );
    show(null);
    box.dataset["drawn"] = String(columns.nodes.length);
  };
  build();
  new ResizeObserver(() => plot?.setSize({ width: Math.max(280, box.clientWidth), height: HEIGHT })).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", build);
}
