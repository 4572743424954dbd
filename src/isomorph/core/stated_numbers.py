"""Numbers that decide something and are not derived, each with its evidence.

Everything else that decides follows from the unit roundoff of a type, from the definition of an
operator or a format, or from the probability of a false alarm (``core.chance``). Limits of searches
are in ``core.limits``.
"""

from __future__ import annotations

# When two weights are the same

OPERATION_ROUNDINGS = 4.0
"""Unit roundoffs by which the results of one operation may differ between two sides.

A rounding to nearest is one. Library functions and reordered sums are promised to one unit in the
last place, which is two, on either side."""

BEYOND_ROUNDINGS = 2.0
"""Bounds of one rounding beyond which an element of a weight differs.

A model that went through two converters was rounded twice. Elements between one and two bounds
decide whether the others differ singly (``Elements.sparse``)."""

OFF_BY_LITTLE = 16
"""Numbers of a table that are off in their last bits, from which on it was computed again: at least
so many, and one for each so many that are off by more. Tables of sines of 16 rows and more, by four
formulas, have 150 and more; of a copy, the numbers that are not wrong have none."""

CLAMPED_IN_FLOAT16 = 1e4
"""A number from which on constants of a float16 model are the same number.

onnxconverter-common clamps float16 constants here (``max_finite_val``), and BERT's masks are as
large."""

COMPUTED_ERROR = 2.0**-10
"""Error of sums, quotients and roots of constants in float32, relative to the largest number.

A sum of n terms loses at most n unit roundoffs: this is enough for 2**14 terms."""

CLOSE_ELEMENTS = 2.0**-10
"""Relative tolerance for the elements of a vector that is wrong in others.

Two unit roundoffs of float16. It only chooses the counterpart; its elements are then compared with
bounds of their own."""

VECTOR_ELEMENTS = 4
"""Elements that identify a vector of a weight.

Four float32 numbers have 96 bits of significands: they do not agree by chance."""

FEW_ELEMENTS = 4
"""Elements up to which a constant is paired by its use; larger ones are matched by value.

Epsilons, axes and sizes have one to four elements, and the same ones occur all over a model."""

SAMPLED_ELEMENTS = 256
"""Elements of a weight that are compared first. Where fewer than a quarter agree, the others are
not read: a weight that is wrong in half of its elements fails this by chance once in 10**15."""

SAMPLE_TOLERANCE = 1e-5
"""Relative tolerance of this first comparison, in addition to the roundings of both types.

Whatever passes is compared with its own bound."""

SAME_SCALE = 1e-6
"""Relative difference of two scales that are the same number: eight units in the last place of
float32."""

ALIKE_COSINE = 0.9
"""The cosine above which a float weight may be what a quantized one was made from.

Quantization to four bits leaves a cosine above 0.98. Unrelated normal weights of eight elements
exceed 0.9 once in two thousand times, of sixteen never in 10**5. A wrong scale does not change
it."""

CERTAIN_COSINE = 0.999
"""The cosine above which no other weight is tried: eight bits leave more than 0.9999."""

OUTERMOST_ELEMENTS = 16
"""Largest elements of a weight by which similar ones are tried first; only the order depends."""

QUANTIZED_RESIDUE = 0.1
"""Share of a weight up to which a quantized one may differ from it: eight bits lose far less, and
another weight shares nothing with it."""

# Which node is wrong

LAYER_NODES = 12
"""Nodes up to which a group is named as the place of a fault: a layer normalization, a GELU or an
attention score that an exporter decomposed has up to this many. A larger group holds several
layers, and the finding is only suspected."""

SHARE_BY_CHANCE = 0.0027
"""Probability that the share of a constant in an error differs from one half by chance: three
standard errors of a normal distribution. The verdict needs the outputs beyond their budget as
well."""

OTHER_INPUT_SEEDS = 3
"""Sets of generated inputs on which a constant that differs is tried, each with its own seed."""

FEWEST_TRIALS = 6
"""Inputs that are tried for a constant that differs, however large the model is. Beyond as many as
``TRIED_WEIGHTS`` allows: the report states that others were not tried."""

DECISION_INPUTS = 256
"""Inputs that are tried where two models decide alike on different numbers. A difference of one in
a hundred moves about one label in a hundred: that many show it but for one time in ten."""

NEAR_DECISIONS = 1e-4
"""Difference, relative to the largest number, up to which two models decide on the same numbers.
Constants that were folded and rounded again move them by a hundredth of this. It only decides
whether more inputs are tried."""

NEAR_OUTPUTS = 1e-6
"""Difference up to which outputs are not judged for a constant that cannot be replaced. It only
decides on which input the search continues; the budgets decide the verdict there."""

CONFIRMING_INPUTS = 2
"""Inputs that must show that an attribute of the reference brings a candidate of lower precision
closer to it. One shows it by chance with ``SHARE_BY_CHANCE``, and tens are tried."""

SAME_DATA_INPUTS = 8
"""Further inputs on which two nodes must read the same data for their constants to be compared."""

OPERAND_PROBES = 8
"""Values within the range of an operand on which another must have the same effect. One whose
effect differs in half of that range passes once in 256 times."""

SIZE_STEPS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Added to the given sizes of dynamic axes in a search for inputs that show an attribute. A window
of up to five places is cut off at one of the first; the others reach behind layers that halve a
size, behind two of them more than once. Where none shows it, the report states how many inputs were
tried."""

INPUT_SCALES = (1.0, 4.0, 16.0, 64.0)
"""Factors of the given inputs with which a difference is searched for: powers of four up to where
activations saturate."""

KEPT_RATIO = 0.9
"""Share of the ratio of an error and its budget that an input keeps while elements are set back.
The budget of three draws varies by more from seed to seed. The verdict is that of a check on the
input that is left."""

CHECKPOINT_WEIGHTS = 4
"""Weights from which on most of them being off is called another checkpoint. Faults of converters
change one weight, or exchange two. It decides what is named; the outputs decide the verdict."""

# Why a node is wrong, and what repairs it

GRID_REACH = 2.0
"""Steps of a grid by which a quantized weight may be off: half a step is what rounding costs, on
either side, and as much again where it went through another grid."""

MUCH_LESS_LOSS = 4.0
"""How many times less a quantized node must lose for a change to be what it lacked. What is left
then is the loss of earlier nodes and of its own grid; a change that is not it leaves most of the
error."""

WHOLE_MODEL_NODES = 4
"""Nodes that a patch may put back even where the reference has no other: so many may be all that a
small model has. More would hand the reference back."""

MUCH_WORSE = 2.0
"""Factor by which an output may get worse in one round of repair: two faults may have hidden each
other. The repaired model is proven in the end, whatever happened between."""

# The budget of an output

DRAWS = 10
"""Draws of the noise behind a budget. Student's distribution accounts for their number, so fewer
make a budget wider, never wrong."""

MANY_DRAWS = 32
"""Draws where ten leave a loss in doubt: Student's bound is then near to the normal one."""

MISSED_FINDING = 0.0027
"""Probability that few draws leave a difference of the oracles within its allowance, and many would
not: three standard errors of a normal distribution. It applies where rounding explains the same
difference, so that the verdict is the same either way, and one finding less is reported."""

FIRST_DRAWS = 3
"""Enough where the error is far inside its budget, however imprecise the deviation is."""

TAIL_DRAWS = 1
"""Draws of the last nodes alone with which a check begins; more follow where an error is not within
their budget beyond doubt. Beyond doubt accounts for how far so few draws overestimate a variance,
and holds for one as for three: runs of ResNet-50 and of a small CNN use half of what it allows."""

PROBABLY_NOT = 0.05
"""Further draws of the last nodes are not made where a deviation that was underestimated with this
chance would still not let them settle anything. It decides what is drawn, and never a verdict."""

FURTHER_DRAWS = (5, DRAWS)
"""Draws where the first ones leave a doubt, and where these do. An error that is ten to a hundred
times its budget is beyond doubt after five: what Student's distribution allows falls from 200 times
to 20."""

SAMPLES_BY_BOTH = 7
"""Samples of a test set that are judged by the float64 values of both models before those of the
candidate alone decide about further ones: the first three batches. Each of the others is held
against its own budget all the same."""

WIDER = 4.0
"""Factor of the wider noise, which shows the values that rounding could reach.

Measured rounding is two to four times smaller than its noise: an element that does not move under
noise this wide is a dozen deviations of real rounding away from any other value."""

WIDE_DRAWS = 12
"""Draws of the wider noise. A value that each of them reaches with a chance of one in two is missed
once in 4000 times."""

TENSOR_DRAWS = FIRST_DRAWS
"""Draws behind the noise of a tensor inside: its rms over many elements is stable after few. The
first draws of the outputs serve the tensors as well. With three in the place of four, a bench of 38
planted faults and 21 clean conversions has the same nodes, causes and repairs."""

REAL_ROUNDING = 8.0
"""How many times smaller than its noise rounding may be: two to four times were measured."""

JUMP_GAP = 8.0
"""A gap between two draws is a jump if it is this many times all smaller gaps together.

Ten normally distributed draws never have one in 10**5 trials; three have in two of a hundred, so
that the budget of an element then holds for the values that it reached."""

JUMPS_BY_DRAWS = 4
"""At most a quarter as many jumps as draws; with more, the values are not few."""

UNDERFLOW_CLAMPED = 2.0
"""Smallest numbers of a type that a converter may store instead of zero.

onnxruntime's converter to float16 stores one of them, onnxconverter-common's 1e-7, which is two."""

CLIPPED_SHARE = 0.01
"""Share of the values beyond a quantizer's range from which a finding calls it too narrow; with
less it is called shifted or coarse. The verdict does not depend on it."""

RELEVANT_SHARE = 0.01
"""Share of the largest effect of one constant that underflows; constants with less are not
listed. The verdict does not depend on it."""

LEAST_SIGNIFICANCE = 2.0**-4
"""How large the rounding of an expression may be beside its value, where a constant stands for it.

Not derivable: it weighs proofs that fail for nothing against constants that fit by chance. Only
where operands nearly cancel is a rounding so large, as in a few of thousands of folded biases. With
2**-8, one network in three of 26,000 folded biases would have one that is refused; how many are
so near to zero is proportional to this number, so with 2**-4 it is one network in fifty. On the
other hand, a number that has nothing to do with the expression fits such an element once in eight
times, but not the others, which are met to a few units. With no significant bit the sign would be
open as well, and a number would stand for its opposite."""

PROOF_AMPLIFICATION = 1e4
"""How many roundings of float32 the outputs of two models may differ that are proven equal up to
re-rounded constants, in float64 on a sample. Deep networks amplify by ten to a thousand;
beyond, a difference of constants is what the output consists of, and nothing is proven."""

PROOF_FLOAT64 = 1e-9
"""How far two float64 evaluations of one function may differ, beside the largest output: 1e-12 was
measured on the deepest networks of the benchmark."""

FUNCTION_ROUNDINGS = 8.0
"""How many roundings (half units in the last place) one evaluation of exp, log, sin, cos, tanh, erf
or pow in a declared type may be off its real value, where constants are computed by it.

Not derivable: IEEE 754 leaves these functions to libraries. On a million float32 arguments, NumPy,
PyTorch, TensorFlow and ONNX Runtime were off by at most 5.9 roundings (TensorFlow's tanh); vector
libraries promise 4 units in the last place at most, which is this number."""

FURTHER_OVERFLOW = 1e-3
"""The chance that one more input like those that were measured takes a tensor beyond float16, from
which on ``convert --precision`` keeps the node in float32. It weighs a node that computes wider for
nothing against an infinity in service; no verdict depends on it."""
