// Generated from the dataclasses of the report and of the repair by `python docs/generate.py`.

/** A number; NaN and the infinities are spelled, since JSON has none. */
export type Real = number | "nan" | "inf" | "-inf";

export type Verdict = "equivalent" | "degraded" | "divergent" | "unknown";

export type ModelForm = "file" | "live object" | "trace";

export type InputKind = "given" | "generated" | "test set" | "decoding step";

export type BoundBy = "name" | "similar name" | "its number in the signature" | "position" | "only pair of this type and shape" | "the only one left" | "shape and value" | "role in decoding" | "stated by the user";

export type DivergenceKind = "values" | "shape" | "missing";

export type FindingStatus = "suspected" | "confirmed" | "refuted";

export type FindingEffect = "reaches_output" | "below_rounding" | "latent" | "none";

export type Confidence = "certain" | "likely" | "possible";

export type Start = "empty caches" | "buffers of zeros" | "generated caches" | "given caches" | "no caches";

export type CachedBy = "stated by the user" | "names" | "data flow" | "order and shapes";

export type TokenJudgment = "same" | "tie" | "within the intended loss" | "wrong" | "not judged";

export type Standing = "proven" | "tested" | "open";

export type Reason = "no meaning" | "unexplained constant" | "different identity" | "domain" | "interface" | "measured";

export type BaselineState = "new" | "unchanged" | "worse" | "expired" | "fixed";

export type ReportSection = "profile" | "quantization";

export type FileRole = "inputs" | "data" | "state";

/** The verdict of a check and everything that it is based on. */
export interface Report {
  verdict: Verdict;
  reason: string;
  command: string;
  seed: number;
  draws: number;
  /** The probability per output that sets the thresholds. */
  false_alarm: number;
  strict: boolean;
  /** Whether the question was restricted to the given inputs. */
  only_given: boolean;
  /** Whether only outputs were compared, on few inputs, and nothing was searched for. */
  quick: boolean;
  /** Whether the graphs alone were asked about, where this machine cannot run a model. */
  translation_only: boolean;
  /** Models that this machine cannot run. */
  not_run: NotRun[];
  /** What the graphs amount to where a model was not run; null where every model was run. */
  translation: Verdict | null;
  models: ModelSummary[];
  environments: Record<string, Environment>;
  inputs: InputSummary[];
  input_bindings: Binding[];
  output_bindings: Binding[];
  outputs: Divergence[];
  /** What the verdict covers; equivalent and degraded come with a complete one only. */
  coverage: Coverage | null;
  findings: Finding[];
  /** Null where the two graphs were not looked at tensor by tensor. */
  alignment: Alignment | null;
  /** Worst first. */
  quantization: QuantizedTensor[];
  test_set: OverSamples | null;
  /** Token by token; null where it was not asked for. */
  decoding: Decoding | null;
  /** The error node by node; null where it was not asked for. */
  profile: ErrorProfile | null;
  /** What is proven for every input of these shapes; null where no proof was asked for. */
  proof: Proof | null;
  /** The pair's name in the project file, or the two locations. */
  pair: string;
  baseline: Baseline | null;
  skipped: Skipped[];
  trusted: string[];
  /** What the check was asked, so that a repair can repeat it. */
  request: CheckRequest | null;
  /** Seconds by phase, without the loading of the models. */
  elapsed: Record<string, Real>;
  /** The time of the whole command. */
  cost: Cost | null;
  version: string;
  schema: string;
  /** Of the names of fields; a report without it is of revision 1. */
  revision: number;
}

/** A model that this machine cannot run, so that its graph alone was judged. */
export interface NotRun {
  role: string;
  runtime: string;
  why: string;
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

/** All that a run depends on besides model and inputs. Equal ones give equal traces. */
export interface Environment {
  runtime: string;
  version: string;
  device: string;
  precision: string;
  threads: number | null;
  isolation: string;
  /** The words of --set, completed with the defaults. */
  settings: Record<string, string>;
  /** What the runtime answered about itself. */
  facts: Record<string, string>;
  /** The Python executable of another environment that it ran in; empty for isomorph's own. */
  interpreter: string;
}

/** One input as it was fed: where it came from and what it looked like. */
export interface InputSummary {
  name: string;
  dtype: string;
  shape: number[];
  /** Where it came from, for people. */
  origin: string;
  digest: string;
  kind: InputKind;
}

/** Which name on one side belongs to which on the other, and how that is known. */
export interface Binding {
  reference: string;
  candidate: string;
  how: BoundBy;
}

/** Everything measured at one pair of outputs. */
export interface Divergence {
  reference_output: string | null;
  candidate_output: string | null;
  dtype: string;
  shape: number[];
  verdict: Verdict;
  reason: string;
  kind: DivergenceKind;
  /** Run against run. */
  observed: ErrorTerm | null;
  /** Oracle against oracle, judged by the allowance. */
  translation: ErrorTerm | null;
  /** The translation error, judged by the rounding budget. */
  rounding: ErrorTerm | null;
  /** Judged by what the candidate's quantizers intend. */
  intended_loss: ErrorTerm | null;
  /** The reference's run against its own oracle. */
  execution_reference: ErrorTerm | null;
  /** The candidate's run against its own oracle. */
  execution_candidate: ErrorTerm | null;
}

/** One of the three errors between a reference and a candidate, at one output. */
export interface ErrorTerm {
  distance: Distance;
  budget: Budget;
}

/** How far ``actual`` is from ``expected``; None where a measure is undefined. */
export interface Distance {
  elements: number;
  /** Elements that are finite on both sides. */
  compared: number;
  differing: number;
  nonfinite_mismatch: number;
  signed_zero_mismatch: number;
  max_abs: Real | null;
  max_rel: Real | null;
  max_ulp: Real | null;
  rms: Real | null;
  relative_l2: Real | null;
  sqnr_db: Real | null;
  cosine: Real | null;
  argmax_agreement: Real | null;
  worst_index: number[] | null;
}

/** The largest distance that is explained, relative to each element's own spread. */
export interface Budget {
  derivation: string;
  ratio: Real | null;
  allowed_max: Real | null;
  allowed_rms: Real | null;
  threshold: Real | null;
  draws: number;
  /** How many independent draws the deviations are worth; null where they are exact. */
  freedom: Real | null;
  /** Elements whose value no draw reached, where draws usually leave some. */
  uncovered: number;
  /** Elements that differ within a budget larger than any value of the tensor. */
  blind: number;
  /** Whether it is from a part of the noise (last nodes, or float64): the true one is larger. */
  lower_bound: boolean;
  /** Whether it holds the rounding of the float64 evaluations alone, not the allowance. */
  float64_rounding: boolean;
}

/** The totals of a ledger. */
export interface Coverage {
  /** Given inputs on which every output was compared. */
  given: number;
  /** Generated inputs on which every output was compared. */
  generated: number;
  /** Samples of the test set on which every output was compared. */
  from_set: number;
  /** Steps of decoding on which every output was compared. */
  decoded: number;
  /** Samples that the test set has. */
  in_set: number;
  set_name: string | null;
  /** All inputs that were tried. */
  inputs: number;
  /** Elements that were compared. */
  values: number;
  outputs: OutputCoverage[];
}

/** One output of the reference, or one element of it, over all inputs. */
export interface OutputCoverage {
  output: string;
  within: number;
  beyond: number;
  not_compared: number;
  /** Why inputs were not compared. */
  reasons: string[];
  /** Whether all of its values are NaN or infinite on every input: nothing was compared. */
  never_finite: boolean;
}

/** One thing a user should know, with its evidence. */
export interface Finding {
  /** 1 matters most. */
  rank: number;
  code: string;
  cause: string | null;
  status: FindingStatus;
  effect: FindingEffect;
  summary: string;
  node: string | null;
  nodes: string[];
  tensors: string[];
  reference_nodes: string[];
  source: Source | null;
  local_error: Real | null;
  inherited_error: Real | null;
  share: Real | null;
  evidence: Record<string, unknown>;
  experiments: Experiment[];
  fix: string | null;
  /** The summary in parts, where it is about one place. */
  statement: Statement | null;
  /** The likeliest causes, best first. */
  causes: string[];
  /** The located faults of the node; empty where it was not found by localization. */
  faults: FaultRecord[];
}

/** Where in the user's program a node came from, as far as the exporter left it. */
export interface Source {
  module: string | null;
  file: string | null;
  line: number | null;
  text: string | null;
}

/** Exactly one change, with the prediction written down before it ran, and what was seen. */
export interface Experiment {
  question: string;
  change: string;
  predicts: string;
  seen: string;
  agrees: boolean;
}

/** The parts of a sentence; its text puts the cause first. */
export interface Statement {
  /** The node, and where it differs in name its counterpart. */
  place: string;
  /** What was measured there. */
  observed: string;
  /** What is wrong with it; empty where that is not known. */
  cause: string;
  /** What holds beyond this place. */
  remark: string;
}

/** A located fault by names, so that its values can be computed again without a search. */
export interface FaultRecord {
  node: string;
  nodes: string[];
  tensor: string;
  counterpart: string;
  reference_nodes: string[];
  permutation: number[];
  shape: number[];
  permuted: boolean;
  place: number;
  count: number;
}

/** The pairing of the tensors of two graphs. */
export interface Alignment {
  /** How many inputs it was looked at on. */
  inputs: number;
  pairs: Pair[];
  groups: Group[];
  unaligned_reference: Unaligned[];
  unaligned_candidate: Unaligned[];
}

/** A tensor of the candidate and what it is made of in the reference. */
export interface Pair {
  kind: "input" | "tensor" | "constant" | "body";
  reference: string[];
  candidate: string;
  /** How the reference's becomes the candidate's, for people. */
  transform: string;
  /** Of the reference's axes; empty where none moves. */
  permutation: number[];
  /** After the permutation; empty where it stays. */
  shape: number[];
  evidence: ("value" | "substitution" | "structure" | "provenance")[];
  /** The inputs on which the values agreed. */
  inputs: number;
  /** Other tensors of the reference with the same values. */
  rivals: number;
  confidence: Confidence;
}

/** Nodes that do together, on one side, what these do on the other. */
export interface Group {
  reference: string[];
  candidate: string[];
}

/** A tensor or constant without a counterpart, and why it has none. */
export interface Unaligned {
  name: string;
  kind: "input" | "tensor" | "constant" | "body";
  reason: string;
}

/** A row of the quantization table; None where something could not be measured. */
export interface QuantizedTensor {
  tensor: string;
  dtype: string;
  kind: "weight" | "activation" | "dynamic";
  channels: number;
  /** The smallest and the largest of the channels. */
  scale: [Real, Real];
  zero_point: [number, number];
  axis: number | null;
  node: string | null;
  representable: [Real, Real] | null;
  /** The values before the quantizer. */
  seen: [Real, Real] | null;
  /** Share of the values beyond the range. */
  clipped: Real | null;
  /** Share cut at an end that is zero, as a ReLU does. */
  rectified: Real | null;
  /** Share of the range that the values fill. */
  used: Real | null;
  sqnr_db: Real | null;
  /** Of a min/max quantizer of this width and granularity. */
  ideal_sqnr_db: Real | null;
  /** Steps between the runtime and float64 on the same quantized operands. */
  local_quanta: Real | null;
  /** The share of the outputs' error that goes if this tensor alone stays in float. */
  gain: Real | null;
  /** What the reference's weight was multiplied by before it was quantized, where that is one number other than 1 for all of it. */
  factor: Real | null;
  counterpart: string | null;
  /** Parameters that the conversion changed. */
  changed: string[];
  /** Parameters in which a reader differs from the writer. */
  misread: string[];
}

/** A whole test set; ``examined`` are the samples that the full check was made on. */
export interface OverSamples {
  location: string;
  samples: number;
  outputs: OutputOverSamples[];
  metric: MetricOverSamples | null;
  /** The samples that the full check was made on. */
  examined: string[];
}

/** One pair of outputs, run against run, over all samples. */
export interface OutputOverSamples {
  reference_output: string;
  candidate_output: string;
  samples: number;
  worst: string;
  worst_absolute: Real | null;
  worst_relative: Real | null;
  /** By the budget derived on the worst sample. */
  worst_ratio: Real | null;
  /** Of the relative error, by probability. */
  quantiles: Record<string, Real>;
  label_agreement: Real | null;
  not_finite: number;
  nonfinite_mismatch: number;
  misshapen: number;
  by_axis: AxisProfile[];
}

/** The relative error at each index of one axis of an output, over all samples. */
export interface AxisProfile {
  axis: number;
  length: number;
  relative: Real[];
  step: number;
  input: string | null;
}

/** The user's own metric, averaged over the samples, on both sides. */
export interface MetricOverSamples {
  name: string;
  samples: number;
  reference: Real;
  candidate: Real;
}

/** A prompt and the tokens decoded after it, step by step. */
export interface Decoding {
  /** The tokens of each row. */
  prompt: number[][];
  start: Start;
  reference_caches: CachePair[];
  candidate_caches: CachePair[];
  steps: DecodingStep[];
  caches: CacheErrors[];
  own: OwnDecoding;
  /** The place, in the list of caches, of the first that is wrong: by step, then by layer. */
  first_wrong_cache: number | null;
}

/** An input of a model that takes what one of its outputs returned at the step before. */
export interface CachePair {
  input: string;
  output: string;
  axis: number;
  /** Its place in the order of layers. */
  layer: number;
  /** What it holds, as far as its name tells: ``key``, ``value``, ``encoder key``. */
  part: string;
  how: CachedBy;
}

/** One step: the candidate on the reference's caches and tokens. */
export interface DecodingStep {
  number: number;
  /** Positions in the caches before the step. */
  cached: number;
  /** Tokens that the step took. */
  tokens: number;
  /** Of the logits; null where they were not compared. */
  verdict: Verdict | null;
  /** The largest difference of two logits, run against run. */
  error: Real | null;
  /** The same error by its budget, where it is largest. */
  ratio: Real | null;
  choices: TokenChoice[];
  /** The share of the reference's few largest logits that are among the candidate's. */
  top_k: number | null;
}

/** The token of the largest logit, on both sides, in one row of the batch. */
export interface TokenChoice {
  row: number;
  reference: number;
  candidate: number;
  judgment: TokenJudgment;
  margin: Real;
  allowed: Real | null;
}

/** One cache over all steps, on the reference's caches and tokens. */
export interface CacheErrors {
  /** The name of the output. */
  reference: string;
  candidate: string;
  layer: number;
  part: string;
  verdicts: (Verdict | null)[];
  /** The largest difference at each step, run against run. */
  errors: (Real | null)[];
  /** The same errors by their budgets. */
  ratios: (Real | null)[];
  /** The place of the first step, in the list of steps, at which it is beyond its budget. */
  first_wrong: number | null;
}

/** Each side on its own caches and its own tokens: greedy decoding as it is deployed. */
export interface OwnDecoding {
  /** The tokens that each row decoded. */
  reference: number[][];
  candidate: number[][];
  /** Why the candidate did not decode as many. */
  failure: string;
  /** Which decoded token, counted from 1, is the first that differs in a row. */
  first_different: number | null;
  /** That token. */
  choice: TokenChoice | null;
}

/** Both graphs and the tensors worth a look, all on one sample. */
export interface ErrorProfile {
  origin: string;
  graphs: GraphProfile[];
  close_ups: CloseUp[];
}

/** One side, node by node; every distance is relative to the size of the tensor (rms). */
export interface GraphProfile {
  role: string;
  nodes: string[];
  ops: string[];
  tensors: string[];
  /** Places of the nodes whose outputs a node reads. */
  sources: number[][];
  /** The run against its own oracle. */
  execution: (Real | null)[];
  /** What rounding explains. */
  budget: (Real | null)[];
  /** Places in the other graph. */
  counterpart: (number | null)[];
  /** This oracle against the other side's. */
  translation: (Real | null)[];
  /** What is left of the translation when everything before is right. */
  local: (Real | null)[];
  /** The round, from 0, on which a node inside a body was looked at; null outside of bodies. */
  rounds: (number | null)[];
  /** What rounding explains of a run in another float type than the file's; empty otherwise. */
  run_budget: (Real | null)[];
  /** The module of each node, as ``layers.2.norm``; empty where the exporter left none. */
  modules: string[];
}

/** One tensor of both sides, in the candidate's arrangement of axes. */
export interface CloseUp {
  kind: "node" | "output";
  tensor: string;
  counterpart: string;
  dtype: string;
  shape: number[];
  node: string | null;
  max_abs: Real | null;
  relative: Real | null;
  histogram: Histogram | null;
  heat_map: HeatMap | null;
  by_axis: AxisProfile[];
  worst: Element[];
}

/** How often values fall into equal parts of ``least`` … ``most``, on both sides. */
export interface Histogram {
  least: Real;
  most: Real;
  reference: number[];
  candidate: number[];
  reference_not_finite: number;
  candidate_not_finite: number;
}

/** The largest |difference| over two axes; a long axis in groups of neighbors. */
export interface HeatMap {
  row_axis: number;
  column_axis: number;
  rows: number;
  columns: number;
  values: Real[][];
}

/** One element of a tensor, on both sides. */
export interface Element {
  index: number[];
  reference: Real;
  candidate: Real;
}

/** What is proven of a pair; ``chance`` bounds the probability that a wrong equality passed. */
export interface Proof {
  reference: string;
  candidate: string;
  outputs: OutputProof[];
  nodes: NodeProof[];
  /** Bounds the probability that a wrong equality passed. */
  chance: Real;
  /** Of primes, elements and hashes; ``isomorph prove --seed`` repeats the proof. */
  seed: number;
  assumptions: Assumptions;
  /** The dynamic axes of the reference's inputs. */
  axes: AxisProof[];
  /** Outputs of the reference that are proven and whose graphs a check measured to differ on inputs of these shapes: a defect of isomorph. */
  contradicted: string[];
  seconds: Real;
  version: string;
  schema: string;
}

/** One pair of outputs. */
export interface OutputProof {
  reference: string;
  candidate: string;
  standing: Standing;
  /** Why it is not proven. */
  open: OpenReason | null;
}

/** Why an output is not proven, and the node at which the proof ended. */
export interface OpenReason {
  reason: Reason;
  node: string;
  op: string;
  details: string;
  /** ``reference`` or ``candidate``, where it is stated whose node it is. */
  side: string;
}

/** One node of a side; ``equal_to`` is a tensor of the other side, where there is one. */
export interface NodeProof {
  side: string;
  node: string;
  op: string;
  standing: Standing;
  /** A tensor of the other side that is proven equal; empty where there is none. */
  equal_to: string;
  /** Why it is not proven, where that is known of this node. */
  open: OpenReason | null;
}

/** What a proof rests on. */
export interface Assumptions {
  shapes: Record<string, number[]>;
  /** How far a constant of the candidate is off the expression that it stands for, relatively. */
  largest_rounding: Real;
  rerounded: Rerounded[];
  arithmetic: string;
  /** Whether weights of a softmax that are smaller than every number of every IEEE 754 type, for every input, count as zero: so does a mask of -3e38 hide what minus infinity hides. */
  vanishing: boolean;
}

/** A constant of the candidate that stands for an expression of the reference's constants. */
export interface Rerounded {
  constant: string;
  expression: string;
  relative: Real;
}

/** A dynamic axis of the inputs, and whether what is proven holds for every size of it. */
export interface AxisProof {
  /** As the reference names it, or the input with the number of the axis. */
  name: string;
  /** The axes that have this size. */
  places: AxisPlace[];
  /** The size that was tried. */
  size: number;
  /** Whether every output that is proven is so for every size from ``least`` on. */
  every_size: boolean;
  /** The least size that ``every_size`` is about. */
  least: number;
  /** Whether ``every_size`` holds with the other dynamic axes as they were tried. */
  alone: boolean;
  /** Why only the size that was tried is proven, and the node that ended the proof for others. */
  open: OpenReason | null;
}

/** One axis of one input of the reference. */
export interface AxisPlace {
  input: string;
  axis: number;
}

/** The file of what was accepted, as far as it concerns one pair, and each entry's status. */
export interface Baseline {
  file: string;
  statuses: BaselineStatus[];
}

/** One output, or one constant or node that differs by itself, against the baseline. */
export interface BaselineStatus {
  output: string;
  state: BaselineState;
  message: string;
  accepted: Accepted | null;
  constant: string | null;
  node: string | null;
}

/** One output, constant or node that is known to differ: how far, why, by whom, until when. */
export interface Accepted {
  pair: string;
  output: string;
  max_abs: Real | null;
  nonfinite: number;
  causes: string[];
  nodes: string[];
  why: string;
  who: string;
  when: string;
  until: string | null;
  differing: number | null;
  shape: string | null;
  /** What was accepted, each as its cause and its place. */
  findings: string[] | null;
  /** What was compared with the reference's output: values, shape, or nothing (missing). */
  kind: string | null;
  /** A constant that differs though no output shows it. */
  constant: string | null;
  /** A digest of the values of both sides. */
  numbers: string | null;
  /** A node that differs though no given input shows it. */
  node: string | null;
}

/** What was not done, and why. */
export interface Skipped {
  what: string;
  why: string;
  /** The section of the report in which this is missing, where it is one section alone. */
  section: ReportSection | null;
}

/** The files and options of a check; whether code may run is not among them. */
export interface CheckRequest {
  /** The working directory: relative locations of files and models start there. */
  directory: string;
  files: RequestedFile[];
  /** The stated runtime by side; under the empty name, for each side that accepts it. */
  runtime: Record<string, string>;
  /** Settings of the runtime; ``candidate.key`` is for one side. */
  settings: Record<string, string>;
  /** Modules that define custom operators. */
  ops: string[];
  /** The most memory of a worker, in bytes. */
  memory: number | null;
  /** The most seconds of a worker for loading, opening or running a model. */
  timeout: Real | null;
  /** Sizes of dynamic axes. */
  dims: Record<string, number>;
  /** Stated budgets by output; under the empty name, of every other output. */
  budgets: Record<string, Real>;
  bind_inputs: Record<string, string>;
  bind_outputs: Record<string, string>;
  /** The reference's axes in the order that an input or output of the candidate has. */
  layouts: Record<string, number[]>;
  /** How many tokens were decoded; null where nothing was. */
  decode: number | null;
  /** Stated caches of a decoder: the output for an input. */
  caches: Record<string, string>;
}

/** A file beside the models, as it was named. */
export interface RequestedFile {
  role: FileRole;
  location: string;
  /** Of its content; empty for a folder. */
  digest: string;
}

/** The time of a command, in seconds. */
export interface Cost {
  wall: Real;
  /** Of this process and its workers. */
  cpu: Real;
  /** The one with the most CPU time first. */
  phases: PhaseCost[];
}

/** The time of one phase, in seconds. */
export interface PhaseCost {
  name: string;
  wall: Real;
  cpu: Real;
}

/** What isomorph fix did, and the measurements that prove it. */
export interface RepairDocument {
  verdict: Verdict;
  reason: string;
  /** Whether the result is verified, or nothing had to be done. */
  repaired: boolean;
  /** Whether every measurement after the repair is good, on given and on fresh inputs. */
  verified: boolean;
  exit_code: number;
  patches: PatchDocument[];
  session: SessionOption | null;
  trades: Trade[];
  advice: string[];
  before: Measured[];
  after: Measured[];
  refused: string[];
  /** What differs from the check of the report that was repaired. */
  notes: string[];
  output: string | null;
  seed: number;
  elapsed: Real;
  version: string;
  schema: string;
}

/** One patch that was kept. */
export interface PatchDocument {
  summary: string;
  /** Patches of one round were applied together. */
  round: number;
  node: string | null;
  cause: string | null;
  /** The finding that it answers. */
  because: string;
  /** Each with its kind, and the fields of that kind; of a large array shape, type and digest. */
  edits: ({ edit: string } & Record<string, unknown>)[];
  /** The edits as sentences. */
  words: string[];
}

/** The settings under which the runtime is right, where the file is right already. */
export interface SessionOption {
  runtime: string;
  name: string;
  settings: Record<string, string>;
  flags: string;
  code: string[];
}

/** What it costs to keep so many nodes in float, and what it gains. */
export interface Trade {
  nodes: string[];
  size: number;
  verdict: Verdict;
  relative_l2: Real | null;
  max_abs: Real | null;
}

/** One check of the patched model: on which inputs, and the result. */
export interface Measured {
  origin: string;
  verdict: Verdict;
  reason: string;
  outputs: MeasuredOutput[];
}

/** How far one output is off; None where it could not be measured. */
export interface MeasuredOutput {
  reference_output: string | null;
  candidate_output: string | null;
  verdict: Verdict;
  max_abs: Real | null;
  relative_l2: Real | null;
  times_over_budget: Real | null;
}
