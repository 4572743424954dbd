import "../src/style.css";
import "./diff.css";
import { h } from "../src/dom";
import type { ModelDiff, ReportDiff } from "./document";
import { modelPage } from "./model_page";
import { reportPage } from "./report_page";

type Content = ModelDiff | ReportDiff;

addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));

const text = document.getElementById("report")?.textContent ?? "";
const page = document.getElementById("page");
if (page !== null) void open(JSON.parse(text) as Content | string, page);

/** A long document comes packed, as a string. */
async function open(data: Content | string, page: HTMLElement): Promise<void> {
  try {
    draw(typeof data === "string" ? await unpacked(data) : data, page);
  } catch (error) {
    page.replaceChildren(h("p", { class: "empty", role: "alert" }, `This browser cannot show the diff: ${String(error)}`));
  }
}

function draw(data: Content, page: HTMLElement): void {
  if ("rows" in data) modelPage(data, page);
  else reportPage(data, page);
}

async function unpacked(packed: string): Promise<Content> {
  const text = atob(packed);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as Content;
}
