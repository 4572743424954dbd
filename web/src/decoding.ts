/** Decoding token by token: every step, and the caches layer by layer. */

import { brief, h, section, table } from "./dom";
import { figure, percent, times } from "./figures";
import { real, type Report } from "./page_report";
import type { CacheErrors, Decoding, DecodingStep, TokenChoice } from "./report";

const MOST_STEPS = 200;
const MOST_CACHES = 200;

export function decoding(report: Report): HTMLElement | null {
  const found = report.decoding ?? null;
  if (found === null) return null;
  const caches = found.caches.slice(0, MOST_CACHES);
  return section(
    "decoding",
    "Decoding",
    `The candidate gets the reference's caches and tokens at every step. A tie is another token whose logit is no farther away than rounding explains. ${own(found)}`,
    h("h3", { class: "table-title" }, "Logits, step by step"),
    table(
      ["step", "#cached", "#tokens", "logits", "#error", "#of its budget", "#token", "#margin", "#rounding", "#largest agree"],
      found.steps.slice(0, MOST_STEPS).map((step) => [
        named(step),
        step.cached,
        step.tokens,
        judged(step.verdict),
        figure(step.error),
        times(step.ratio),
        h("span", {}, ...step.choices.map(chosen)),
        figure(step.choices[0]?.margin),
        figure(step.choices[0]?.allowed),
        percent(step.top_k),
      ]),
    ),
    found.steps.length > MOST_STEPS && h("p", { class: "note" }, `… and ${found.steps.length - MOST_STEPS} more steps.`),
    caches.length > 0 && h("h3", { class: "table-title" }, "Caches, layer by layer"),
    caches.length > 0 &&
      table(
        ["layer", "part", "output", "wrong from", "#largest of its budget", "at"],
        caches.map((cache) => {
          const worst = largest(cache);
          return [
            cache.layer,
            cache.part,
            brief(cache.reference),
            cache.first_wrong === null ? "–" : h("span", { class: "bad" }, place(found, cache.first_wrong)),
            worst === null ? "–" : times(cache.ratios[worst]),
            worst === null ? "–" : place(found, worst),
          ];
        }),
      ),
    found.caches.length > MOST_CACHES && h("p", { class: "note" }, `… and ${found.caches.length - MOST_CACHES} more caches.`),
  );
}

function own(found: Decoding): string {
  const choice = found.own.choice;
  const failed = found.own.failure === "" ? "" : ` The candidate failed: ${found.own.failure}.`;
  if (choice === null) return `Each on its own caches, both decode the same tokens.${failed}`;
  return `Each on its own caches, token ${found.own.first_different ?? "?"} is the first that differs: ${choice.candidate} instead of ${choice.reference}, ${choice.judgment}.${failed}`;
}

function named(step: DecodingStep): string {
  return step.number === 0 ? "prompt" : String(step.number);
}

function place(found: Decoding, at: number): string {
  const step = found.steps[at];
  if (step === undefined) return "–";
  return step.number === 0 ? "prompt" : `step ${step.number}`;
}

function judged(verdict: string | null): HTMLElement {
  return h("span", { class: verdict === "divergent" ? "bad" : undefined }, verdict ?? "not compared");
}

function chosen(choice: TokenChoice): HTMLElement {
  const same = choice.judgment === "same";
  const text = same ? `${choice.reference} ` : `${choice.candidate} instead of ${choice.reference}: ${choice.judgment} `;
  return h("span", { class: choice.judgment === "wrong" ? "bad" : undefined }, text);
}

function largest(cache: CacheErrors): number | null {
  let found: number | null = null;
  cache.ratios.forEach((ratio, at) => {
    const value = real(ratio);
    if (value !== null && (found === null || value > (real(cache.ratios[found]) ?? 0))) found = at;
  });
  return found;
}
