/** What is proven for every input of these shapes: the share at the top, every output, open nodes. */

import { brief, h, name, section, table } from "./dom";
import { figure } from "./figures";
import { real } from "./page_report";
import type { AxisProof, NodeProof, OpenReason, Proof, Reason, Standing } from "./report";

const MOST_ROWS = 200;
const STANDINGS: Standing[] = ["proven", "tested", "open"];

const WORDS: Record<Exclude<Reason, "no meaning" | "unexplained constant" | "different identity">, string> = {
  domain: "equal only where a divisor, root or logarithm of one side is defined",
  interface: "the interface differs",
  measured: "float64 values on a sample differ by more than rounded constants explain",
};

/** The standing of each node, by side and name. */
export function nodeStandings(proof: Proof | null | undefined): Map<string, NodeProof> {
  return new Map((proof?.nodes ?? []).map((one) => [`${one.side}:${one.node}`, one]));
}

export function shapes(proof: Proof): string {
  const named = new Map(proof.axes.filter((one) => one.every_size && !one.alone).flatMap((one) => one.places.map((place) => [`${place.input} ${place.axis}`, one.name])));
  const sizesOf = (input: string, sizes: readonly number[]): string => sizes.map((size, axis) => named.get(`${input} ${axis}`) ?? size).join(", ");
  return Object.entries(proof.assumptions.shapes).map(([input, sizes]) => `${input} [${sizesOf(input, sizes)}]`).join(", ") || "no inputs";
}

/** A dynamic axis: whether what is proven holds for every size of it, and why not. */
function axisWords(one: AxisProof): string {
  const named = `${one.name} (${one.places.map((place) => `axis ${place.axis} of ${place.input}`).join(", ")})`;
  if (one.every_size) return `${named}: every size${one.least > 1 ? ` from ${one.least} on` : ""}${one.alone ? ", with the other axes as tried" : ""}`;
  return `${named}: only the size tried, ${one.size}${one.open === null ? "" : `: ${why(one.open)}${one.open.side ? ` in the ${one.open.side}` : ""}`}`;
}

export function whole(proof: Proof): boolean {
  return proof.outputs.length > 0 && proof.outputs.every((one) => one.standing === "proven");
}

/** How many nodes of the reference are proven, tested and open, as one bar with its words. */
export function share(proof: Proof): HTMLElement {
  const own = proof.nodes.filter((one) => one.side === "reference");
  const counts = STANDINGS.map((standing) => [standing, own.filter((one) => one.standing === standing).length] as const).filter(([, count]) => count > 0);
  const proven = counts.find(([standing]) => standing === "proven")?.[1] ?? 0;
  const parts = counts.map(([standing, count]) => {
    const part = h("i", { class: standing });
    part.style.width = `${(100 * count) / own.length}%`;
    return part;
  });
  return h(
    "div",
    { class: "share", id: "proven-share" },
    h("p", {}, h("b", {}, `${proven} of ${own.length}`), ` nodes of the reference are proven for every input of these shapes: ${shapes(proof)}`),
    own.length > 0 && h("div", { class: "share-bar", "aria-hidden": "true" }, ...parts),
    h("p", { class: "key" }, ...counts.flatMap(([standing, count]) => [h("i", { class: `swatch ${standing}` }), h("span", {}, `${mark(standing)}${standing} ${count}`)])),
  );
}

/** Not by color alone: what is proven has a mark as well. */
export function mark(standing: Standing | undefined): string {
  return standing === "proven" ? "✓ " : "";
}

export function proofSection(proof: Proof | null | undefined): HTMLElement | null {
  if (!proof) return null;
  const open = proof.nodes.filter((one) => one.standing !== "proven");
  const rounding = real(proof.assumptions.largest_rounding) ?? 0;
  return section(
    "proof",
    "Proof",
    "Proven: equal for every input of these shapes, in real arithmetic. Tested: not proven, and equal on every sample of the check. Open: neither; that does not mean different. How a run rounds is measured, not proven.",
    proof.contradicted.length > 0 &&
      h("p", { class: "bad", role: "alert" }, `Proven, and measured to differ: ${proof.contradicted.join(", ")}. This is a defect of isomorph: rely on neither answer.`),
    table(
      whole(proof) ? ["output", ""] : ["output", "", "why it is not proven"],
      proof.outputs
        .slice(0, MOST_ROWS)
        .map((one) => [name(one.reference), chip(one.standing), ...(whole(proof) ? [] : [h("span", { class: "words" }, why(one.open))])]),
    ),
    proof.outputs.length > MOST_ROWS && h("p", { class: "note" }, `… and ${proof.outputs.length - MOST_ROWS} more outputs.`),
    h(
      "dl",
      { class: "facts" },
      h("dt", {}, "shapes"),
      h("dd", {}, shapes(proof)),
      ...proof.axes.slice(0, MOST_ROWS).flatMap((one) => [h("dt", {}, "size"), h("dd", {}, axisWords(one))]),
      h("dt", {}, "assumes"),
      h("dd", {}, `${proof.assumptions.arithmetic} arithmetic; finite inputs; an operator's own numbers (epsilon, slope) are rounded to the type it computes in${rounding > 0 ? `; constants equal up to ${figure(rounding)} of their values` : ""}${proof.assumptions.vanishing ? "; weights of a softmax that no IEEE 754 type holds for any input count as zero" : ""}`),
      h("dt", {}, "chance of error"),
      h("dd", {}, real(proof.chance) === 0 ? "none: no equality rests on random numbers" : `at most ${figure(proof.chance)} that a wrong equality passed`, ` (seed ${proof.seed})`),
    ),
    proof.assumptions.rerounded.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, "Constants that stand for an expression ", h("span", { class: "dim" }, "the farthest")),
        table(["constant", "expression of the reference", "#relative difference"], proof.assumptions.rerounded.map((one) => [brief(one.constant), h("code", {}, one.expression), figure(one.relative)])),
      ),
    open.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, "Nodes that are not proven ", h("span", { class: "dim" }, open.length)),
        table(["side", "operator", "node", "", "why"], open.slice(0, MOST_ROWS).map((one) => [one.side, one.op, brief(one.node), chip(one.standing), h("span", { class: "words" }, one.open === null ? "" : why(one.open))])),
        open.length > MOST_ROWS && h("p", { class: "note" }, `… and ${open.length - MOST_ROWS} more.`),
      ),
  );
}

/** The page of `isomorph prove`, which measured nothing. */
export function proofHeader(proof: Proof): HTMLElement {
  const [sentence, covers] = whole(proof) ? ["Equivalent", "for every input of these shapes"] : ["Open", "not proven does not mean different"];
  const file = (location: string): HTMLElement => h("span", { title: location }, name(location.split(/[\\/]/).pop() ?? location));
  return h(
    "header",
    { id: "verdict" },
    h("p", { class: "brand" }, "isomorph prove"),
    h("h1", {}, h("span", { class: "verdict" }, sentence), h("span", { class: "covers" }, covers)),
    h("p", { class: "pair" }, h("span", { class: "side reference" }, file(proof.reference)), h("span", { class: "arrow", "aria-label": "converted to" }, "→"), h("span", { class: "side candidate" }, file(proof.candidate))),
    share(proof),
  );
}

function chip(standing: Standing): HTMLElement {
  return h("span", { class: `chip ${standing}` }, `${mark(standing)}${standing}`);
}

function why(reason: OpenReason | null): string {
  if (reason === null) return "";
  const place = reason.node === "" ? "" : ` at ${reason.node} (${reason.op})`;
  const details = reason.details === "" ? "" : `: ${reason.details}`;
  switch (reason.reason) {
    case "no meaning":
      return `operator ${reason.op} at ${reason.node} is not defined for proofs${details}`;
    case "unexplained constant":
      return `unexplained constant ${reason.details}${place}: it is none of the reference's, nor computed from them`;
    case "different identity":
      return `not proven equal${place}: the two differ, or are equal by an identity that is not known here`;
    default:
      return `${WORDS[reason.reason]}${place}${details}`;
  }
}
