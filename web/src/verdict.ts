/** The answer first: the verdict, both models, and the three errors. */

import { brief, h, name, section, shown, table } from "./dom";
import { decibels, figure, shape, size, used } from "./figures";
import { model, real, type Report } from "./page_report";
import { share, whole } from "./proof";
import type { Divergence, ErrorTerm, Real, Verdict } from "./report";

const SENTENCE: Record<Verdict, string> = {
  equivalent: "Equivalent",
  degraded: "Degraded",
  divergent: "Divergent",
  unknown: "Unknown",
};

const WORST_FIRST: Verdict[] = ["divergent", "unknown", "degraded", "equivalent"];
const MOST_ROWS = 50;

export function verdict(report: Report): HTMLElement {
  return h(
    "header",
    { id: "verdict" },
    h("p", { class: "brand" }, "isomorph"),
    h("h1", {}, h("span", { class: "verdict" }, SENTENCE[report.verdict]), covers(report) !== "" && h("span", { class: "covers" }, covers(report)), accepted(report) && h("span", { class: "chip" }, "accepted"), contradicted(report) && h("span", { class: "chip divergent" }, "against its proof"), h("span", { class: "reason" }, [report.reason, report.difference].filter(Boolean).join("; "))),
    h("p", { class: "pair" }, side(report, "reference"), arrow(report), side(report, "candidate")),
    loss(report),
    report.proof && share(report.proof),
    uncompared(report),
    baseline(report),
  );
}

/** The title of the tab: the verdict first, since tabs are narrow, and both files. */
export function title(report: Report): string {
  const files = pairOf(...report.models.map((one) => one.location));
  return `${SENTENCE[report.verdict]}${files === "" ? "" : `: ${files}`} · isomorph`;
}

/** The names of the files, from the reference to the candidate. */
export function pairOf(...locations: string[]): string {
  return shown(locations.map(fileName).join(" → "));
}

function fileName(location: string): string {
  return location.split(/[\\/]/).pop() ?? location;
}

/** What lower precision costs, in figures that people know from elsewhere. */
function loss(report: Report): HTMLElement | null {
  if (report.verdict !== "degraded") return null;
  const agreements = known(report.test_set?.outputs.map((one) => one.label_agreement) ?? []);
  const ratios = known(report.outputs.map((one) => one.observed?.distance.sqnr_db ?? null));
  const weakest = report.quantization[0];
  const all: [string, HTMLElement | string][] = [];
  if (agreements.length > 0) all.push([`${(100 * Math.min(...agreements)).toFixed(2)}%`, `top-1 agreement on ${report.test_set?.samples ?? 0} samples`]);
  if (ratios.length > 0) all.push([decibels(Math.min(...ratios)), ratios.length > 1 ? "SQNR of the worst output" : "SQNR of the output"]);
  if (weakest !== undefined && weakest.sqnr_db !== null) {
    const ideal = weakest.ideal_sqnr_db === null ? "" : `, ideal ${decibels(weakest.ideal_sqnr_db)}`;
    all.push([decibels(weakest.sqnr_db), h("span", {}, "weakest tensor ", brief(weakest.tensor), ideal)]);
  }
  if (all.length === 0) return null;
  return h("div", { class: "measures loss" }, ...all.map(([value, label]) => h("p", {}, h("b", {}, value), h("span", {}, label))));
}

function known(values: (Real | null)[]): number[] {
  return values.map((one) => real(one)).filter((one): one is number => one !== null && !Number.isNaN(one));
}

function worstFirst(report: Report): Divergence[] {
  return [...report.outputs].sort((a, b) => WORST_FIRST.indexOf(a.verdict) - WORST_FIRST.indexOf(b.verdict) || weight(b) - weight(a));
}

/** By how much the outputs differ: the worst one in three numbers, then all of them. */
export function outputs(report: Report): HTMLElement | null {
  const all = worstFirst(report);
  const worst = all[0];
  if (worst === undefined || all.every((one) => parts(one).every((part) => part === null))) return null;
  return section(
    "outputs",
    all.length === 1 ? "The output" : `${all.length} outputs`,
    "",
    numbers(worst, all.length, model(report, "reference") === undefined),
    all.length > 1 && outputsTable(all),
  );
}

function parts(output: Divergence): (ErrorTerm | null)[] {
  return [output.observed, output.translation, output.rounding, output.intended_loss, output.execution_reference, output.execution_candidate];
}

/** What the verdict covers, as in the headline of every other report: on 1 given input. */
function covers(report: Report): string {
  const measured = coveredInputs(report);
  if (report.translation) {
    const why = [...new Set((report.not_run ?? []).map((one) => one.why))].join(", ");
    const word = report.translation === report.verdict ? "" : `${report.translation} `;
    return `${`${word}in translation ${measured}`.trim()}; not run: ${why}`;
  }
  const proven = report.verdict === "equivalent" && report.proof && whole(report.proof) && !contradicted(report);
  const text = proven ? `for every input of these shapes, measured ${measured}` : measured;
  return report.quick === true ? `${text} (quick: outputs only)`.trim() : text;
}

function coveredInputs(report: Report): string {
  const fine = report.verdict === "equivalent" || report.verdict === "degraded";
  const only = report.only_given === true;
  if (!fine) return only ? "on the given inputs only" : "";
  const ledger = report.coverage;
  if (!ledger) return only ? "only" : "";
  const parts: string[] = [];
  if (ledger.set_name !== null) parts.push(`${ledger.from_set} of ${ledger.in_set} samples of ${ledger.set_name}`);
  const kinds: [number, string][] = [[ledger.given, "given"], [ledger.generated, "generated"]];
  const counts = kinds.filter(([count]) => count > 0).map(([count, kind]) => `${count} ${kind}`);
  if (counts.length > 0) parts.push(`${counts.join(" and ")} ${ledger.given + ledger.generated === 1 ? "input" : "inputs"}`);
  return [parts.length > 0 ? `on ${parts.join(" and ")}` : "", only ? "only" : ""].filter((part) => part !== "").join(" ");
}

/** Whether something is proven that was measured to differ. */
function contradicted(report: Report): boolean {
  return (report.proof?.contradicted ?? []).length > 0;
}

/** Outputs that were owed a comparison on some input, and why they did not get it. */
function uncompared(report: Report): HTMLElement | null {
  const missing = (report.coverage?.outputs ?? []).filter((one) => one.not_compared > 0);
  if (missing.length === 0) return null;
  const rows = missing.slice(0, MOST_ROWS).map((one) => [
    name(one.output),
    `${one.not_compared} of ${one.within + one.beyond + one.not_compared}`,
    one.reasons.join("; "),
  ]);
  // Where nothing was judged, the verdict says so already.
  return h("details", { open: report.verdict !== "unknown", id: "uncompared" }, h("summary", {}, "Not compared"), table(["output", "inputs", "reason"], rows, "tight"));
}

/** Whether the baseline lets the divergence pass: every one is known, and none has got worse. */
function accepted(report: Report): boolean {
  if (!report.coverage || report.coverage.outputs.some((one) => one.not_compared > 0)) return false;
  const statuses = report.baseline?.statuses ?? [];
  const passes = statuses.every((one) => one.state === "unchanged" || one.state === "fixed");
  return report.verdict === "divergent" && passes && statuses.some((one) => one.state === "unchanged");
}

/** What somebody examined and accepted, and how it stands today. */
function baseline(report: Report): HTMLElement | null {
  const baseline = report.baseline;
  if (!baseline || baseline.statuses.length === 0) return null;
  const rows = baseline.statuses.map((one) => [
    one.constant ? h("span", {}, "constant ", name(one.constant)) : name(one.output),
    h("span", { class: `chip ${one.state}` }, one.state),
    one.message,
    one.accepted === null ? "–" : `${one.accepted.why} (${one.accepted.who}, ${one.accepted.when}${one.accepted.until === null ? "" : `, until ${one.accepted.until}`})`,
  ]);
  return h("details", { open: true, id: "baseline" }, h("summary", {}, "Baseline ", h("span", { class: "dim" }, baseline.file)), table(["output or constant", "state", "", "accepted"], rows));
}

function arrow(report: Report): HTMLElement | null {
  return model(report, "reference") === undefined ? null : h("span", { class: "arrow", "aria-label": "converted to" }, "→");
}

function side(report: Report, role: string): HTMLElement | null {
  const found = model(report, role);
  if (found === undefined) return null;
  const details = [found.framework, found.nodes === 1 ? "1 node" : `${found.nodes} nodes`].filter(Boolean).join(", ");
  const file = fileName(found.location);
  return h("span", { class: `side ${role}`, title: found.location }, name(file), h("span", { class: "dim" }, details));
}

interface Figure {
  label: string;
  what: string;
  part: ErrorTerm | null;
  yardstick: string;
  /** Whether its output was judged: without that, no difference seen is no difference measured. */
  judged: boolean;
}

/** The three errors; a model alone has one, that of its run. */
function numbers(output: Divergence, count: number, alone: boolean): HTMLElement {
  const lossy = output.intended_loss !== null;
  const judged = output.verdict !== "unknown";
  const three: Figure[] = [
    {
      label: "Translation",
      what: "graph against graph, both in float64",
      part: output.intended_loss ?? output.rounding ?? output.translation,
      yardstick: lossy ? "of the intended loss" : output.rounding ? "of what rounding explains" : "of the allowance",
      judged,
    },
    { label: "Reference run", what: "against its own graph in float64", part: output.execution_reference, yardstick: "of its rounding budget", judged },
    { label: "Candidate run", what: "against its own graph in float64", part: output.execution_candidate, yardstick: "of its rounding budget", judged },
  ];
  return h(
    "div",
    {},
    h("div", { class: "numbers" }, ...(alone ? three.slice(2) : three).map(number)),
    h(
      "p",
      { class: "note" },
      count > 1 ? "At the worst output, " : "At the output ",
      ...bothNames(output),
      ` ${output.dtype}[${shape(output.shape)}]. `,
      output.observed !== null &&
        (judged || output.observed.distance.compared > 0) &&
        `Run against ${alone ? "float64" : "run"}: largest difference ${size(output.observed)}${relative(output.observed)}.`,
    ),
  );
}

function relative(part: ErrorTerm): string {
  const { relative_l2, max_rel } = part.distance;
  const norm = relative_l2 === null ? "" : `, norm-relative ${figure(relative_l2)}`;
  return max_rel === null ? norm : `${norm} (largest ratio of one element: ${figure(max_rel)})`;
}

/** The reference's name of an output, and the candidate's where that is another. */
function bothNames(output: Divergence): (HTMLElement | string)[] {
  const names = [...new Set([output.reference_output, output.candidate_output].filter((one) => one !== null))];
  return names.flatMap((one, place) => (place === 0 ? [name(one)] : [" / ", name(one)]));
}

function number(one: Figure): HTMLElement {
  const ratio = one.part === null ? null : real(one.part.budget.ratio);
  const unseen = !one.judged && (ratio === 0 || one.part?.distance.compared === 0);
  const state = ratio === null || unseen ? "unjudged" : ratio <= 1 ? "within" : "beyond";
  return h(
    "div",
    { class: `number ${state}` },
    h("h3", {}, one.label),
    h("p", { class: "what" }, one.what),
    h("p", { class: "ratio" }, one.part === null ? "not measured" : unseen ? unseenWords(one.part) : used(one.part.budget)),
    h("p", { class: "what" }, one.part === null || ratio === Infinity || unseen ? " " : one.yardstick),
    meter(unseen ? null : ratio),
    h("p", { class: "size" }, one.part === null || unseen ? "" : `largest |Δ| ${size(one.part)}`),
  );
}

/** In place of "0×" where the verdict is unknown, which would read like a result. */
function unseenWords(part: ErrorTerm): string {
  return part.distance.compared === 0 ? "nothing compared" : "equal where compared";
}

/** From a thousandth to a thousand times its yardstick, on a logarithmic scale. */
function meter(ratio: number | null): HTMLElement {
  const position = (value: number): number => Math.min(100, Math.max(0, (Math.log10(value) + 3) * (100 / 6)));
  const bar = h("div", { class: "meter", "aria-hidden": "true" }, h("i", { class: "limit" }));
  if (ratio !== null && ratio > 0) {
    const fill = h("i", { class: "fill" });
    fill.style.width = `${position(Number.isFinite(ratio) ? ratio : 1e9)}%`;
    bar.prepend(fill);
  }
  return bar;
}

function weight(output: Divergence): number {
  return Math.max(...[output.rounding, output.observed, output.execution_candidate].map((part) => real(part?.budget.ratio) ?? 0));
}

function outputsTable(outputs: Divergence[]): HTMLElement {
  const cell = (output: Divergence, part: ErrorTerm | null): string => {
    if (part === null) return "not measured";
    const unseen = output.verdict === "unknown" && (real(part.budget.ratio) === 0 || part.distance.compared === 0);
    return unseen ? unseenWords(part) : `${size(part)} · ${used(part.budget)}`;
  };
  const rows = outputs.slice(0, MOST_ROWS).map((output) => [
    h("span", {}, ...bothNames(output)),
    h("span", { class: `chip ${output.verdict}` }, output.verdict),
    cell(output, output.intended_loss ?? output.rounding ?? output.translation),
    cell(output, output.execution_reference),
    cell(output, output.execution_candidate),
    h("span", { class: "words" }, output.reason),
  ]);
  return h(
    "details",
    { open: outputs.length <= 4 },
    h("summary", {}, outputs.length === 2 ? "Both outputs" : `All ${outputs.length} outputs`),
    table(["output", "verdict", "#translation", "#reference run", "#candidate run", "reason"], rows, "stacks"),
    outputs.length > MOST_ROWS && h("p", { class: "note" }, `… and ${outputs.length - MOST_ROWS} more.`),
  );
}
