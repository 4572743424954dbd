/** Search for nodes of both graphs: a list of what was found, and steps from one to the next. */

import { abridged, h, shown } from "./dom";
import type { Role } from "./arrange";
import type { Report } from "./page_report";
import type { Place } from "./selection";

const MOST_LISTED = 60;

interface Entry {
  place: Place;
  op: string;
  name: string;
  /** All that is searched, in lower case. */
  text: string;
}

export function graphSearch(report: Report, choose: (place: Place) => void): HTMLElement {
  // Made when someone searches: most people who open a page do not.
  let entries: Entry[] | null = null;
  const find = h("input", { type: "search", placeholder: "Find nodes: name, operator, module, tensor", "aria-label": "Find nodes of both graphs", role: "combobox", "aria-expanded": "false", "aria-controls": "found-nodes", autocomplete: "off" });
  const list = h("ul", { id: "found-nodes", role: "listbox", "aria-label": "Found nodes", hidden: true });
  const count = h("span", { class: "found", role: "status" });
  let found: Entry[] = [];
  let at = -1;
  const close = (): void => {
    list.hidden = true;
    find.setAttribute("aria-expanded", "false");
  };
  const mark = (): void => {
    count.textContent = find.value.trim() === "" ? "" : found.length === 0 ? "nothing found" : `${at < 0 ? "" : `${at + 1} of `}${found.length} found`;
    for (const [number, option] of [...list.children].entries()) option.setAttribute("aria-selected", String(number === at));
    list.children[at]?.scrollIntoView({ block: "nearest" });
    if (at >= 0 && at < MOST_LISTED) find.setAttribute("aria-activedescendant", `found-${at}`);
    else find.removeAttribute("aria-activedescendant");
    previous.disabled = next.disabled = found.length === 0;
  };
  const step = (by: number): void => {
    if (found.length === 0) return;
    at = at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length;
    const entry = found[at];
    if (entry !== undefined) choose(entry.place);
    mark();
  };
  const show = (): void => {
    entries ??= listed(report);
    found = matches(entries, find.value.trim().toLowerCase());
    at = -1;
    list.replaceChildren(
      ...found.slice(0, MOST_LISTED).map((entry, number) =>
        h(
          "li",
          { role: "option", id: `found-${number}`, "aria-selected": "false", title: shown(entry.name), click: () => {
            at = number - 1;
            step(1);
            close();
          } },
          h("span", { class: `chip ${entry.place.role}` }, entry.place.role),
          h("span", {}, `${entry.op} `, h("code", {}, abridged(shown(entry.name), 60))),
        ),
      ),
      ...(found.length > MOST_LISTED ? [h("li", { class: "dim", role: "presentation" }, `… and ${found.length - MOST_LISTED} more: next and previous reach them.`)] : []),
    );
    list.hidden = found.length === 0;
    find.setAttribute("aria-expanded", String(found.length > 0));
    mark();
  };
  const previous = h("button", { type: "button", title: "Previous (Shift+Enter)", "aria-label": "Previous found node", disabled: true, click: () => step(-1) }, "↑");
  const next = h("button", { type: "button", title: "Next (Enter)", "aria-label": "Next found node", disabled: true, click: () => step(1) }, "↓");
  find.addEventListener("input", show);
  find.addEventListener("focus", () => {
    if (found.length === 0) return;
    list.hidden = false;
    find.setAttribute("aria-expanded", "true");
  });
  const box = h("div", { class: "search" }, find, previous, next, count, list);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      close();
    } else if (event.target === find && ["Enter", "ArrowDown", "ArrowUp"].includes(event.key)) {
      event.preventDefault();
      step(event.key === "ArrowUp" || event.shiftKey ? -1 : 1);
    }
  });
  box.addEventListener("focusout", (event) => {
    if (!box.contains(event.relatedTarget as Node | null)) close();
  });
  // A press in the list must not take the focus before the click is through.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  return box;
}

function listed(report: Report): Entry[] {
  const sides = [...(report.profile?.graphs ?? [])].sort((a, b) => Number(b.role === "candidate") - Number(a.role === "candidate"));
  return sides.flatMap((side) =>
    side.nodes.map((name, index) => ({
      place: { role: side.role as Role, index },
      op: side.ops[index] ?? "",
      name,
      text: [name, side.ops[index], side.tensors[index], side.modules?.[index] ?? ""].join("\n").toLowerCase(),
    })),
  );
}

/** A whole name first, then parts of names, then what is found elsewhere. */
function matches(entries: Entry[], query: string): Entry[] {
  if (query === "") return [];
  const ranks: [Entry[], Entry[], Entry[]] = [[], [], []];
  for (const entry of entries) {
    if (!entry.text.includes(query)) continue;
    const name = entry.name.toLowerCase();
    ranks[name === query ? 0 : name.includes(query) ? 1 : 2].push(entry);
  }
  return ranks.flat();
}
