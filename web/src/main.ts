import "uplot/dist/uPlot.min.css";
import "./style.css";
import { h } from "./dom";
import { findings } from "./findings";
import { profile } from "./profile";
import type { Report } from "./report";
import { Selection } from "./selection";
import { slices } from "./slices";
import { alignment } from "./alignment";
import { foundations, quantization, steps, testSet } from "./tables";
import { tensors } from "./tensors";
import { verdict } from "./verdict";

/** Draw one report into the page. */
export function draw(report: Report, page: HTMLElement): void {
  document.documentElement.dataset["verdict"] = report.verdict;
  document.title = `${report.verdict} · isomorph`;
  const selection = new Selection(report);
  const parts = [
    findings(report, selection),
    profile(report, selection),
    slices(report, selection),
    tensors(report, selection),
    quantization(report),
    testSet(report),
    steps(report),
    alignment(report, selection),
    foundations(report),
  ].filter((one): one is HTMLElement => one !== null && !one.hidden);
  page.replaceChildren(verdict(report), contents(parts), ...parts);
}

const NAMES: Record<string, string> = {
  findings: "Findings",
  profile: "Profile",
  graphs: "Graphs",
  tensors: "Tensors",
  quantisation: "Quantisation",
  "test-set": "Test set",
  steps: "Time steps",
  alignment: "Alignment",
  foundations: "Environments and inputs",
};

function contents(parts: HTMLElement[]): HTMLElement {
  return h(
    "nav",
    { "aria-label": "Contents" },
    ...parts.map((part) => h("a", { href: `#${part.id}` }, NAMES[part.id] ?? part.id)),
  );
}

const text = document.getElementById("report")?.textContent ?? "";
const page = document.getElementById("page");
if (page !== null) draw(JSON.parse(text) as Report, page);
