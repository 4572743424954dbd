/** Tensors close up: how values lie on both sides, and where the difference sits. */

import { css, h, name, section, svg, table } from "./dom";
import { exact, figure, shape } from "./figures";
import { real, type CloseUp, type Report } from "./page_report";
import type { AxisProfile } from "./report";
import type { Selection } from "./selection";

const [WIDE, TALL] = [440, 150];

export function tensors(report: Report, selection: Selection, load?: (id: string) => Promise<CloseUp>): HTMLElement {
  const all = report.profile?.close_ups ?? [];
  if (all.length === 0) return h("div", { hidden: true });
  const body = h("div", { class: "close-up" });
  const choice = h("select", { "aria-label": "Tensor" }, ...all.map((one, at) => h("option", { value: at }, title(one))));
  const show = (at: number): void => {
    choice.value = String(at);
    const chosen = all[at];
    if (chosen?.id !== undefined && load !== undefined) {
      body.replaceChildren(h("p", { class: "empty" }, "Loading …"));
      void load(chosen.id).then((whole) => {
        all[at] = whole;
        if (choice.value === String(at)) body.replaceChildren(...drawn(whole));
      });
    } else if (chosen !== undefined) body.replaceChildren(...drawn(chosen));
  };
  choice.addEventListener("change", () => show(Number(choice.value)));
  selection.onChange((place) => {
    const candidate = selection.onCandidate(place);
    const side = report.profile?.graphs.find((one) => one.role === "candidate");
    const node = candidate === null ? undefined : side?.nodes[candidate];
    const at = all.findIndex((one) => one.node !== null && one.node === node);
    if (at >= 0) show(at);
  });
  // Canvases ask for colors, which are known once the page is styled.
  requestAnimationFrame(() => show(0));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(Number(choice.value)));
  return section("tensors", "Tensors close up", "", h("div", { class: "tools" }, choice), body);
}

function title(one: CloseUp): string {
  const what = one.kind === "node" ? "node, right inputs, float64" : "output, as run";
  return `${one.tensor} — ${what}`;
}

function drawn(one: CloseUp): Node[] {
  return [
    h(
      "p",
      { class: "readout" },
      h("span", { class: "who" }, name(one.tensor), h("span", { class: "dim" }, ` ${one.dtype}[${shape(one.shape)}]`), one.counterpart !== one.tensor && h("span", { class: "dim" }, " beside "), one.counterpart !== one.tensor && name(one.counterpart)),
      h("span", { class: "pairing" }, h("span", { class: "dim" }, "largest |Δ|"), h("b", {}, figure(one.max_abs))),
      h("span", { class: "pairing" }, h("span", { class: "dim" }, "relative (rms)"), h("b", {}, figure(one.relative))),
    ),
    h(
      "div",
      { class: "panels" },
      one.histogram !== null && panel("Values on both sides", histogram(one.histogram), key()),
      one.heat_map !== null &&
        panel(`Largest |Δ| over axes ${one.heat_map.row_axis} × ${one.heat_map.column_axis} (${one.heat_map.rows}×${one.heat_map.columns})`, heatMap(one.heat_map)),
      ...one.by_axis.filter((axis) => axis.length > 2).map((axis) => panel(axisTitle(axis), bars(axis))),
    ),
    one.worst.length > 0 && h("h4", {}, "Worst elements"),
    one.worst.length > 0 &&
      table(
        ["index", "#reference", "#candidate", "#difference"],
        one.worst.map((each) => [
          name(`[${each.index.join(", ")}]`),
          exact(each.reference),
          exact(each.candidate),
          figure((real(each.candidate) ?? NaN) - (real(each.reference) ?? NaN)),
        ]),
        "tight",
      ),
  ].filter((each): each is HTMLElement => each !== false);
}

function panel(title: string, ...content: Node[]): HTMLElement {
  return h("figure", {}, h("figcaption", {}, title), ...content);
}

function key(): HTMLElement {
  return h("p", { class: "key" }, h("span", { class: "swatch reference" }), "reference", h("span", { class: "swatch candidate" }), "candidate");
}

function axisTitle(axis: AxisProfile): string {
  const groups = axis.step > 1 ? `, groups of ${axis.step}` : "";
  const step = axis.input === null ? "" : ", as long as an axis of the input: a time step, most likely";
  return `Relative error along axis ${axis.axis} (${axis.length}${groups}${step})`;
}

function histogram(counts: NonNullable<CloseUp["histogram"]>): SVGElement {
  const most = Math.max(1, ...counts.reference, ...counts.candidate);
  const outline = (counts: number[]): string => {
    const step = WIDE / counts.length;
    const points = counts.flatMap((count, at) => {
      const y = TALL - (count / most) * (TALL - 6);
      return [`${(at * step).toFixed(1)},${y.toFixed(1)}`, `${((at + 1) * step).toFixed(1)},${y.toFixed(1)}`];
    });
    return `0,${TALL} ${points.join(" ")} ${WIDE},${TALL}`;
  };
  const odd = counts.reference_not_finite + counts.candidate_not_finite;
  return picture(
    "Histogram of both sides",
    svg("polygon", { points: outline(counts.reference), class: "area reference" }),
    svg("polyline", { points: outline(counts.candidate), class: "edge candidate" }),
    svg("line", { x1: 0, x2: WIDE, y1: TALL, y2: TALL, class: "axis" }),
    label(0, "start", figure(counts.least)),
    label(WIDE, "end", figure(counts.most)),
    odd > 0 && label(WIDE / 2, "middle", `not finite: ${counts.reference_not_finite} reference, ${counts.candidate_not_finite} candidate`),
  );
}

/** Bars up to the largest; an infinite one is as tall as the picture. */
export function bars(axis: AxisProfile): SVGElement {
  const values = axis.relative.map((one) => real(one) ?? 0);
  const finite = values.filter(Number.isFinite);
  const most = finite.reduce((a, b) => Math.max(a, b), 0) || 1;
  const step = WIDE / values.length;
  const gap = step > 4 ? 1 : 0;
  return picture(
    "Error along an axis",
    ...values.map((value, at) => {
      const height = Number.isFinite(value) ? Math.max((value / most) * (TALL - 14), value > 0 ? 1 : 0) : TALL;
      return svg(
        "rect",
        { x: (at * step).toFixed(2), y: (TALL - height).toFixed(2), width: Math.max(0.5, step - gap).toFixed(2), height: height.toFixed(2), class: "bar" },
        svg("title", {}, `${at * axis.step}: ${figure(value)}`),
      );
    }),
    svg("line", { x1: 0, x2: WIDE, y1: TALL, y2: TALL, class: "axis" }),
    svg("text", { x: 0, y: 9, class: "tick" }, `largest ${figure(most)}`),
    label(0, "start", "0"),
    label(WIDE, "end", String(axis.length - 1)),
  );
}

function label(x: number, anchor: string, text: string): SVGElement {
  return svg("text", { x, y: TALL + 15, "text-anchor": anchor, class: "tick" }, text);
}

function picture(title: string, ...content: (SVGElement | false)[]): SVGElement {
  return svg("svg", { viewBox: `0 0 ${WIDE} ${TALL + 20}`, role: "img", "aria-label": title }, ...content);
}

function heatMap(map: NonNullable<CloseUp["heat_map"]>): HTMLElement {
  const [rows, columns] = [map.values.length, map.values[0]?.length ?? 0];
  const canvas = h("canvas", { width: columns, height: rows, class: "heat", role: "img", "aria-label": "Where the difference sits" });
  const values = map.values.map((row) => row.map((one) => real(one) ?? 0));
  const most = values.flat().filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0);
  const ctx = canvas.getContext("2d");
  if (ctx !== null) {
    ctx.fillStyle = css("--sunken");
    ctx.fillRect(0, 0, columns, rows);
    ctx.fillStyle = css("--translation");
    values.forEach((row, y) =>
      row.forEach((value, x) => {
        ctx.globalAlpha = most > 0 ? Math.min(1, value / most) : 0;
        ctx.fillRect(x, y, 1, 1);
      }),
    );
  }
  // Wide or tall, it keeps its proportions within the panel.
  canvas.style.aspectRatio = `${Math.min(3, Math.max(1 / 1.2, columns / rows))}`;
  return h("div", {}, canvas, h("p", { class: "key" }, h("i", { class: "ramp" }), `0 … ${figure(most)}`));
}
