/** The report as its JSON spells it: NaN and the infinities are words, since JSON has none. */

export type Real = number | "nan" | "inf" | "-inf";
export type Verdict = "equivalent" | "degraded" | "divergent" | "unknown";

export interface Distance {
  elements: number;
  differing: number;
  nonfinite_mismatch: number;
  max_abs: Real | null;
  max_rel: Real | null;
  max_ulp: Real | null;
  relative_l2: Real | null;
  cosine: Real | null;
}

export interface Part {
  distance: Distance;
  budget: { derivation: string; ratio: Real | null; allowed_max: Real | null };
}

export interface Divergence {
  reference_output: string | null;
  candidate_output: string | null;
  dtype: string;
  shape: number[];
  verdict: Verdict;
  reason: string;
  observed: Part | null;
  translation: Part | null;
  rounding: Part | null;
  intended_loss: Part | null;
  execution_reference: Part | null;
  execution_candidate: Part | null;
}

export interface Experiment {
  question: string;
  change: string;
  predicts: string;
  seen: string;
  agrees: boolean;
}

export interface Finding {
  rank: number;
  code: string;
  cause: string | null;
  status: string;
  effect: string;
  summary: string;
  node: string | null;
  nodes: string[];
  tensors: string[];
  reference_nodes: string[];
  source: { module: string | null; file: string | null; line: number | null; text: string | null } | null;
  local_error: Real | null;
  inherited_error: Real | null;
  share: Real | null;
  evidence: Record<string, unknown>;
  experiments: Experiment[];
  fix: string | null;
}

export interface AxisProfile {
  axis: number;
  length: number;
  step: number;
  relative: Real[];
  input: string | null;
}

export interface CloseUp {
  /** Under which it is fetched, where what it weighs was left out. */
  id?: string;
  kind: "node" | "output";
  tensor: string;
  counterpart: string;
  dtype: string;
  shape: number[];
  node: string | null;
  max_abs: Real | null;
  relative: Real | null;
  histogram: {
    least: Real;
    most: Real;
    reference: number[];
    candidate: number[];
    reference_not_finite: number;
    candidate_not_finite: number;
  } | null;
  heat_map: {
    row_axis: number;
    column_axis: number;
    rows: number;
    columns: number;
    values: Real[][];
  } | null;
  by_axis: AxisProfile[];
  worst: { index: number[]; reference: Real; candidate: Real }[];
}

export interface GraphProfile {
  role: "reference" | "candidate";
  nodes: string[];
  ops: string[];
  tensors: string[];
  sources: number[][];
  execution: (Real | null)[];
  budget: (Real | null)[];
  counterpart: (number | null)[];
  translation: (Real | null)[];
  local: (Real | null)[];
  /** The round, from 0, on which a node inside a body was looked at; null outside of bodies. */
  rounds?: (number | null)[];
}

export interface ErrorProfile {
  origin: string;
  graphs: GraphProfile[];
  close_ups: CloseUp[];
}

export interface QuantizedTensor {
  tensor: string;
  dtype: string;
  kind: string;
  channels: number;
  scale: Real[];
  zero_point: number[];
  node: string | null;
  representable: Real[] | null;
  seen: Real[] | null;
  clipped: Real | null;
  used: Real | null;
  sqnr_db: Real | null;
  ideal_sqnr_db: Real | null;
  local_quanta: Real | null;
  gain?: Real | null;
  changed: string[];
  misread: string[];
}

export interface Environment {
  runtime: string;
  version: string;
  device: string;
  precision: string;
  threads: number | null;
  isolation: string;
  settings: Record<string, string>;
  facts: Record<string, string>;
}

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
}

export interface TestSet {
  location: string;
  samples: number;
  outputs: {
    reference_output: string;
    candidate_output: string;
    worst: string;
    worst_relative: Real | null;
    quantiles: Record<string, Real>;
    label_agreement: Real | null;
    by_axis: AxisProfile[];
  }[];
  metric: { name: string; reference: Real; candidate: Real } | null;
}

export interface Baseline {
  file: string;
  statuses: {
    output: string;
    constant?: string | null;
    state: string;
    message: string;
    accepted: { why: string; who: string; when: string; until: string | null } | null;
  }[];
}

/** Every output of the reference on every input: within its budget, beyond it, or not compared. */
export interface Coverage {
  given: number;
  generated: number;
  from_set: number;
  in_set: number;
  set_name: string | null;
  outputs: { output: string; within: number; beyond: number; not_compared: number; reasons: string[] }[];
}

export interface Alignment {
  inputs: number;
  pairs: {
    kind: string;
    reference: string[];
    candidate: string;
    transform: string;
    evidence: string[];
    inputs: number;
    rivals: number;
    confidence: string;
  }[];
  groups: { reference: string[]; candidate: string[] }[];
  unaligned_reference: { name: string; kind: string; reason: string }[];
  unaligned_candidate: { name: string; kind: string; reason: string }[];
}

/** The JSON of `isomorph fix --format json`. */
export interface Repair {
  repaired: boolean;
  reason: string;
  output: string | null;
  patches: { node: string | null; cause: string | null; summary: string; words: string[] }[];
  before: Measured[];
  after: Measured[];
}

export interface Measured {
  origin: string;
  verdict: Verdict;
  reason: string;
  outputs?: { candidate_output: string | null; times_over_budget: Real | null; relative_l2: Real | null }[];
}

export interface Report {
  repair?: Repair | null;
  schema: string;
  version: string;
  verdict: Verdict;
  reason: string;
  command: string;
  seed: number;
  draws: number;
  false_alarm: number;
  strict: boolean;
  only_given?: boolean;
  coverage?: Coverage | null;
  models: ModelSummary[];
  environments: Record<string, Environment>;
  inputs: { name: string; dtype: string; shape: number[]; origin: string; digest: string }[];
  input_bindings: { reference: string; candidate: string; how: string }[];
  output_bindings: { reference: string; candidate: string; how: string }[];
  outputs: Divergence[];
  findings: Finding[];
  quantization: QuantizedTensor[];
  test_set: TestSet | null;
  profile: ErrorProfile | null;
  alignment?: Alignment | null;
  baseline?: Baseline | null;
  skipped: { what: string; why: string }[];
  trusted: string[];
  elapsed: Record<string, Real>;
}

/** A number out of its spelling; null stays null. */
export function real(value: Real | null | undefined): number | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return value;
  return { nan: NaN, inf: Infinity, "-inf": -Infinity }[value];
}

export function model(report: Report, role: string): ModelSummary | undefined {
  return report.models.find((one) => one.role === role);
}

export function graph(report: Report, role: string): GraphProfile | undefined {
  return report.profile?.graphs.find((one) => one.role === role);
}
