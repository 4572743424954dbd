// Generated from the dataclasses of the diffs by `python docs/generate.py`.

/** A number; NaN and the infinities are spelled, since JSON has none. */
export type Real = number | "nan" | "inf" | "-inf";

export type ModelForm = "file" | "live object" | "trace";

export type Relation = "matched" | "changed" | "regrouped" | "conversion" | "added" | "removed" | "moved";

export type ChangeKind = "operator" | "attribute" | "constant" | "type" | "shape" | "input";

export type ReportSection = "profile" | "quantization";

export type Verdict = "equivalent" | "degraded" | "divergent" | "unknown";

export type Presence = "new" | "gone" | "changed" | "same";

export type FindingStatus = "suspected" | "confirmed" | "refuted";

/** What differs between two models, and which nodes correspond; neither was run. */
export interface ModelDiff {
  reference: ModelSummary;
  candidate: ModelSummary;
  /** Whether everything was compared, and nothing differs but names, versions and producers. */
  same: boolean;
  /** Rows by relation. */
  counts: Record<string, number>;
  inputs: SpecPair[];
  outputs: SpecPair[];
  opsets: OpsetPair[];
  quantization: QuantizationPair[];
  /** In the order in which the reference computes, what only the candidate has in its place. */
  rows: DiffRow[];
  /** Limits that were hit. */
  skipped: Skipped[];
  version: string;
  schema: string;
}

/** What the report keeps of a model. */
export interface ModelSummary {
  role: string;
  location: string;
  framework: string;
  digest: string;
  nodes: number;
  constants: number;
  producer: string;
  opset: Record<string, number>;
  notes: string[];
  form: ModelForm;
}

/** An input or output on both sides, with the fields that differ; None where it is missing. */
export interface SpecPair {
  kind: string;
  reference: TensorSpec | null;
  candidate: TensorSpec | null;
  /** How the two were paired. */
  how: string;
  changed: string[];
}

/** What is declared of one tensor. */
export interface TensorSpec {
  name: string;
  dtype: string | null;
  shape: (number | string | null)[] | null;
  kind: string;
}

/** The version of one operator set on both sides; None where a side does not import it. */
export interface OpsetPair {
  domain: string;
  reference: number | null;
  candidate: number | null;
}

/** A quantized tensor on both sides, with the parameters that the conversion changed. */
export interface QuantizationPair {
  reference: Quantization | null;
  candidate: Quantization | null;
  changed: string[];
}

/** How the integers of a tensor stand for real numbers. */
export interface Quantization {
  tensor: string;
  dtype: string;
  scale: Real[];
  zero_point: number[];
  axis: number | null;
  block: number;
  scales: string;
}

/** Corresponding nodes of the two sides, or nodes that only one side has. */
export interface DiffRow {
  relation: Relation;
  reference: DiffNode[];
  candidate: DiffNode[];
  changes: NodeChange[];
  /** Constants of either side that were compared with nothing: they may or may not differ. */
  uncompared: string[];
  /** False for a group whose attributes and single numbers have no counterpart to compare with. */
  attributes_compared: boolean;
  /** Whether the names differ, which is no change. */
  renamed: boolean;
}

/** One node as a diff shows it; ``name`` of a node in a body is its path, ``loop/body/relu``. */
export interface DiffNode {
  name: string;
  op: string;
  native_op: string;
  /** The nodes and inputs of the model that it reads, by name; without constants. */
  reads: string[];
  outputs: TensorSpec[];
  /** The stored constants that it reads, by name. */
  constants: string[];
  source: Source | null;
}

/** Where in the user's program a node came from, as far as the exporter left it. */
export interface Source {
  module: string | null;
  file: string | null;
  line: number | null;
  text: string | null;
}

/** One thing that differs, with both sides as text for people. */
export interface NodeChange {
  kind: ChangeKind;
  /** The attribute, the constant, the output or the place of the input. */
  name: string;
  reference: string;
  candidate: string;
  /** How the values of a constant differ, where they were compared. */
  detail: string;
}

/** What was not done, and why. */
export interface Skipped {
  what: string;
  why: string;
  /** The section of the report in which this is missing, where it is one section alone. */
  section: ReportSection | null;
}

/** What changed between two reports. */
export interface ReportDiff {
  before: ReportSide;
  after: ReportSide;
  /** Whether nothing but the cost differs. */
  same: boolean;
  outputs: OutputChange[];
  findings: FindingChange[];
  /** Files, digests, producers and sizes that differ. */
  models: FactChange[];
  /** Versions, settings and facts of runtimes that differ. */
  environments: FactChange[];
  /** What the checks were asked, where that differs. */
  questions: FactChange[];
  cost: CostChange[];
  version: string;
  schema: string;
}

/** What one of the two reports says as a whole. */
export interface ReportSide {
  /** The file of the report. */
  location: string;
  pair: string;
  verdict: Verdict;
  headline: string;
  reason: string;
  version: string;
}

/** An output in both reports. */
export interface OutputChange {
  output: string;
  presence: Presence;
  verdict_before: Verdict | null;
  verdict_after: Verdict | null;
  errors: ErrorChange[];
}

/** One of the errors of an output in both reports: its size, and its share of the budget. */
export interface ErrorChange {
  term: string;
  error_before: Real | null;
  error_after: Real | null;
  /** Of the error to its budget; at most 1 is within. */
  ratio_before: Real | null;
  ratio_after: Real | null;
}

/** A finding in both reports, known by its code, its cause and its node. */
export interface FindingChange {
  presence: Presence;
  code: string;
  cause: string | null;
  node: string | null;
  /** Of the second report, where it has the finding. */
  summary: string;
  status_before: FindingStatus | null;
  status_after: FindingStatus | null;
  /** The error of the node itself. */
  error_before: Real | null;
  error_after: Real | null;
}

/** A fact with another value in each report; None where a report does not state it. */
export interface FactChange {
  /** The model or the environment that it is about. */
  of: string;
  name: string;
  before: string | null;
  after: string | null;
}

/** The seconds of a phase in both reports; ``total`` is the whole command. */
export interface CostChange {
  phase: string;
  before: Real | null;
  after: Real | null;
}
