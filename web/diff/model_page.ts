/** The page of two models: what differs, both graphs side by side, and one row in detail. */

import { h, name, section, table } from "../src/dom";
import type { Dimension } from "./dimension";
import type { ChangeKind, DiffNode, DiffRow, ModelDiff, Quantization, Relation, SpecPair, TensorSpec } from "./document";
import { GraphView } from "./graph_view";
import { MEANINGS, WORDS, differs } from "./rows";

export function modelPage(diff: ModelDiff, page: HTMLElement): void {
  document.documentElement.dataset["verdict"] = diff.same ? "equivalent" : "degraded";
  document.title = `${headline(diff).toLowerCase()}: ${file(diff.reference.location)} and ${file(diff.candidate.location)} · isomorph`;
  const detail = h("div", { id: "detail", "aria-live": "polite" }, h("p", { class: "dim" }, "Select a row to see its nodes, constants and sources."));
  const view = new GraphView(diff, (row) => detail.replaceChildren(...described(row)));
  const interfaces = interfaceTable(diff);
  const renamedOnly = [...diff.inputs, ...diff.outputs].every((one) => one.changed.every((word) => word === "name") && one.reference !== null && one.candidate !== null);
  const around = renamedOnly ? [null, interfaces] : [interfaces, null];
  const parts = [header(diff), around[0] ?? null, changes(diff, view), graphs(diff, view, detail), around[1] ?? null, quantization(diff), files(diff)];
  page.replaceChildren(...parts.filter((one): one is HTMLElement => one !== null));
  view.draw();
  let first = diff.rows.findIndex((row) => row.changes.length > 0);
  if (first < 0) first = diff.rows.findIndex((row) => row.uncompared.length > 0);
  if (first >= 0) view.select(first);
  else if (!diff.same) view.step(1);
}

function header(diff: ModelDiff): HTMLElement {
  const reason = diff.same ? `${diff.rows.length} nodes correspond; nothing but names may differ.` : reasons(diff);
  return h(
    "header",
    { id: "verdict" },
    h("p", { class: "brand" }, "isomorph diff"),
    h("h1", {}, h("span", { class: "verdict" }, headline(diff)), h("span", { class: "reason" }, reason)),
    h(
      "p",
      { class: "pair" },
      h("span", { class: "side reference" }, "reference ", name(diff.reference.location)),
      h("span", { class: "arrow" }, "→"),
      h("span", { class: "side candidate" }, "candidate ", name(diff.candidate.location)),
    ),
    h("p", { class: "note" }, `Compared by structure; neither model was run.${leftOpen(diff)} Whether both compute the same is the question of isomorph check.`),
  );
}

function headline(diff: ModelDiff): string {
  if (diff.same) return "Same structure";
  const specs = [...diff.inputs, ...diff.outputs].some((one) => one.reference === null || one.candidate === null || one.changed.some((word) => word !== "name"));
  const grids = diff.quantization.some((one) => one.changed.length > 0 || one.reference === null || one.candidate === null);
  return specs || grids || diff.rows.some(differs) ? "Structure differs" : "Not everything was compared";
}

/** What is known to differ, and what was not compared: no part of a diff is equal because nobody looked. */
function reasons(diff: ModelDiff): string {
  const changed = diff.rows.filter((row) => row.changes.length > 0).length;
  const kinds = KINDS.filter((kind) => diff.rows.some((row) => row.changes.some((one) => one.kind === kind)));
  const words = kinds.length < 2 ? kinds.join("") : `${kinds.slice(0, -1).join(", ")} or ${kinds[kinds.length - 1]}`;
  const found = [changed > 0 ? `${counted(changed, "place")} with another ${words}.` : ""];
  const others = diff.rows.filter((row) => differs(row) && row.changes.length === 0).length;
  if (changed === 0 && others > 0) found.push(`No attribute or constant that was compared differs; ${counted(others, "place")} with nodes that were grouped, added, removed or moved.`);
  const constants = diff.rows.reduce((sum, row) => sum + row.uncompared.length, 0);
  if (constants > 0) found.push(`${counted(constants, "constant")} could not be compared.`);
  return found.filter((one) => one !== "").join(" ") || "Inputs, outputs or quantized tensors differ.";
}

function counted(count: number, word: string): string {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

/** What nobody compared, in one line; empty where everything was. */
function leftOpen(diff: ModelDiff): string {
  const groups = diff.rows.filter((row) => !row.attributes_compared).length;
  const frameworks = [...new Set([diff.reference.framework, diff.candidate.framework])];
  const found = [
    groups > 0 ? `attributes and single numbers of ${counted(groups, "group")} of other nodes` : "",
    frameworks.length > 1 ? `attributes that only ${frameworks.join(" or only ")} has` : "",
  ].filter((one) => one !== "");
  return found.length === 0 ? "" : ` Not compared: ${found.join(", ")}.`;
}

const KINDS: ChangeKind[] = ["operator", "attribute", "constant", "type", "shape", "input"];
const MOST_LISTED = 10;

/** What changed, in words, each a way to its row. */
function changes(diff: ModelDiff, view: GraphView): HTMLElement | null {
  const places = diff.rows.flatMap((row, place) => (row.changes.length > 0 || row.uncompared.length > 0 || row.relation === "moved" ? [place] : []));
  if (places.length === 0) return null;
  const lines = places.slice(0, MOST_LISTED).map((place) => {
    const row = diff.rows[place] as DiffRow;
    const node = row.reference[0] ?? row.candidate[0];
    const source = [...row.reference, ...row.candidate].map((one) => one.source).find((one) => one?.module || one?.file);
    const where = [source?.module ? `in ${source.module}` : "", source?.file ? `${file(source.file)}${source.line === null ? "" : `:${source.line}`}` : ""].filter((one) => one !== "").join("  ");
    return h(
      "li",
      {},
      h("button", { class: "link", click: () => view.select(place, true) }, `${node?.op ?? ""} ${node?.name ?? ""}`),
      h("span", { class: "dim" }, ` ${where}`),
      ...(row.relation === "moved" ? [h("div", {}, "moved to another place")] : []),
      ...(row.uncompared.length > 0 ? [h("div", { class: "whole-change" }, h("span", { class: "unknown" }, "not compared: "), row.uncompared.join(", "))] : []),
      ...row.changes.map((one) => h("div", { class: "whole-change" }, h("span", {}, `${one.name}: `), h("del", {}, one.reference), " → ", h("ins", {}, one.candidate), one.detail === "" ? null : h("span", { class: "dim" }, ` ${one.detail}`))),
    );
  });
  const more = places.length - lines.length;
  return section("changes", places.some((place) => (diff.rows[place]?.changes.length ?? 0) > 0) ? "What changed" : "Where to look", "", h("ul", { class: "change-list" }, ...lines), more > 0 ? h("p", { class: "note" }, `and ${more} more, in the graphs below`) : null);
}

function graphs(diff: ModelDiff, view: GraphView, detail: HTMLElement): HTMLElement {
  const anyChange = diff.rows.some(differs);
  const all = h("input", { type: "checkbox", id: "all-rows", checked: !anyChange, disabled: !anyChange });
  all.addEventListener("change", () => view.showAll(all.checked));
  const search = h("input", { type: "search", placeholder: "name, operator, module, constant", "aria-label": "Search both graphs" });
  const hits = h("span", { class: "hits", role: "status" });
  let found: number[] = [];
  let at = -1;
  const go = (by: number): void => {
    if (found.length === 0) return;
    at = (at + by + found.length) % found.length;
    view.select(found[at] as number);
    hits.textContent = `${at + 1} of ${found.length}`;
  };
  search.addEventListener("input", () => {
    found = view.find(search.value);
    at = -1;
    hits.textContent = search.value === "" ? "" : `${found.length} found`;
    go(1);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
  });
  return section(
    "graphs",
    "Both graphs",
    "Corresponding nodes stand on one row. Lines are edges; what is equal is folded away.",
    h(
      "div",
      { class: "tools" },
      search,
      hits,
      h("button", { click: () => view.step(-1) }, "Previous change"),
      h("button", { click: () => view.step(1) }, "Next change"),
      h("label", { for: "all-rows" }, all, " show all rows"),
    ),
    filters(diff, view),
    h("div", { class: "graphs-body" }, view.element, detail),
  );
}

/** One switch for each relation, with its number of rows. */
function filters(diff: ModelDiff, view: GraphView): HTMLElement {
  const words = (Object.keys(WORDS) as Relation[]).filter((one) => (diff.counts[one] ?? 0) > 0);
  return h(
    "div",
    { class: "filters", role: "group", "aria-label": "Relations" },
    ...words.map((relation) => {
      const label = `${diff.counts[relation] ?? 0} ${WORDS[relation]}`;
      if (relation === "matched") return h("span", { class: "filter matched", title: MEANINGS[relation] }, label);
      const button = h("button", { class: `filter ${relation}`, "aria-pressed": "true", title: MEANINGS[relation] }, label);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        view.toggle(relation, on);
      });
      return button;
    }),
  );
}

function described(row: DiffRow): HTMLElement[] {
  const found: HTMLElement[] = [h("h3", {}, `${WORDS[row.relation]}`, h("span", { class: "dim" }, ` ${MEANINGS[row.relation]}`))];
  for (const one of row.changes) {
    found.push(
      h("div", { class: "one-change" }, h("div", {}, h("span", { class: "dim" }, `${one.kind} `), name(one.name), ": ", h("del", {}, one.reference), " → ", h("ins", {}, one.candidate)), one.detail === "" ? null : h("div", {}, one.detail)),
    );
  }
  if (row.changes.length === 0 && row.relation === "regrouped" && row.uncompared.length === 0 && row.attributes_compared) found.push(h("p", { class: "note" }, "All constants and attributes were compared: those of the candidate follow from the reference's."));
  const open = [row.uncompared.length > 0 ? row.uncompared.join(", ") : "", row.attributes_compared ? "" : "attributes and single numbers"].filter((one) => one !== "");
  if (open.length > 0) found.push(h("p", { class: "note" }, h("span", { class: "unknown" }, "Not compared: "), open.join("; ")));
  for (const [side, list] of [["reference", row.reference], ["candidate", row.candidate]] as const) {
    if (list.length > 0) found.push(h("h4", { class: `of ${side}` }, side), ...list.map(node));
  }
  return found;
}

function node(one: DiffNode): HTMLElement {
  const source = one.source;
  const facts: [string, string][] = [
    ["operator", one.native_op === one.op ? one.op : `${one.op} (${one.native_op})`],
    ["module", source?.module ?? ""],
    ["source", source?.file ? `${source.file}${source.line === null ? "" : `:${source.line}`}${source.text === null ? "" : `  ${source.text}`}` : ""],
    ["reads", one.reads.join(", ")],
    ["constants", one.constants.join(", ")],
    ["outputs", one.outputs.map(spec).join(", ")],
  ];
  return h(
    "div",
    { class: "one-node" },
    name(one.name),
    h("dl", { class: "facts" }, ...facts.filter(([, text]) => text !== "").flatMap(([word, text]) => [h("dt", {}, word), h("dd", {}, name(text))])),
  );
}

function interfaceTable(diff: ModelDiff): HTMLElement | null {
  const rows = [...diff.inputs, ...diff.outputs].filter((one) => one.changed.length > 0 || one.reference === null || one.candidate === null).map(signature);
  for (const one of diff.opsets) if (one.reference !== null && one.candidate !== null && one.reference !== one.candidate) rows.push([`opset ${one.domain}`, String(one.reference), String(one.candidate), "version"]);
  if (rows.length === 0) return null;
  return section("interface", "Interface and operator sets", "", table(["", "reference", "candidate", "differs"], rows));
}

function signature(pair: SpecPair): (string | HTMLElement)[] {
  const differing = pair.reference === null || pair.candidate === null ? pair.how : pair.changed.join(", ");
  return [pair.kind, name(spec(pair.reference)), name(spec(pair.candidate)), differing];
}

function spec(one: TensorSpec | null): string {
  if (one === null) return "—";
  const shape = one.shape === null ? "[…]" : `[${one.shape.map((size: Dimension) => size ?? "?").join(", ")}]`;
  return `${one.name} ${one.dtype ?? "unknown"} ${shape}`;
}

function quantization(diff: ModelDiff): HTMLElement | null {
  const rows = diff.quantization.filter((one) => one.changed.length > 0 || one.reference === null || one.candidate === null);
  if (rows.length === 0) return null;
  const changed = rows.filter((one) => one.changed.length > 0).length;
  return section(
    "quantization",
    "Quantized tensors",
    `${changed} with other parameters, ${rows.length - changed} on one side only.`,
    h(
      "details",
      { open: changed > 0 },
      h("summary", {}, `${rows.length} tensors`),
      table(
        ["tensor", "reference", "candidate", "differs"],
        rows.map((one) => [name([...new Set([one.reference?.tensor, one.candidate?.tensor].filter((each) => each))].join(" / ")), grid(one.reference), grid(one.candidate), one.changed.join(", ")]),
      ),
    ),
  );
}

function grid(one: Quantization | null): string {
  if (one === null) return "—";
  const scales = one.scale.map(Number);
  const range = scales.length === 1 ? `scale ${scales[0]?.toPrecision(6)}` : `${scales.length} scales ${Math.min(...scales).toPrecision(4)} to ${Math.max(...scales).toPrecision(4)}`;
  return `${one.dtype}, ${range}${one.zero_point.length === 1 ? `, zero point ${one.zero_point[0]}` : ""}`;
}

function files(diff: ModelDiff): HTMLElement {
  const words: [string, (one: ModelDiff["reference"]) => string][] = [
    ["file", (one) => one.location],
    ["framework", (one) => one.framework],
    ["producer", (one) => one.producer || "not stated"],
    ["nodes", (one) => String(one.nodes)],
    ["constants", (one) => String(one.constants)],
    ["contents", (one) => one.digest.slice(0, 12)],
  ];
  const rows = words.map(([word, of]) => [word, name(of(diff.reference)), name(of(diff.candidate))]);
  const skipped = diff.skipped.map((one) => h("p", { class: "note" }, `Not looked at: ${one.what} (${one.why}).`));
  return section("files", "Files", "", table(["", "reference", "candidate"], rows), ...skipped);
}

function file(path: string): string {
  return path.split("/").pop() ?? path;
}
