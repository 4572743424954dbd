/** Elements from plain data. Text is always text: nothing here reads markup. */

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

const SVG = "http://www.w3.org/2000/svg";

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return dressed(document.createElement(tag), attributes, children);
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return dressed(document.createElementNS(SVG, tag) as SVGElement, attributes, children);
}

function dressed<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter(present).map((child) => asNode(child)));
  return element;
}

function present(child: Child): child is Node | string | number {
  return child !== null && child !== undefined && child !== false;
}

function asNode(child: Node | string | number): Node {
  return child instanceof Node ? child : document.createTextNode(shown(String(child)));
}

// Control characters, and those that hide text or turn its direction around.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Text from a model, on one line, with what cannot be seen spelled as escapes. */
export function shown(text: string): string {
  return text.replace(INVISIBLE, (one) => {
    const code = one.codePointAt(0) ?? 0;
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** A section with a heading that can be linked to. */
export function section(id: string, title: string, note: string, ...children: Child[]): HTMLElement {
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title),
    note !== "" && h("p", { class: "note" }, note),
    ...children,
  );
}

/** A table; columns whose heading starts with # hold figures. One of the kind "stacks" has its cells below each other on narrow screens. */
export function table(headings: string[], rows: Child[][], kind = ""): HTMLElement {
  const figures = headings.map((word) => word.startsWith("#"));
  const cell = (child: Child, place: number): HTMLElement =>
    h("td", { class: [figures[place] ? "figure" : "", nothing(child) ? "nothing" : ""].join(" ").trim() || undefined, "data-label": headings[place]?.replace(/^#/, "") }, child);
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "table" },
    h(
      "table",
      { class: kind },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...headings.map((word, place) =>
            h("th", { scope: "col", class: figures[place] ? "figure" : undefined }, word.replace(/^#/, "")),
          ),
        ),
      ),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cell)))),
    ),
  );
}

/** A dash, which stands for no value: a table whose cells lie below each other leaves it out. */
function nothing(child: Child): boolean {
  return (child instanceof Node ? child.textContent : child) === "–";
}

/** A name out of a model: in its own face, broken anywhere. */
export function name(text: string | null | undefined): HTMLElement {
  return h("code", { class: "name" }, text ?? "");
}

const BRIEF = 44;

/** The same within a table: its two ends where it is long, all of it for who points at it. */
export function brief(text: string | null | undefined): HTMLElement {
  const whole = text ?? "";
  return h("code", { class: "name brief", title: shown(whole) }, abridged(whole, BRIEF));
}

/** Both ends of a long text: names differ at their ends. */
export function abridged(text: string, most: number): string {
  const tail = Math.floor(most * 0.6);
  return text.length <= most ? text : `${text.slice(0, most - tail - 1)}…${text.slice(-tail)}`;
}

export function css(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}
