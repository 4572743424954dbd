/** The page of two reports: what changed between two checks. */

import { h, name, section, table } from "../src/dom";
import type { ErrorChange, FactChange, FindingChange, OutputChange, Presence, Real, ReportDiff, ReportSide } from "./document";

const ORDER: Presence[] = ["new", "gone", "changed", "same"];

export function reportPage(diff: ReportDiff, page: HTMLElement): void {
  document.documentElement.dataset["verdict"] = diff.after.verdict;
  document.title = `${diff.before.verdict} → ${diff.after.verdict}: ${diff.after.pair} · isomorph`;
  const parts = [header(diff), findings(diff.findings), outputs(diff.outputs), facts("models", "Models", diff.models), facts("environments", "Environments", diff.environments), facts("questions", "What was asked", diff.questions), cost(diff)];
  page.replaceChildren(...parts.filter((one): one is HTMLElement => one !== null));
}

function header(diff: ReportDiff): HTMLElement {
  const words = diff.before.verdict === diff.after.verdict ? diff.after.verdict : `${diff.before.verdict} → ${diff.after.verdict}`;
  return h(
    "header",
    { id: "verdict" },
    h("p", { class: "brand" }, "isomorph diff of two reports"),
    h("h1", {}, h("span", { class: "verdict" }, capital(words)), h("span", { class: "reason" }, diff.same ? "Nothing but the cost changed." : diff.after.reason)),
    table(["", "verdict", "pair", "report", "isomorph"], [side("before", diff.before), side("after", diff.after)]),
  );
}

function side(word: string, one: ReportSide): (string | HTMLElement)[] {
  return [word, one.headline, name(one.pair), name(one.location), one.version];
}

function findings(list: FindingChange[]): HTMLElement {
  const sorted = [...list].sort((one, other) => ORDER.indexOf(one.presence) - ORDER.indexOf(other.presence));
  const rows = sorted.map((one) => [chip(one.presence), one.code, one.cause ?? "", name(one.node), both(one.presence, one.status_before ?? "", one.status_after ?? ""), both(one.presence, number(one.error_before), number(one.error_after)), h("span", { class: "words" }, one.summary)]);
  const shown = rows.length === 0 ? h("p", { class: "empty" }, "Neither report has a finding.") : table(["", "code", "cause", "node", "status", "#error of the node", "summary"], rows);
  return section("findings", "Findings", counted(list), shown);
}

function counted(list: { presence: Presence }[]): string {
  return ORDER.map((word) => [list.filter((one) => one.presence === word).length, word] as const)
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(", ");
}

function outputs(list: OutputChange[]): HTMLElement {
  const rows = list.flatMap((one) =>
    one.errors.map((error, at) => [at === 0 ? chip(one.presence) : "", at === 0 ? name(one.output) : "", at === 0 ? change(one.verdict_before, one.verdict_after) : "", error.term.replaceAll("_", " "), number(error.error_before), number(error.error_after), ratio(error.ratio_before), ratio(error.ratio_after), trend(error)]),
  );
  return section("outputs", "Outputs", "The largest error of each output, and its share of the budget: at most 1× is within.", table(["", "output", "verdict", "error", "#before", "#after", "#of budget before", "#after", ""], rows));
}

function trend(error: ErrorChange): HTMLElement | string {
  const [one, other] = [real(error.ratio_before), real(error.ratio_after)];
  if (one === null || other === null || one === other) return "";
  const kind = other <= 1 && one <= 1 ? "dim" : other > one ? "bad" : "good";
  return h("span", { class: kind }, other > one ? "larger" : "smaller");
}

function facts(id: string, title: string, list: FactChange[]): HTMLElement | null {
  if (list.length === 0) return null;
  return section(id, title, "", table(["", "", "before", "after"], list.map((one) => [one.of, name(one.name), name(short(one.before)), name(short(one.after))])));
}

/** A value of a fact; of a digest its beginning. */
function short(value: string | null): string {
  return value === null ? "—" : /^[0-9a-f]{64}$/.test(value) ? value.slice(0, 12) : value;
}

function cost(diff: ReportDiff): HTMLElement | null {
  if (diff.cost.length === 0) return null;
  const total = diff.cost.find((one) => one.phase === "total");
  const words = total === undefined ? "Phases" : `${number(total.before)} s before, ${number(total.after)} s after`;
  return section("cost", "Cost", "Seconds of wall time by phase.", h("details", {}, h("summary", {}, words), table(["", "#before", "#after"], diff.cost.map((one) => [one.phase, number(one.before), number(one.after)]), "tight")));
}

function chip(word: Presence): HTMLElement {
  return h("span", { class: `chip ${word === "gone" ? "fixed" : word}` }, word);
}

/** Both values, or the only one where a report lacks the finding. */
function both(presence: Presence, one: string, other: string): string {
  return presence === "new" ? other : presence === "gone" ? one : change(one, other);
}

function change(one: string | null, other: string | null): string {
  return one === other ? (one ?? "") : `${one ?? "—"} → ${other ?? "—"}`;
}

function real(value: Real | null): number | null {
  return value === null ? null : Number(value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);
}

function number(value: Real | null): string {
  const plain = real(value);
  return plain === null ? "—" : plain === 0 ? "0" : Math.abs(plain) >= 0.01 && Math.abs(plain) < 1000 ? plain.toPrecision(3) : plain.toExponential(2);
}

function ratio(value: Real | null): string {
  return value === null ? "—" : `${number(value)}×`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
