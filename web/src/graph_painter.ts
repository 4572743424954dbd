/** Draws a whole graph and its map onto canvases. */

import { abridged, css, h, shown } from "./dom";
import type { Part } from "./module_tree";
import { HEADER, NODE_HEIGHT, type Box, type Line, type Picture } from "./tree_layout";
import type { GraphProfile } from "./report";

/** Below this height on the screen, in pixels, a module is drawn as one block, as if it were closed. */
export const BLOCK = 44;

export interface Marks {
  /** From 0 to 1: the error that arises at a node. */
  heat: (place: number) => number;
  /** The numbers of findings by node. */
  faulty: Map<number, number>;
  /** Nodes without a counterpart in the other graph. */
  alone: (place: number) => boolean;
  proven: (place: number) => boolean;
}

/** Where the picture lies on the screen. */
export interface Window {
  zoom: number;
  left: number;
  top: number;
}

/** The part that everybody looks at, and the one that the keyboard is at. */
export interface Looked {
  chosen: Part | null;
  cursor: Part | null;
}

interface Colors {
  ink: string; dim: string; paper: string; raised: string; sunken: string; line: string; edge: string; error: string; onError: string; chosen: string; proven: string; provenWash: string;
}

export class Painter {
  picture: Picture = { boxes: [], lines: [], boxOf: new Map(), width: 0, height: 0 };
  readonly window: Window = { zoom: 1, left: 0, top: 0 };
  private colors: Colors = readColors();
  private kept: HTMLCanvasElement | null = null;
  private readonly heats: number[] = [];
  private readonly faults: (number | null)[] = [];
  /** Whether a node, or every node inside a module, is proven. */
  private readonly proven: boolean[] = [];

  constructor(
    private readonly side: GraphProfile,
    private readonly marks: Marks,
    root: Part,
  ) {
    this.gather(root);
  }

  /** The first finding inside a part. */
  faultIn(part: Part): number | null {
    return this.faults[part.id] ?? null;
  }

  take(picture: Picture): void {
    this.picture = picture;
    this.kept = null;
  }

  recolor(): void {
    this.colors = readColors();
    this.kept = null;
  }

  resized(): void {
    this.kept = null;
  }

  /** The box of a part, or of the closed module around it. */
  boxFor(part: Part): Box | null {
    let at: Part | null = part;
    while (at !== null && !this.picture.boxOf.has(at.id)) at = at.parent;
    return at === null ? null : (this.picture.boxOf.get(at.id) ?? null);
  }

  isBlock(box: Box): boolean {
    return box.open && box.part.parent !== null && box.height * this.window.zoom < BLOCK;
  }

  /** The largest error and the first finding inside every part, by its number. */
  private gather(root: Part): void {
    const visit = (one: Part): void => {
      one.children.forEach(visit);
      const leaf = one.children.length === 0;
      this.proven[one.id] = leaf ? this.marks.proven(one.place) : one.children.every((child) => this.proven[child.id]);
      this.heats[one.id] = leaf ? this.marks.heat(one.place) : Math.max(0, ...one.children.map((child) => this.heats[child.id] ?? 0));
      const inside = leaf ? [this.marks.faulty.get(one.place) ?? null] : one.children.map((child) => this.faults[child.id] ?? null);
      const ranks = inside.filter((rank): rank is number => rank !== null);
      this.faults[one.id] = ranks.length === 0 ? null : Math.min(...ranks);
    };
    visit(root);
  }

  /** Containers first, so that lines lie over them; a block hides what it holds. */
  draw(ctx: CanvasRenderingContext2D, width: number, height: number, looked: Looked): number {
    const [seen, boxes] = [new Map<Box, boolean>(), this.picture.boxes];
    const [chosen, cursor] = [looked.chosen, looked.cursor].map((part) => (part === null ? null : this.boxFor(part)));
    for (let at = 1; at < boxes.length; at += 1) {
      const box = boxes[at] as Box;
      const [x, y, wide, tall] = this.onScreen(box);
      if (x > width || y > height || x + wide < 0 || y + tall < 0) {
        at = box.end - 1;
        continue;
      }
      const block = this.isBlock(box);
      seen.set(box, block);
      if (block) at = box.end - 1;
      this.drawBox(ctx, box, block, [x, y, wide, tall], chosen === box ? "chosen" : cursor === box ? "cursor" : "");
    }
    this.drawLines(ctx, width, height, seen);
    return seen.size;
  }

  private onScreen(box: Box): [number, number, number, number] {
    return [this.window.left + box.x * this.window.zoom, this.window.top + box.y * this.window.zoom, box.width * this.window.zoom, box.height * this.window.zoom];
  }

  private drawBox(ctx: CanvasRenderingContext2D, box: Box, block: boolean, [x, y, wide, tall]: [number, number, number, number], ring: string): void {
    const { part } = box;
    const container = box.open && !block;
    const isModule = part.children.length > 0;
    const heat = container ? 0 : (this.heats[part.id] ?? 0);
    const fault = this.faults[part.id] ?? null;
    const proven = this.proven[part.id] === true;
    const radius = Math.min(7, tall / 4);
    ctx.beginPath();
    ctx.roundRect(x, y, wide, tall, radius);
    ctx.fillStyle = container ? this.colors.paper : proven ? this.colors.provenWash : isModule ? this.colors.line : this.colors.raised;
    if (container) ctx.globalAlpha = 0.55;
    ctx.fill();
    ctx.globalAlpha = 1;
    if (heat > 0) {
      ctx.globalAlpha = heat;
      ctx.fillStyle = this.colors.error;
      ctx.fill();
      ctx.globalAlpha = 1;
    }
    ctx.lineWidth = fault !== null ? 2.2 : proven ? 1.8 : 1;
    ctx.strokeStyle = fault !== null ? this.colors.error : proven ? this.colors.proven : this.colors.edge;
    if (!isModule && this.marks.alone(part.place)) ctx.setLineDash([3, 2.5]);
    if (tall > 2) ctx.stroke();
    ctx.setLineDash([]);
    if (ring !== "") {
      ctx.beginPath();
      ctx.roundRect(x - 4, y - 4, wide + 8, tall + 8, radius + 4);
      ctx.lineWidth = 3;
      ctx.strokeStyle = this.colors.chosen;
      if (ring === "cursor") ctx.setLineDash([5, 3]);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    this.label(ctx, box, container, x, y, wide, tall, heat);
    if (fault !== null && tall > 12) this.badge(ctx, fault, x + wide, y);
  }

  private label(ctx: CanvasRenderingContext2D, box: Box, container: boolean, x: number, y: number, wide: number, tall: number, heat: number): void {
    const { part } = box;
    const isModule = part.children.length > 0;
    const scale = Math.min(1.15, Math.max(this.window.zoom, container ? 0.8 : 0));
    const letters = Math.floor((wide - 14) / (6.1 * scale));
    if (letters < 3 || (container ? HEADER * this.window.zoom < 9 : (NODE_HEIGHT * this.window.zoom < 20 && tall < 16))) return;
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, y, wide, tall);
    ctx.clip();
    ctx.textBaseline = "middle";
    ctx.fillStyle = heat > 0.55 ? this.colors.onError : this.colors.ink;
    if (container) {
      ctx.font = `600 ${11.5 * scale}px system-ui, sans-serif`;
      // The name stays in sight while the left end of a wide module is out of it.
      ctx.fillText(`▾ ${abridged(shown(part.label), Math.max(3, letters - 2))}`, Math.min(Math.max(x, 0) + 8, x + wide - 60), y + Math.max((HEADER * this.window.zoom) / 2, 8));
    } else if (isModule) {
      const size = this.isBlock(box) ? Math.min(12, tall * 0.55) : 11.5 * scale;
      const count = ` ${part.nodes}`;
      const room = Math.max(3, Math.floor((wide - 14) / (size * 0.56)) - count.length - 2);
      ctx.font = `600 ${size}px system-ui, sans-serif`;
      const text = `▸ ${this.proven[part.id] ? "✓ " : ""}${abridged(shown(part.label), room)}`;
      ctx.fillText(text, x + 8, y + tall / 2);
      const at = x + 8 + ctx.measureText(text).width;
      ctx.font = `${size}px system-ui, sans-serif`;
      ctx.globalAlpha = 0.75;
      ctx.fillText(count, at, y + tall / 2);
    } else {
      ctx.textAlign = "center";
      ctx.font = `600 ${11 * scale}px system-ui, sans-serif`;
      ctx.fillText(abridged(`${this.proven[part.id] ? "✓ " : ""}${shown(this.side.ops[part.place] ?? "")}`, letters), x + wide / 2, y + tall * 0.33);
      ctx.font = `${10 * scale}px system-ui, sans-serif`;
      ctx.fillText(abridged(shown(part.label), letters), x + wide / 2, y + tall * 0.7);
    }
    ctx.restore();
  }

  private badge(ctx: CanvasRenderingContext2D, rank: number, x: number, y: number): void {
    ctx.beginPath();
    ctx.arc(x, y, 8, 0, 2 * Math.PI);
    ctx.fillStyle = this.colors.error;
    ctx.fill();
    ctx.fillStyle = this.colors.onError;
    ctx.font = "600 10.5px system-ui, sans-serif";
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText(String(rank), x, y + 0.5);
    ctx.textAlign = "start";
  }

  private drawLines(ctx: CanvasRenderingContext2D, width: number, height: number, seen: Map<Box, boolean>): void {
    const scale = this.window.zoom;
    ctx.strokeStyle = ctx.fillStyle = this.colors.edge;
    ctx.lineWidth = Math.min(1.25, Math.max(0.5, scale));
    ctx.beginPath();
    const arrows: [number, number][] = [];
    for (const line of this.picture.lines) {
      const [x1, y1] = [this.window.left + (line.from.x + line.from.width / 2) * scale, this.window.top + (line.from.y + line.from.height) * scale];
      const [x2, y2] = [this.window.left + (line.to.x + line.to.width / 2) * scale, this.window.top + line.to.y * scale];
      if (Math.max(y1, y2) < 0 || Math.min(y1, y2) > height || Math.max(x1, x2) < -width || Math.min(x1, x2) > 2 * width) continue;
      if (Math.abs(y2 - y1) < 1.5 || this.hidden(line, seen, height)) continue;
      ctx.moveTo(x1, y1);
      if (line.around === null) {
        const bend = Math.min(Math.abs(y2 - y1) / 2, 60 * scale);
        ctx.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
      } else {
        const x = this.window.left + line.around * scale;
        const bend = 26 * scale;
        ctx.bezierCurveTo(x1, y1 + bend, x, y1, x, y1 + bend);
        ctx.lineTo(x, y2 - bend);
        ctx.bezierCurveTo(x, y2, x2, y2 - bend, x2, y2);
      }
      if (scale > 0.4) arrows.push([x2, y2]);
    }
    ctx.stroke();
    for (const [x, y] of arrows) {
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.lineTo(x - 3.5 * scale, y - 6 * scale);
      ctx.lineTo(x + 3.5 * scale, y - 6 * scale);
      ctx.fill();
    }
  }

  /** Whether both ends lie in modules that are drawn as blocks. */
  private hidden(line: Line, seen: Map<Box, boolean>, height: number): boolean {
    if (seen.has(line.from) || seen.has(line.to)) return false;
    return (line.from.height * this.window.zoom < BLOCK && line.to.height * this.window.zoom < BLOCK && this.inBlock(line.from) && this.inBlock(line.to)) || height === 0;
  }

  private inBlock(box: Box): boolean {
    for (let at = box.part.parent; at !== null && at.parent !== null; at = at.parent) {
      const around = this.picture.boxOf.get(at.id);
      if (around !== undefined && this.isBlock(around)) return true;
    }
    return false;
  }

  /** The whole graph in a strip, stretched to its size; in it, what the window shows. */
  drawMap(map: HTMLCanvasElement, height: number, looked: Looked): void {
    const ctx = map.getContext("2d");
    if (ctx === null) return;
    const [w, hh] = [map.width, map.height];
    const [sx, sy] = [w / Math.max(1, this.picture.width), hh / Math.max(1, this.picture.height)];
    if (this.kept === null) this.kept = this.drawnMap(w, hh, sx, sy);
    ctx.clearRect(0, 0, w, hh);
    ctx.drawImage(this.kept, 0, 0);
    const chosen = looked.chosen === null ? null : this.boxFor(looked.chosen);
    if (chosen !== null) {
      ctx.fillStyle = this.colors.chosen;
      ctx.fillRect(0, (chosen.y + chosen.height / 2) * sy - devicePixelRatio, w, 2 * devicePixelRatio);
    }
    const y = (-this.window.top / this.window.zoom) * sy;
    ctx.strokeStyle = this.colors.ink;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.strokeRect(1, Math.max(1, y), w - 2, Math.max(6, Math.min(hh - Math.max(1, y) - 1, (height / this.window.zoom) * sy)));
  }

  private drawnMap(w: number, hh: number, sx: number, sy: number): HTMLCanvasElement {
    const kept = h("canvas", { width: w, height: hh });
    const ctx = kept.getContext("2d");
    if (ctx === null) return kept;
    for (const box of this.picture.boxes.slice(1)) {
      const [x, y, wide, tall] = [box.x * sx, box.y * sy, Math.max(1, box.width * sx), Math.max(1, box.height * sy - 0.6)];
      ctx.globalAlpha = box.open ? 0.35 : 0.8;
      ctx.fillStyle = this.colors.edge;
      ctx.fillRect(x, y, wide, tall);
      const heat = box.open ? 0 : (this.heats[box.part.id] ?? 0);
      if (heat > 0) {
        ctx.globalAlpha = heat;
        ctx.fillStyle = this.colors.error;
        ctx.fillRect(x, y, wide, tall);
      }
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = this.colors.error;
    for (const box of this.picture.boxes.slice(1)) if (!box.open && (this.faults[box.part.id] ?? null) !== null) ctx.fillRect(0, (box.y + box.height / 2) * sy - 1.5 * devicePixelRatio, w, 3 * devicePixelRatio);
    return kept;
  }
}

function readColors(): Colors {
  const [ink, dim, paper, raised, sunken, line, edge, error, onError, chosen, proven, provenWash] = ["--ink", "--dim", "--paper", "--raised", "--sunken", "--line", "--edge", "--translation", "--on-accent", "--reference", "--proven", "--proven-wash"].map(css);
  return { ink, dim, paper, raised, sunken, line, edge, error, onError, chosen, proven, provenWash } as Colors;
}
