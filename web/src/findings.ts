/** One card for each finding: where, why, the evidence, and what makes it right. */

import { h, name, section, shown, table } from "./dom";
import { figure, percent, times } from "./figures";
import { real, type Report } from "./page_report";
import type { Finding, Measured } from "./report";
import { pathInto, placeOf, type Selection } from "./selection";

const MOST_CARDS = 40;
const MOST_NAMES = 6;
const MOST_ISSUES = 3;

export function findings(report: Report, selection: Selection): HTMLElement {
  const all = report.findings;
  if (all.length === 0) {
    return section("findings", "Findings", "", h("p", { class: "empty" }, report.verdict !== "unknown" ? "None." : report.translation ? "None in translation, which is all that was judged." : "None: nothing was judged."));
  }
  return section(
    "findings",
    report.verdict === "unknown" ? "Why it is unknown" : all.length === 1 ? "One finding" : `${all.length} findings`,
    report.profile && all.some((one) => one.node !== null) ? "Choose one to see its node in the profile, in the graphs and close up." : "",
    ...cards(all.slice(0, MOST_CARDS), report, selection),
    all.length > MOST_CARDS && h("p", { class: "note" }, `… and ${all.length - MOST_CARDS} more in the JSON report.`),
  );
}

/** Of a verdict that is unknown the first finding is the cause; what follows from it is folded away. */
function cards(all: Finding[], report: Report, selection: Selection): HTMLElement[] {
  const drawn = gathered(all).map((group) => (group.length === 1 && group[0] ? card(group[0], report, selection) : several(group, report)));
  const [first, ...rest] = drawn;
  if (report.verdict !== "unknown" || first === undefined || rest.length === 0) return drawn;
  return [first, h("details", {}, h("summary", {}, "What follows from it, or was found as well ", h("span", { class: "dim" }, all.length - 1)), ...rest)];
}

/** Findings of one code that consist of a sentence alone share a card. */
function gathered(all: Finding[]): Finding[][] {
  const groups: Finding[][] = [];
  for (const finding of all) {
    const last = groups.at(-1)?.[0];
    if (last !== undefined && bare(finding) && bare(last) && last.code === finding.code && last.effect === finding.effect) groups.at(-1)?.push(finding);
    else groups.push([finding]);
  }
  return groups;
}

function bare(finding: Finding): boolean {
  return finding.node === null && finding.fix === null && finding.source === null && finding.experiments.length === 0;
}

function several(group: Finding[], report: Report): HTMLElement {
  const [first] = group;
  if (first === undefined) return h("div", {});
  const ranks = `${first.rank}–${group.at(-1)?.rank ?? first.rank}`;
  return h(
    "article",
    { class: `card ${first.effect === "none" ? "remark" : ""}` },
    h("div", { class: "card-head" }, h("span", { class: "rank wide" }, ranks), h("h3", {}, first.code), h("span", { class: "chips" }, ...chips(first, report))),
    h("ul", { class: "summaries" }, ...group.map((one) => h("li", {}, one.summary))),
  );
}

function card(finding: Finding, report: Report, selection: Selection): HTMLElement {
  const choose = (): void => {
    if (selection.byName(finding.node)) document.getElementById("graphs")?.scrollIntoView({ block: "start" });
  };
  const side = report.profile?.graphs.find((one) => one.role === "candidate");
  const own = side === undefined || finding.node === null ? -1 : placeOf(side, finding.node);
  const element = h(
    "article",
    { class: `card ${finding.effect === "none" ? "remark" : ""}`, "data-node": finding.node ?? undefined },
    h(
      "div",
      { class: "card-head" },
      h("span", { class: "rank" }, finding.rank),
      h("h3", {}, finding.node === null ? finding.code : name(finding.node)),
      h("span", { class: "chips" }, ...chips(finding, report)),
      own >= 0 && h("button", { type: "button", class: "locate", click: choose }, "Show in graphs"),
    ),
    h("p", { class: "summary" }, finding.summary),
    h("div", { class: "sides" }, remedy(finding, report), place(finding)),
    measures(finding),
    experiments(finding),
  );
  selection.onChange((at) => {
    element.classList.toggle("selected", own >= 0 && selection.onCandidate(at) === own);
  });
  return element;
}

function chips(finding: Finding, report: Report): HTMLElement[] {
  // Where nothing was judged, no effect on an output was seen.
  const effect = finding.effect === "none" ? "changes no number" : report.verdict === "unknown" ? null : finding.effect.replaceAll("_", " ");
  const words = [finding.cause, finding.status, effect];
  return words.filter((word): word is string => Boolean(word)).map((word, place) =>
    h("span", { class: place === 0 && finding.cause ? "chip cause" : "chip" }, word),
  );
}

function place(finding: Finding): HTMLElement | null {
  const rows: [string, Node][] = [];
  const steps = finding.node === null ? [] : pathInto(finding.node);
  if (steps.length > 1) rows.push(["inside", h("span", {}, ...steps.flatMap((one, at) => (at === 0 ? [name(one)] : [h("span", { class: "dim" }, " › "), name(one)])))]);
  if (finding.reference_nodes.length > 0) rows.push(["reference", names(finding.reference_nodes)]);
  if (finding.nodes.length > 1) rows.push(["with", names(finding.nodes.filter((one) => one !== finding.node))]);
  if (finding.tensors.length > 0) rows.push([finding.tensors.length > 1 ? "tensors" : "tensor", names(finding.tensors)]);
  const where = (finding.evidence["where"] as { words?: unknown } | undefined)?.words;
  if (typeof where === "string") rows.push(["error at", h("span", {}, where)]);
  const source = finding.source;
  // Some formats know of a node's origin nothing but its name.
  const text = source?.text === finding.node ? null : (source?.text ?? null);
  if (source !== null && (source.file ?? source.module ?? text) !== null) {
    const line = source.file === null ? "" : `${source.file}${source.line === null ? "" : `:${source.line}`}`;
    rows.push([
      "source",
      h("span", {}, line !== "" && name(line), source.module !== null && h("span", { class: "dim" }, ` in ${source.module}`), text !== null && h("pre", {}, text)),
    ]);
  }
  const also = finding.evidence["also"];
  if (Array.isArray(also) && also.length > 0) {
    rows.push(["also seen", h("span", {}, ...also.slice(0, MOST_ISSUES).map((one) => h("span", { class: "issue" }, String(one))))]);
  }
  const known = finding.evidence["known_issues"];
  if (Array.isArray(known) && known.length > 0) {
    rows.push(["see also", h("span", {}, ...issues(known.slice(0, MOST_ISSUES).map(String)))]);
  }
  if (rows.length === 0) return null;
  return h("dl", { class: "facts" }, ...rows.flatMap(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));
}

/** Public issues that describe this, "owner/project#7: what happens (address)": what happens stands once. */
function issues(references: string[]): HTMLElement[] {
  const links = new Map<string, (HTMLElement | string)[]>();
  for (const reference of references) {
    const [, text, address] = /^(.*) \((https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/(?:issues|pull)\/\d+)\)$/.exec(reference) ?? [];
    const [project = "", ...rest] = (text ?? reference).split(": ");
    const happens = text === undefined ? reference : rest.join(": ");
    const known = links.get(happens) ?? [];
    if (address !== undefined) known.push(...(known.length > 0 ? [", "] : []), h("a", { href: address, rel: "noreferrer noopener" }, project));
    links.set(happens, known);
  }
  return [...links].map(([happens, found]) => h("span", { class: "issue" }, ...found, found.length > 0 && happens !== "" && ": ", happens));
}

function names(all: string[]): HTMLElement {
  const rest = all.length - MOST_NAMES;
  const listed = all.slice(0, MOST_NAMES).flatMap((one, at) => (at === 0 ? [name(one)] : [", ", name(one)]));
  return h("span", {}, ...listed, rest > 0 && ` and ${rest} more`);
}

function measures(finding: Finding): HTMLElement | null {
  const all: [string, string][] = [];
  if (finding.local_error !== null) all.push(["own error, relative", figure(finding.local_error)]);
  if (finding.inherited_error !== null) all.push(["inherited", figure(finding.inherited_error)]);
  if (finding.share !== null) all.push(["of the output error goes with it", percent(finding.share)]);
  if (all.length === 0) return null;
  return h("div", { class: "measures" }, ...all.map(([label, value]) => h("p", {}, h("b", {}, value), h("span", {}, label))));
}

function experiments(finding: Finding): HTMLElement | null {
  if (finding.experiments.length === 0) return null;
  const rows = finding.experiments.map((one) => [
    one.question,
    one.change,
    one.predicts,
    one.seen,
    h("span", { class: one.agrees ? "outcome agrees" : "outcome differs" }, one.agrees ? "as predicted" : "not as predicted"),
  ]);
  return h(
    "div",
    { class: "evidence" },
    h("h4", {}, "Evidence"),
    table(["question", "change", "prediction", "seen", "outcome"], rows, "stacks"),
  );
}

function remedy(finding: Finding, report: Report): HTMLElement | null {
  const diff = changes(finding);
  if (finding.fix === null && diff.length === 0) return null;
  const command = report.repair_commands?.[report.findings.indexOf(finding)] ?? null;
  return h(
    "div",
    { class: "remedy" },
    h("h4", {}, "Fix"),
    finding.fix !== null && h("p", {}, finding.fix, finding.share !== null && h("span", { class: "dim" }, ` · removes ${percent(finding.share)} of the output error`)),
    diff.length > 0 && h("pre", { class: "diff" }, ...diff),
    verified(finding, report),
    command !== null && copyable(command),
  );
}

/** The patch that was measured, where a repair was made. */
function verified(finding: Finding, report: Report): HTMLElement | null {
  const repair = report.repair;
  const patches = repair?.patches.filter((one) => one.node !== null && one.node === finding.node) ?? [];
  if (!repair || patches.length === 0) return null;
  return h(
    "div",
    { class: "patch" },
    ...patches.flatMap((one) => [h("p", {}, one.summary), h("pre", { class: "diff" }, ...one.words.map((word) => h("ins", {}, `+ ${word}`)))]),
    table(
      ["", "inputs", "verdict", "#error, in its budget"],
      [...repair.before.map((one) => measured("before", one)), ...repair.after.map((one) => measured("after", one))],
      "tight",
    ),
    h("p", { class: repair.repaired ? "dim" : "bad" }, repair.reason, repair.output !== null && h("span", {}, ": ", name(repair.output))),
  );
}

function measured(when: string, one: Measured): (HTMLElement | string)[] {
  const ratios = one.outputs.map((output) => real(output.times_over_budget)).filter((ratio) => ratio !== null);
  return [when, one.origin, h("span", { class: `chip ${one.verdict}` }, one.verdict), ratios.length === 0 ? "–" : times(Math.max(...ratios))];
}

/** Attributes as [name, the candidate's, the reference's]. */
function changes(finding: Finding): HTMLElement[] {
  const attributes = finding.evidence["attributes"];
  if (!Array.isArray(attributes)) return [];
  return attributes
    .filter((one): one is [unknown, unknown, unknown] => Array.isArray(one) && one.length === 3)
    .slice(0, 12)
    .flatMap(([attribute, candidate, reference]) => [
      h("del", {}, `− ${String(attribute)} = ${value(candidate)}`),
      h("ins", {}, `+ ${String(attribute)} = ${value(reference)}`),
    ]);
}

/** A float32 shows itself in float64 as 9.999999747378752e-05; people wrote 0.0001. */
function value(data: unknown): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  const number = Number(text);
  return text !== "" && Number.isFinite(number) ? String(Number(number.toPrecision(7))) : shown(text);
}

function copyable(command: string): HTMLElement {
  const button = h("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", () => {
    void navigator.clipboard?.writeText(command).then(() => {
      button.textContent = "Copied";
    });
  });
  return h("p", { class: "command" }, h("code", {}, `$ ${command}`), button);
}
