/** One whole graph on a canvas, from its modules down to its nodes, with a map of it at the side. */

import { h, shown } from "./dom";
import { figure } from "./figures";
import { settled, type Role } from "./arrange";
import { moduleTree, openFirst, reveal, setOpen, type Part, type Tree } from "./module_tree";
import { BLOCK, Painter, type Marks, type Window } from "./graph_painter";
import { HEADER, layOutTree, type Box } from "./tree_layout";
import type { GraphProfile } from "./report";

const FIRST_SEEN = 24;
const MAP_WIDTH = 40;
/** A picture narrower than this on the screen, in pixels, is shown in part. */
const THREAD = 70;
const [LEAST_ZOOM, MOST_ZOOM] = [0.002, 2.5];

export class WholeGraph {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", {});
  private readonly map = h("canvas", { class: "map", title: "Map of the whole graph: press or drag to go there", "aria-hidden": "true" });
  private readonly note = h("p", { class: "pane-note", "aria-live": "polite" });
  private readonly stage: HTMLElement;
  private readonly tree: Tree;
  private readonly painter: Painter;
  private readonly window: Window;
  private chosen: Part | null = null;
  private cursor: Part | null = null;
  private waiting = false;
  /** Whether all of it is shown, and is to be when its place on the page grows. */
  private fitted = true;
  private shownSize: [number, number] = [0, 0];
  private readonly resized: ResizeObserver;

  constructor(
    role: Role,
    title: string,
    private readonly side: GraphProfile,
    private readonly marks: Marks,
    private readonly choose: (place: number) => void,
  ) {
    this.tree = moduleTree(side);
    openFirst(this.tree.root, FIRST_SEEN);
    this.painter = new Painter(side, marks, this.tree.root);
    this.window = this.painter.window;
    this.layOut();
    this.stage = h("div", { class: "whole", tabindex: 0, role: "application", "aria-roledescription": "graph", "aria-label": `Whole graph, ${title}: up and down walk through what is seen, right opens a module, left closes it, Enter chooses a node, plus and minus zoom, 0 shows all` }, this.canvas, this.map);
    this.element = h("div", { class: "pane" }, h("h3", { class: `pane-title ${role}` }, title, h("span", { class: "dim" }, ` ${side.nodes.length} nodes`)), this.stage, this.note);
    this.listen();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.painter.recolor();
      this.redraw();
    });
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.stage);
    this.describe(null);
  }

  /** Show a node: open what it is in, and bring it into the middle. */
  show(place: number | null): void {
    const leaf = place === null ? undefined : this.tree.leaves[place];
    this.chosen = this.cursor = leaf ?? null;
    if (leaf !== undefined) {
      if (reveal(leaf)) this.layOut();
      this.center(leaf);
    }
    this.describe(leaf ?? null);
    this.redraw();
  }

  /** All of it, as far as that can be read at all: a long graph from its start. */
  fit(): void {
    const [width, height] = this.size();
    const room = Math.max(40, width - MAP_WIDTH - 24);
    const { picture } = this.painter;
    const zoom = Math.min(1, room / Math.max(1, picture.width), Math.max(height - 24, 40) / Math.max(1, picture.height));
    // A thread of a thousand nodes tells nothing: rather some of it.
    const thread = picture.width * zoom < THREAD;
    this.window.zoom = thread ? Math.min(1, THREAD / picture.width) : zoom;
    this.window.left = (width - MAP_WIDTH - this.painter.picture.width * this.window.zoom) / 2;
    this.window.top = Math.max(12, (height - this.painter.picture.height * this.window.zoom) / 2);
    this.fitted = true;
    const box = thread && this.chosen !== null ? this.painter.boxFor(this.chosen) : null;
    if (thread) this.window.top = box === null ? 12 : height / 2 - (box.y + box.height / 2) * this.window.zoom;
    this.redraw();
  }

  openAll(open: boolean): void {
    setOpen(this.tree.root, open);
    if (!open) openFirst(this.tree.root, FIRST_SEEN);
    this.layOut();
    this.fit();
  }

  zoomBy(factor: number, x = this.size()[0] / 2, y = this.size()[1] / 2): void {
    const next = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, this.window.zoom * factor));
    // Whoever zooms further into a closed module wants to see what it holds.
    const under = factor > 1 && this.window.zoom * factor > 1.6 ? this.at(x, y) : null;
    if (under !== null && !under.open && under.part.children.length > 0) return this.toggle(under.part);
    this.window.left = x - (x - this.window.left) * (next / this.window.zoom);
    this.window.top = y - (y - this.window.top) * (next / this.window.zoom);
    this.window.zoom = next;
    this.moved();
  }

  private size(): [number, number] {
    return [this.stage.clientWidth, this.stage.clientHeight];
  }

  private resize(): void {
    const [width, height] = this.size();
    if (width === 0 || height === 0) return;
    // It may have been drawn before it was measured, so what was drawn says nothing.
    const first = this.shownSize[0] === 0;
    for (const [canvas, wide] of [[this.canvas, width], [this.map, MAP_WIDTH]] as const) {
      canvas.width = Math.round(wide * devicePixelRatio);
      canvas.height = Math.round(height * devicePixelRatio);
      canvas.style.width = `${wide}px`;
      canvas.style.height = `${height}px`;
    }
    this.painter.resized();
    if (first) {
      this.fit();
      // What was chosen before there was room to show it.
      if (this.chosen !== null) this.center(this.chosen);
    } else if (this.fitted) this.fit();
    else {
      this.window.left += (width - this.shownSize[0]) / 2;
      this.window.top += (height - this.shownSize[1]) / 2;
    }
    this.shownSize = [width, height];
    this.draw();
  }

  private layOut(): void {
    this.painter.take(layOutTree(this.tree, this.side));
  }

  private center(part: Part): void {
    const box = this.painter.picture.boxOf.get(part.id);
    const [width, height] = this.size();
    if (box === undefined || width === 0) return;
    this.fitted = false;
    this.window.zoom = Math.min(1, Math.max(this.window.zoom, 0.8));
    this.window.left = (width - MAP_WIDTH) / 2 - (box.x + box.width / 2) * this.window.zoom;
    this.window.top = height / 2 - (box.y + box.height / 2) * this.window.zoom;
    const { picture } = this.painter;
    this.window.left += settled(this.window.left, this.window.left + picture.width * this.window.zoom, width - MAP_WIDTH);
    this.window.top += settled(this.window.top, this.window.top + picture.height * this.window.zoom, height);
  }

  /** Open or close a module; it stays where it is on the screen. */
  private toggle(part: Part): void {
    const before = this.painter.picture.boxOf.get(part.id);
    part.open = !part.open;
    this.layOut();
    const after = this.painter.picture.boxOf.get(part.id);
    if (before !== undefined && after !== undefined) {
      this.window.left += (before.x + before.width / 2 - after.x - after.width / 2) * this.window.zoom;
      this.window.top += (before.y - after.y) * this.window.zoom;
    }
    this.cursor = part;
    this.describe(part);
    this.redraw();
  }

  private activate(part: Part): void {
    if (part.children.length > 0) this.toggle(part);
    else this.choose(part.place);
  }

  private listen(): void {
    let pressed: { x: number; y: number; left: number; top: number } | null = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      pressed = { x: event.clientX, y: event.clientY, left: this.window.left, top: this.window.top };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (pressed === null) {
        const under = this.under(event);
        this.canvas.style.cursor = under === null || under.part.parent === null ? "grab" : "pointer";
        this.describe(under?.part.parent === null ? this.cursor : (under?.part ?? this.cursor));
        return;
      }
      this.window.left = pressed.left + event.clientX - pressed.x;
      this.window.top = pressed.top + event.clientY - pressed.y;
      this.moved();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const clicked = pressed !== null && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 4;
      pressed = null;
      const under = clicked ? this.under(event) : null;
      if (under === null || under.part.parent === null) return;
      // Inside an open module, its head closes it; the space between its nodes does nothing.
      const [, y] = this.local(event);
      if (under.open && y - (this.window.top + under.y * this.window.zoom) > Math.max(HEADER * this.window.zoom, 14) && under.height * this.window.zoom >= BLOCK) return;
      this.activate(under.part);
    });
    this.canvas.addEventListener("pointercancel", () => (pressed = null));
    // The wheel belongs to the page unless someone means the graph.
    this.stage.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 300), ...this.local(event));
    }, { passive: false });
    const go = (event: PointerEvent): void => {
      const bounds = this.map.getBoundingClientRect();
      const [, height] = this.size();
      this.window.top = height / 2 - ((event.clientY - bounds.top) / bounds.height) * this.painter.picture.height * this.window.zoom;
      this.window.left = (this.size()[0] - MAP_WIDTH) / 2 - ((event.clientX - bounds.left) / bounds.width) * this.painter.picture.width * this.window.zoom;
      this.moved();
    };
    this.map.addEventListener("pointerdown", (event) => {
      this.map.setPointerCapture(event.pointerId);
      go(event);
    });
    this.map.addEventListener("pointermove", (event) => event.buttons > 0 && go(event));
    this.stage.addEventListener("keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    const boxes = this.painter.picture.boxes.slice(1);
    const at = boxes.findIndex((box) => box.part === this.cursor);
    const part = this.cursor;
    const step = (place: number): void => this.walk(boxes[Math.min(boxes.length - 1, Math.max(0, place))]?.part ?? null);
    const actions: Record<string, () => void> = {
      ArrowDown: () => step(at + 1),
      ArrowUp: () => step(at < 0 ? 0 : at - 1),
      Home: () => step(0),
      End: () => step(boxes.length - 1),
      ArrowRight: () => (part !== null && part.children.length > 0 && !part.open ? this.toggle(part) : step(at + 1)),
      ArrowLeft: () => (part !== null && part.open ? this.toggle(part) : part?.parent?.parent ? this.walk(part.parent) : undefined),
      Enter: () => part !== null && this.activate(part),
      " ": () => part !== null && this.activate(part),
      "+": () => this.zoomBy(1.25),
      "=": () => this.zoomBy(1.25),
      "-": () => this.zoomBy(0.8),
      "0": () => this.fit(),
    };
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  private walk(part: Part | null): void {
    if (part === null) return;
    this.cursor = part;
    const box = this.painter.picture.boxOf.get(part.id);
    const [width, height] = this.size();
    if (box !== undefined) {
      const [x, y] = [this.window.left + box.x * this.window.zoom, this.window.top + box.y * this.window.zoom];
      const seen = x >= 0 && y >= 0 && x + Math.min(box.width * this.window.zoom, 60) <= width - MAP_WIDTH && y + Math.min(box.height * this.window.zoom, 40) <= height;
      if (!seen) this.center(part);
    }
    this.describe(part);
    this.redraw();
  }

  private local(event: MouseEvent): [number, number] {
    const bounds = this.stage.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top];
  }

  private under(event: MouseEvent): Box | null {
    return this.at(...this.local(event));
  }

  /** The innermost box that is drawn at a point of the screen. */
  private at(x: number, y: number): Box | null {
    const [px, py] = [(x - this.window.left) / this.window.zoom, (y - this.window.top) / this.window.zoom];
    let found: Box | null = null;
    const boxes = this.painter.picture.boxes;
    for (let at = 0; at < boxes.length; at += 1) {
      const box = boxes[at] as Box;
      const inside = px >= box.x && py >= box.y && px <= box.x + box.width && py <= box.y + box.height;
      if (inside) found = box;
      if (!inside || this.painter.isBlock(box)) at = box.end - 1;
    }
    return found;
  }

  private describe(part: Part | null): void {
    if (part === null || part.parent === null) {
      this.note.textContent = "Click a module to open it, its head to close it. Drag to move, Ctrl and wheel to zoom.";
      return;
    }
    const place = part.place;
    const words = part.children.length > 0
      ? [`module ${part.label}`, `${part.nodes} nodes`, part.open ? "open" : "closed", this.painter.faultIn(part) === null ? "" : `finding ${this.painter.faultIn(part)} inside`]
      : [`${this.side.ops[place] ?? ""} ${this.side.nodes[place] ?? ""}`, this.side.local[place] === null || this.side.local[place] === undefined ? "" : `arises here ${figure(this.side.local[place])}`, this.marks.faulty.has(place) ? `finding ${this.marks.faulty.get(place)}` : "", this.marks.alone(place) ? "no counterpart" : "", this.marks.proven(place) ? "proven" : ""];
    const text = words.filter(Boolean).map(shown).join(" · ");
    if (this.note.textContent !== text) this.note.textContent = text;
  }

  /** The window moved away from showing all. */
  private moved(): void {
    this.fitted = false;
    this.redraw();
  }

  private redraw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const begun = performance.now();
      this.draw();
      performance.measure("whole graph drawn", { start: begun });
    });
  }

  private draw(): void {
    const ctx = this.canvas.getContext("2d");
    const [width, height] = this.size();
    if (ctx === null || width === 0) return;
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const looked = { chosen: this.chosen, cursor: this.cursor };
    const drawn = this.painter.draw(ctx, width, height, looked);
    this.painter.drawMap(this.map, height, looked);
    this.stage.dataset["parts"] = String(this.painter.picture.boxes.length - 1);
    this.stage.dataset["drawn"] = String(drawn);
    this.stage.dataset["zoom"] = this.window.zoom.toFixed(3);
    const chosen = this.chosen === null ? null : this.painter.boxFor(this.chosen);
    if (chosen === null) delete this.stage.dataset["chosenAt"];
    else this.stage.dataset["chosenAt"] = [this.window.left + (chosen.x + chosen.width / 2) * this.window.zoom, this.window.top + (chosen.y + chosen.height / 2) * this.window.zoom].map(Math.round).join(",");
  }


}
