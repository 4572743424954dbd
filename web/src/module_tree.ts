/** A graph as a tree of its modules: by the modules of the user's program, or by the scopes in names. */

import type { GraphProfile } from "./report";

export interface Part {
  /** Its place among all parts. */
  id: number;
  label: string;
  /** The whole path of a module; empty for a node. */
  path: string;
  parent: Part | null;
  depth: number;
  /** The place of a node; of a module, that of its first node. */
  place: number;
  /** How many nodes are inside; 0 for a node. */
  nodes: number;
  children: Part[];
  /** Pairs of children, by their place among the children: from one to a later one. */
  edges: [number, number][];
  open: boolean;
}

export interface Tree {
  root: Part;
  /** The part of each node. */
  leaves: Part[];
}

/** More children than this become groups of consecutive ones. */
const MOST_CHILDREN = 64;

const ARRAY = /^(?:body|branch|then|else)#?\d*$/;

export function moduleTree(side: GraphProfile): Tree {
  const root = part("", "", null, 0);
  const leaves: Part[] = [];
  const modules = new Map<string, Part>([["", root]]);
  const paths = pathsOf(side);
  side.nodes.forEach((name, place) => {
    const steps = paths[place] ?? [];
    let at = root;
    let path = "";
    for (const step of steps) {
      path = path === "" ? step : `${path}/${step}`;
      let next = modules.get(path);
      if (next === undefined) {
        next = part(step, path, at, place);
        modules.set(path, next);
        at.children.push(next);
      }
      at = next;
    }
    const leaf = part(name, "", at, place);
    at.children.push(leaf);
    leaves.push(leaf);
  });
  shortened(root);
  grouped(root);
  number(root, null, { next: 0 });
  connect(side, leaves);
  return { root, leaves };
}

function part(label: string, path: string, parent: Part | null, place: number): Part {
  return { id: 0, label, path, parent, depth: 0, place, nodes: 0, children: [], edges: [], open: false };
}

function isModule(one: Part): boolean {
  return one.children.length > 0;
}

/** The modules around every node. Names tell them where no node of the graph has a module. */
function pathsOf(side: GraphProfile): string[][] {
  const known = side.modules ?? [];
  if (!known.some((one) => one !== "")) return side.nodes.map(scopes);
  const before: string[] = [];
  known.forEach((one, place) => before.push(one !== "" ? one : (before[place - 1] ?? "")));
  const after: string[] = [];
  for (let place = known.length - 1; place >= 0; place -= 1) after[place] = known[place] || (after[place + 1] ?? "");
  return known.map((one, place) => {
    // A node that a converter added between two of a module belongs to it.
    const own = one !== "" ? one : before[place] === after[place] ? (before[place] ?? "") : "";
    return own.split(own.includes("/") ? "/" : ".").filter((step) => step !== "");
  });
}

function scopes(name: string): string[] {
  return name.split("/").slice(0, -1).filter((step) => step !== "");
}

/** A module that holds one part alone stands for nothing of its own. */
function shortened(one: Part): void {
  one.children = one.children.map((child) => {
    let inner = child;
    while (inner.children.length === 1 && inner.children[0] !== undefined) {
      const only = inner.children[0];
      if (isModule(only)) only.label = `${inner.label}${ARRAY.test(only.label) ? "/" : "."}${only.label}`;
      inner = only;
    }
    return inner;
  });
  one.children.filter(isModule).forEach(shortened);
  if (one.parent === null && one.children.length === 1 && one.children[0] !== undefined && isModule(one.children[0])) one.children = one.children[0].children;
}

function grouped(one: Part): void {
  one.children.filter(isModule).forEach(grouped);
  const count = one.children.length;
  if (count <= MOST_CHILDREN) return;
  const size = Math.max(16, Math.ceil(Math.sqrt(count)));
  const groups: Part[] = [];
  for (let from = 0; from < count; from += size) {
    const members = one.children.slice(from, from + size);
    const first = members[0];
    const last = members.at(-1);
    if (first === undefined || last === undefined) continue;
    const group = part(`nodes ${first.place + 1}–${lastPlace(last) + 1}`, `${one.path}#${from}`, one, first.place);
    group.children = members;
    groups.push(group);
  }
  one.children = groups;
}

function lastPlace(one: Part): number {
  return one.children.reduce((most, child) => Math.max(most, lastPlace(child)), one.place);
}

function number(one: Part, parent: Part | null, counter: { next: number }): number {
  one.id = counter.next;
  counter.next += 1;
  one.parent = parent;
  one.depth = parent === null ? 0 : parent.depth + 1;
  one.children.sort((a, b) => a.place - b.place);
  one.nodes = one.children.reduce((sum, child) => sum + Math.max(1, number(child, one, counter)), 0);
  return one.nodes;
}

/** Every edge of the graph, between the two children of the innermost module that holds both ends. */
function connect(side: GraphProfile, leaves: Part[]): void {
  const placeIn = new Map<Part, number>();
  const index = (one: Part): void => {
    one.children.forEach((child, at) => {
      placeIn.set(child, at);
      index(child);
    });
  };
  const root = rootOf(leaves[0]);
  if (root === null) return;
  index(root);
  const seen = new Map<Part, Set<number>>();
  side.sources.forEach((sources, place) => {
    for (const source of sources) {
      let [a, b] = [leaves[source], leaves[place]];
      while (a !== undefined && b !== undefined && a.parent !== b.parent) {
        if (a.depth >= b.depth) a = a.parent ?? undefined;
        else b = b.parent ?? undefined;
      }
      if (a === undefined || b === undefined || a === b || a.parent === null) continue;
      const [from, to] = [placeIn.get(a) ?? 0, placeIn.get(b) ?? 0];
      // Of a module that is entered twice, the way back is no order to lay out.
      if (from >= to) continue;
      const known = seen.get(a.parent) ?? new Set<number>();
      seen.set(a.parent, known);
      const key = from * a.parent.children.length + to;
      if (!known.has(key)) a.parent.edges.push([from, to]);
      known.add(key);
    }
  });
}

function rootOf(one: Part | undefined): Part | null {
  let at = one ?? null;
  while (at !== null && at.parent !== null) at = at.parent;
  return at;
}

/** Opens modules from the outside in, as long as few parts are seen. */
export function openFirst(root: Part, most: number): void {
  root.open = true;
  let seen = root.children.length;
  const waiting = root.children.filter(isModule);
  while (waiting.length > 0) {
    const one = waiting.shift() as Part;
    if (seen - 1 + one.children.length > most) continue;
    seen += one.children.length - 1;
    one.open = true;
    waiting.push(...one.children.filter(isModule));
  }
}

/** Opens everything around a part, so that it is seen. */
export function reveal(one: Part): boolean {
  let changed = false;
  for (let at = one.parent; at !== null; at = at.parent) {
    changed ||= !at.open;
    at.open = true;
  }
  return changed;
}

export function setOpen(one: Part, open: boolean): void {
  if (isModule(one)) one.open = open || one.parent === null;
  one.children.forEach((child) => setOpen(child, open));
}
