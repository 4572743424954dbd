/** Reports behind `isomorph view`: one, a list, or two side by side. */

import { brief, h, name, table } from "./dom";
import { size, used } from "./figures";
import type { CloseUp, Report } from "./page_report";
import { comparedProfiles } from "./compared_profiles";
import type { Divergence, Finding } from "./report";
import { FILTERS, filterControls, passes, reportRows, trends, type Filters, type Listed } from "./report_list";

type Draw = (report: Report, page: HTMLElement, load: (id: string) => Promise<CloseUp>, head: HTMLElement | null) => void;

const KEY = "isomorph-token";

/** The token comes behind the # and is kept for as long as the tab lives. */
function token(): string {
  const given = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (given !== undefined) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(KEY) ?? "";
}

async function asked<T>(path: string): Promise<T> {
  const answer = await fetch(path, { headers: { Authorization: `Bearer ${token()}` } });
  if (!answer.ok) throw new Error(answer.status === 403 ? "Open the address that isomorph view printed: it has the token." : `${path}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

const load = (id: string): Promise<CloseUp> => asked<CloseUp>(`/tensors/${encodeURIComponent(id)}`);
const fetched = (id: string): Promise<Report> => asked<Report>(`/reports/${encodeURIComponent(id)}`);

export async function viewer(page: HTMLElement, draw: Draw): Promise<void> {
  token();
  addEventListener("popstate", () => void route());
  const route = async (): Promise<void> => {
    try {
      const query = new URLSearchParams(location.search);
      const [one, two] = [query.get("report"), query.get("compare")?.split(",") ?? []];
      const listed = await asked<Listed[]>("/reports");
      const only = listed.length === 1 ? listed[0] : undefined;
      if (two.length === 2) await compared(page, two as [string, string], listed);
      else if (one !== null) draw(await fetched(one), page, load, back());
      else if (only !== undefined) draw(await fetched(only.id), page, load, null);
      else list(page, listed, stated(query));
    } catch (error) {
      page.replaceChildren(h("p", { class: "empty", role: "alert" }, String(error instanceof Error ? error.message : error)));
    }
  };
  const go = (search: string): void => {
    history.pushState(null, "", `/${search}`);
    void route();
    scrollTo(0, 0);
  };
  const back = (): HTMLElement => h("button", { type: "button", class: "back", click: () => go("") }, "← All reports");

  function list(box: HTMLElement, listed: Listed[], given: Filters): void {
    document.documentElement.removeAttribute("data-verdict");
    document.title = "isomorph";
    const chosen: string[] = [];
    // What changed is shown from the older report to the newer, however they were ticked.
    const written = new Map(listed.map((one) => [one.id, one.modified]));
    const inTime = (ids: string[]): string[] => [...ids].sort((a, b) => (written.get(a) ?? 0) - (written.get(b) ?? 0));
    const compare = h("button", { type: "button", disabled: true, click: () => go(`?compare=${inTime(chosen).map(encodeURIComponent).join(",")}`) }, "Compare two");
    const boxFor = (one: Listed): HTMLElement => {
      const tick = h("input", { type: "checkbox", checked: chosen.includes(one.id), "aria-label": `Compare ${one.name}` });
      tick.addEventListener("change", () => {
        if (tick.checked) chosen.push(one.id);
        else chosen.splice(chosen.indexOf(one.id), 1);
        compare.disabled = chosen.length !== 2;
      });
      return tick;
    };
    const read = (id: string): void => go(`?report=${encodeURIComponent(id)}`);
    const count = h("span", { role: "status" });
    const rows = h("div", {});
    const show = (filters: Filters): void => {
      const found = listed.filter((one) => passes(one, filters));
      count.textContent = found.length === listed.length ? "" : `${found.length} of ${listed.length} reports`;
      const over = trends(found, read);
      rows.replaceChildren(reportRows(found, read, boxFor), ...(over === null ? [] : [over]));
    };
    show(given);
    const filter = (filters: Filters): void => {
      // Whoever comes back from a report finds the list as it was.
      const search = new URLSearchParams(Object.entries(filters)).toString();
      history.replaceState(null, "", search === "" ? "/" : `/?${search}`);
      show(filters);
    };
    box.replaceChildren(
      h("header", { id: "verdict" }, h("p", { class: "brand" }, "isomorph"), h("h1", {}, h("span", { class: "verdict" }, listed.length === 0 ? "No reports here" : `${listed.length} reports`))),
      listed.length === 0
        ? h("p", { class: "note" }, "Write one with: isomorph check REFERENCE CANDIDATE --format json -o report.json")
        : h("div", {}, filterControls(listed, given, filter), h("div", { class: "tools" }, compare, h("span", {}, "Tick two to see what changed."), count), rows),
    );
  }

  async function compared(box: HTMLElement, ids: [string, string], listed: Listed[]): Promise<void> {
    const [before, after] = await Promise.all(ids.map(fetched));
    if (before === undefined || after === undefined) return;
    const label = (id: string): string => listed.find((one) => one.id === id)?.name ?? "";
    document.documentElement.dataset["verdict"] = after.verdict;
    document.title = "comparison · isomorph";
    box.replaceChildren(
      back(),
      h("header", { id: "verdict" }, h("h1", {}, h("span", { class: "verdict" }, `${before.verdict} → ${after.verdict}`)), h("p", { class: "pair" }, name(label(ids[0])), h("span", { class: "arrow" }, "→"), name(label(ids[1]))), others(before, after)),
      h("section", { id: "findings" }, h("h2", {}, "Findings"), findings(before, after)),
      comparedProfiles(before, after),
      h("section", { id: "outputs" }, h("h2", {}, "Outputs"), outputs(before, after)),
    );
  }
  await route();
}

/** The filters that the address states. */
function stated(query: URLSearchParams): Filters {
  return Object.fromEntries(FILTERS.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : []))) as Filters;
}

/** A warning where the two reports are about other files. */
function others(before: Report, after: Report): HTMLElement | null {
  const [old, now] = [before, after].map((report) => report.models.map((one) => one.location.split(/[\\/]/).pop() ?? "").join(" → "));
  return old === now ? null : h("p", { class: "note" }, "These are reports of different models: ", name(old), ", and then ", name(now), ".");
}

/** The same fault is the same whatever its numbers are. */
function identity(finding: Finding): string {
  return JSON.stringify([finding.code, finding.cause, finding.node, finding.node === null ? finding.tensors : []]);
}

function findings(before: Report, after: Report): HTMLElement {
  const [old, now] = [before, after].map((report) => new Map(report.findings.map((one) => [identity(one), one])));
  const all = new Map([...(now ?? []), ...(old ?? [])]);
  const rows = [...all].map(([key, one]) => {
    // What was not found where the answer is unknown may be there all the same.
    const gone = after.verdict === "unknown" ? "not seen" : "fixed";
    const state = !old?.has(key) ? "new" : !now?.has(key) ? gone : "unchanged";
    return { state, cells: [h("span", { class: `chip ${state}` }, state), one.code, one.node === null ? "–" : brief(one.node), one.cause ?? "–", (now?.get(key) ?? one).summary] };
  });
  const order = ["new", "fixed", "not seen", "unchanged"];
  rows.sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  if (rows.length === 0) return h("p", { class: "empty" }, "Neither report has any.");
  return table(["", "code", "node", "cause", "summary"], rows.map((row) => row.cells), "stacks");
}

function outputs(before: Report, after: Report): HTMLElement {
  const key = (one: Divergence): string => one.candidate_output ?? one.reference_output ?? "";
  const [old, now] = [before, after].map((report) => new Map(report.outputs.map((one) => [key(one), one])));
  const cell = (one: Divergence | undefined): string => {
    const part = one?.intended_loss ?? one?.rounding ?? one?.translation ?? null;
    return one === undefined ? "absent" : part === null ? one.verdict : `${one.verdict}, ${size(part)}, ${used(part.budget)}`;
  };
  const names = [...new Set([...(now?.keys() ?? []), ...(old?.keys() ?? [])])];
  return table(["output", "before", "after"], names.map((one) => [brief(one), cell(old?.get(one)), cell(now?.get(one))]), "stacks");
}
