import "uplot/dist/uPlot.min.css";
import "./style.css";
import { h } from "./dom";
import { decoding } from "./decoding";
import { findings } from "./findings";
import { graphs } from "./graphs";
import { profile } from "./profile";
import { proofHeader, proofSection, whole } from "./proof";
import type { CloseUp, Report } from "./page_report";
import type { Proof } from "./report";
import { Selection } from "./selection";
import { alignment } from "./alignment";
import { foundations, quantization, steps, testSet } from "./tables";
import { tensors } from "./tensors";
import { outputs, pairOf, title, verdict } from "./verdict";
import { viewer } from "./viewer";

type Content = Report | Proof | { view: true } | string;
type Load = (id: string) => Promise<CloseUp>;

/** Draw one report into the page; `load` brings tensors that were left out of it. */
function draw(report: Report, page: HTMLElement, load?: Load, head: HTMLElement | null = null): void {
  document.documentElement.dataset["verdict"] = report.verdict;
  document.title = title(report);
  const selection = new Selection(report);
  // What is wrong comes before by how much; where nothing is wrong, the numbers are the answer.
  const faulty = report.findings.some((one) => one.effect !== "none");
  const answer = [findings(report, selection), outputs(report)];
  const parts = [
    ...(faulty ? answer : answer.reverse()),
    profile(report, selection),
    graphs(report, selection),
    tensors(report, selection, load),
    proofSection(report.proof),
    decoding(report),
    quantization(report),
    testSet(report),
    steps(report),
    alignment(report, selection),
    foundations(report),
  ].filter((one): one is HTMLElement => one !== null && !one.hidden);
  page.replaceChildren(...[head, verdict(report), contents(parts), ...parts].filter((one) => one !== null));
}

/** The page of a proof alone, without a report. */
function drawProof(proof: Proof, page: HTMLElement): void {
  document.documentElement.dataset["verdict"] = whole(proof) ? "equivalent" : "unknown";
  document.title = `${whole(proof) ? "Proven" : "Open"}: ${pairOf(proof.reference, proof.candidate)} · isomorph`;
  page.replaceChildren(...[proofHeader(proof), proofSection(proof)].filter((one) => one !== null));
}

const NAMES: Record<string, string> = {
  findings: "Findings",
  outputs: "Outputs",
  profile: "Profile",
  graphs: "Graphs",
  tensors: "Tensors",
  proof: "Proof",
  decoding: "Decoding",
  quantization: "Quantization",
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

// Paper cannot be clicked: what is folded away is printed too.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));

const text = document.getElementById("report")?.textContent ?? "";
const page = document.getElementById("page");
if (page !== null) void open(JSON.parse(text) as Content, page);

/** A long document comes packed, as a string. */
async function open(data: Content, page: HTMLElement): Promise<void> {
  if (typeof data === "string") {
    try {
      drawn(await unpacked(data), page);
    } catch (error) {
      page.replaceChildren(h("p", { class: "empty", role: "alert" }, `This browser cannot unpack the report: ${String(error)}. A newer one can.`));
    }
  } else if ("view" in data) void viewer(page, draw);
  else drawn(data, page);
}

function drawn(data: Report | Proof, page: HTMLElement): void {
  if ("verdict" in data) draw(data, page);
  else drawProof(data, page);
}

async function unpacked(packed: string): Promise<Report | Proof> {
  const text = atob(packed);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as Report | Proof;
}
