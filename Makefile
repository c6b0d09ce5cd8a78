# `make demo` and `make test` set up everything they need. `make help` lists all targets.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2
SPARK ?= 4.1
export SPARK_LOCAL_IP ?= 127.0.0.1
# What make runs keeps the bytecode of what it imports, also where the shell forbids that: most modules are never imported.
unexport PYTHONDONTWRITEBYTECODE
# $(call install,ENVIRONMENT,ARGUMENTS): pinned hashes only. uv takes a third of pip's CPU time; pip knows the indexes of its
# own configuration, and takes over where uv finds nothing.
PIP = bin/pip install --quiet --disable-pip-version-check
install = { test -x .venv-uv/bin/uv || { $(PYTHON) -m venv .venv-uv && .venv-uv/$(PIP) --require-hashes -r requirements/uv.txt; } && \
	.venv-uv/bin/uv pip install --quiet --python $(1)/bin/python --require-hashes $(2); } || \
	$(1)/$(PIP) --require-hashes --no-compile $(2)

.DEFAULT_GOAL := help
.PHONY: $(shell sed -nE 's/^([a-z0-9-]+):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help:  ## Show the targets.
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# A small release, while Ivy downloads Delta's jars: it compiles the kernels and the bytecode that releases use.
FIRST = { mkdir -p build && $(BIN)/tclose generate --rows 300 --output build/first > build/first.log && \
	TCLOSE_DEMO=../build/first $(BIN)/tclose release conf/demo.yaml --engine local --overwrite \
	--set output.path=../build/first/release > build/first.log 2>&1 || { cat build/first.log; false; }; }

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(call install,$(VENV),-r requirements/dev.txt)
	$(VENV)/$(PIP) --no-deps --editable .
	$(BIN)/python -m tclose_spark.io.spark.defaults & $(FIRST) && wait $$!
	@touch $@

DEMO = $(BIN)/tclose release conf/demo.yaml --overwrite
demo: $(READY)  ## Generate a synthetic census of 100,000 people, release it on Spark and in this process, compare both.
	$(BIN)/tclose generate --rows 100000 --output build/demo
	@date +%s > build/demo/times
	$(DEMO) --engine spark
	@date +%s >> build/demo/times
	@# with the secret of the first release, because a secret breaks ties
	TCLOSE_SECRET=$${TCLOSE_SECRET:-$$(cat build/demo/release/internal/secret)} \
		$(DEMO) --engine local --set output.path=../build/demo/local
	@date +%s >> build/demo/times
	@{ read begin; read middle; read end; } < build/demo/times; \
	print_of() { sed -n 's/^ *"fingerprint": "\(.*\)",$$/\1/p' build/demo/$$1/public/certificate.json; }; \
	printf '%-13s %3d s  fingerprint %s\n' Spark $$((middle - begin)) "$$(print_of release)" \
		'this process' $$((end - middle)) "$$(print_of local)"; \
	test "$$(print_of release)" = "$$(print_of local)"

PYTEST = $(BIN)/pytest -n $(WORKERS) --dist loadfile --max-worker-restart 0
test: $(READY)  ## Run the quick tests in WORKERS processes.
	TCLOSE_TESTS_QUICK=1 $(PYTEST) -m "not slow and not more"

test-more: $(READY)  ## Run what `make test` leaves out and a change must pass, too: most tests on Spark, wide sweeps.
	$(PYTEST) -m "more and not slow"

# `make fuzz RECORD=` leaves the figures in docs/tested.json as they are.
RECORD := TCLOSE_RECORD=1

tested: $(READY)  ## Try all damages and hostile inputs, and record how many were found in docs/tested.json.
	$(RECORD) $(BIN)/pytest tests/damages tests/hostile

chaos: $(READY)  ## Break runs on purpose: kills, full disks, two at once, other clocks. An hour; CHAOS_TRIALS=0.1 is a tenth.
	$(RECORD) CHAOS_TRIALS=$${CHAOS_TRIALS:-1} PYTHONPATH=tests:tests/chaos $(BIN)/pytest -p trials tests/chaos

fuzz: $(READY)  ## Draw tables and run files for FUZZ_SECONDS (an hour), and judge each release.
	$(RECORD) FUZZ_SECONDS=$${FUZZ_SECONDS:-3600} FUZZ_EXAMPLES=5000 $(BIN)/pytest tests/fuzz

fuzz-parsers: .venv-fuzz/.ready  ## Fuzz what reads run files, hierarchies, labels, options and CSV, guided by coverage, for FUZZ_SECONDS (600).
	FUZZ_SECONDS=$${FUZZ_SECONDS:-600} .venv-fuzz/bin/python tests/fuzz/fuzz_parsers.py

papers: $(READY)  ## Compute every figure and table of the five papers, beside the printed values (docs/papers.md).
	PYTHONPATH=.:tests:tests/methods/exact $(BIN)/python -m benchmarks.papers

test-spark: $(READY)  ## Run on Spark what `make test` runs on the local engine. Hours; PART=1/4 is the first of four parts.
	TCLOSE_TESTS_PART=$${PART:-1/1} TCLOSE_COMPILER=full TCLOSE_DRIVER_MEMORY=5g TCLOSE_TESTS_ON=spark TCLOSE_TESTS_QUICK=1 $(PYTEST) -m "not slow and not more and not on_spark"

test-slow: $(READY)  ## Run the slow tests, which take minutes: large tables, long lines of releases. Those of platforms have targets of their own.
	$(PYTEST) -m slow --ignore tests/platforms

test-bounds: $(READY)  ## Run the quick tests of methods with kernels that check each index. Five minutes.
	NUMBA_BOUNDSCHECK=1 TCLOSE_TESTS_QUICK=1 $(PYTEST) -m "not slow and not more" tests/methods

everything: $(READY)  ## Run once each suite that a change need not pass, and record it in docs/tested.json; SUITES="test-s3 fuzz" runs those.
	$(BIN)/python tests/suites.py $(SUITES)

# Each platform has its own environment: its packages conflict with ours, or are not needed here.
.venv-connect/.ready: requirements/dev.txt requirements/connect.txt pyproject.toml
	$(PYTHON) -m venv .venv-connect
	$(call install,.venv-connect,-r requirements/dev.txt -r requirements/connect.txt)
	.venv-connect/$(PIP) --no-deps --editable .
	@touch $@

.venv-spark40/.ready: requirements/dev.txt requirements/connect.txt requirements/spark40.txt pyproject.toml
	$(PYTHON) -m venv .venv-spark40
	$(call install,.venv-spark40,-r requirements/dev.txt -r requirements/connect.txt)
	$(call install,.venv-spark40,--no-deps -r requirements/spark40.txt)
	.venv-spark40/$(PIP) --no-deps --editable .
	@touch $@

# The environments of tests that run with either Spark: `make test-clusters SPARK=4.0`.
ON_CONNECT := $(if $(filter 4.0,$(SPARK)),.venv-spark40,.venv-connect)
ON_CLUSTERS := $(if $(filter 4.0,$(SPARK)),.venv-spark40,$(VENV))

.venv-local/.ready: requirements/local.txt pyproject.toml
	$(PYTHON) -m venv .venv-local
	$(call install,.venv-local,-r requirements/local.txt)
	.venv-local/$(PIP) --no-deps --editable .
	@touch $@

.venv-airflow/.ready: requirements/airflow.txt
	$(PYTHON) -m venv .venv-airflow
	$(call install,.venv-airflow,-r requirements/airflow.txt)
	@touch $@

.venv-databricks/.ready: requirements/databricks.txt
	$(PYTHON) -m venv .venv-databricks
	$(call install,.venv-databricks,-r requirements/databricks.txt)
	@touch $@

.venv-pipelines/.ready: requirements/pipelines.txt pyproject.toml
	$(PYTHON) -m venv .venv-pipelines
	$(call install,.venv-pipelines,-r requirements/pipelines.txt)
	.venv-pipelines/$(PIP) --no-deps --editable .
	@touch $@

.venv-s3/.ready: requirements/s3.txt
	$(PYTHON) -m venv .venv-s3
	$(call install,.venv-s3,-r requirements/s3.txt)
	@touch $@

.venv-azure/.ready: requirements/azurite/package.json requirements/azurite/package-lock.json
	mkdir -p .venv-azure && cp $^ .venv-azure
	npm ci --prefix .venv-azure --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# Google's connector as one jar, which Ivy does not fetch: its name ends in a classifier.
.venv-gcs/.ready: requirements/gcs.sha256
	mvn --quiet --batch-mode dependency:copy -DoutputDirectory=$(CURDIR)/.venv-gcs \
		-Dartifact=com.google.cloud.bigdataoss:gcs-connector:$$(sed 's/.*connector-\(.*\)-shaded.jar/\1/' $<):jar:shaded
	cd .venv-gcs && sha256sum --check --quiet ../$<
	@touch $@

.venv-go/.ready: requirements/go/go.mod requirements/go/go.sum
	cd requirements/go && GOBIN=$(CURDIR)/.venv-go/bin go install tool
	@touch $@

.venv-workers/.ready: requirements/clusters.txt
	$(PYTHON) -m venv .venv-workers
	$(call install,.venv-workers,-r requirements/clusters.txt)
	@touch $@

.venv-fuzz/.ready: requirements/fuzz.txt pyproject.toml
	$(PYTHON) -m venv .venv-fuzz
	$(call install,.venv-fuzz,-r requirements/fuzz.txt)
	.venv-fuzz/$(PIP) --no-deps --editable .
	@touch $@

.venv-mutants/.ready: requirements/dev.txt requirements/mutants.txt pyproject.toml
	$(PYTHON) -m venv .venv-mutants
	$(call install,.venv-mutants,-r requirements/dev.txt -r requirements/mutants.txt)
	.venv-mutants/$(PIP) --no-deps --editable .
	@touch $@

.venv-roles/.ready: requirements/roles.txt
	$(PYTHON) -m venv .venv-roles
	$(call install,.venv-roles,-r requirements/roles.txt)
	@touch $@

.venv-images/.ready: requirements/images.txt
	$(PYTHON) -m venv .venv-images
	$(call install,.venv-images,-r requirements/images.txt)
	@touch $@

test-connect: $(READY) $(ON_CONNECT)/.ready  ## Release tables against a Spark Connect server; SPARK=4.0 takes that Spark.
	$(ON_CONNECT)/bin/python -m pytest tests/platforms/test_connect.py

test-local: .venv-local/.ready  ## Release tables where there is neither Spark nor Java.
	.venv-local/bin/python -m pytest --noconftest tests/platforms/test_local.py tests/docs/test_readme.py

test-airflow: $(READY) .venv-airflow/.ready  ## Run the DAG under a real Airflow, kill it and run it again.
	.venv-airflow/bin/python -m pytest --noconftest tests/platforms/test_airflow.py

test-databricks: .venv-databricks/.ready  ## Validate the bundle against Databricks' own models.
	.venv-databricks/bin/python -m pytest --noconftest tests/platforms/test_databricks.py

test-pipelines: $(READY) .venv-connect/.ready .venv-pipelines/.ready  ## Run a Spark Declarative Pipeline and dbt before a release, OpenLineage and Delta Sharing after it.
	$(BIN)/pytest $(foreach name,pipelines dbt openlineage sharing,tests/platforms/test_$(name).py)

# Servers in Java, whose jars Maven brings.
.jars-%/.ready: requirements/%.pom.xml
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(@D)
	@touch $@

test-iceberg: $(READY) .jars-iceberg-rest/.ready  ## Release Iceberg tables of all kinds, in a folder's catalog and a REST catalog (needs Maven).
	$(BIN)/pytest tests/platforms/test_iceberg.py

test-s3: $(READY) .venv-s3/.ready .venv-go/.ready  ## Release tables from and to an S3 server, also through a proxy that breaks connections (needs Go).
	$(BIN)/pytest tests/platforms/test_stores.py -k s3
	$(BIN)/pytest tests/platforms/test_faults.py

test-azure: $(READY) .venv-azure/.ready  ## Release tables from and to an Azure server (needs npm).
	$(BIN)/pytest tests/platforms/test_stores.py -k azure

test-gcs: $(READY) .venv-gcs/.ready .venv-go/.ready  ## Release tables from and to a server that speaks as Google's storage does (needs Go and Maven).
	$(BIN)/pytest tests/platforms/test_stores.py -k gcs

test-clusters: $(READY) $(ON_CLUSTERS)/.ready .venv-workers/.ready  ## Release on clusters of two workers, also of such as lack this package; SPARK=4.0 takes that Spark.
	$(ON_CLUSTERS)/bin/python -m pytest tests/platforms/test_cluster.py tests/platforms/test_workers.py

test-yarn: $(READY) .venv-workers/.ready .jars-hadoop/.ready  ## Release on Yarn, from and to HDFS (needs Maven).
	$(BIN)/pytest tests/platforms/test_yarn.py

test-hive: $(READY)  ## Release tables of a Hive metastore, and replace one of its tables.
	$(BIN)/pytest tests/platforms/test_hive.py

mutants: .venv-mutants/.ready  ## Change MUTANTS (500) expressions of checks, measures and audits, one at a time, drawn by SEED: each must fail a test.
	$(RECORD) MUTANTS=$${MUTANTS:-500} SEED=$${SEED:-1} WORKERS=$(WORKERS) PYTHONPATH=tests .venv-mutants/bin/python tests/mutants/try_mutants.py

lint-images: .venv-images/.ready  ## Lint the Dockerfile.
	.venv-images/bin/hadolint conf/kubernetes/Dockerfile

lint: $(READY)  ## Check style, types and import contracts.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/ruff check --select COM812 .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python tests/suites.py --old

format: $(READY)  ## Format the code: arguments that do not fit beside their call have a line each.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --select COM812 .
	$(BIN)/ruff format .

bench: $(READY)  ## Measure the stages of a release against Spark's floor, by rows; BENCH="ROWS .. --methods .. --json FILE".
	$(BIN)/python benchmarks/release.py $(BENCH)

roles: $(READY) .venv-roles/.ready  ## Compare the roles that `tclose suggest` gives the columns of real tables with an expert's; BENCH="-v --json FILE".
	$(BIN)/python benchmarks/roles.py $(BENCH)

census: $(READY)  ## Release a census of 100,000,000 people on this machine, stage by stage, in an hour or less.
	TCLOSE_COMPILER=full TCLOSE_DRIVER_MEMORY=2g $(BIN)/python benchmarks/census.py $(BENCH)

licences: $(READY)  ## Print the licence of each package that the wheel and its extras bring; one of the GPL family alone is an error.
	$(BIN)/python .ci/licences

dist: $(READY)  ## Build the wheel and the source distribution into dist/.
	$(BIN)/python -m build --no-isolation --outdir dist .

test-matrix: $(READY)  ## Run the quick tests against the wheel: on PYTHONS (3.11 to 3.13), with Spark 4.0, with the oldest allowed versions.
	.ci/matrix

test-image: $(READY)  ## Build the image with buildah, and release a table in it (as root; needs buildah and debootstrap).
	.ci/image

test-wheel: $(READY)  ## Install the wheel with Spark into an empty environment of each of PYTHONS, and release a CSV there.
	.ci/wheel

docs: $(READY)  ## Build the documentation site into build/docs; warnings and broken links are errors.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-outputs: $(READY)  ## Run the commands that the pages show, and write what they print into the pages.
	$(BIN)/python docs/site/outputs.py

pictures: $(READY)  ## Draw the pictures of the pages; those of reports need Chromium. `make papers` draws those of the papers.
	$(BIN)/python docs/site/pictures.py

clean:  ## Remove build results and environments.
	rm -rf $(VENV) .venv-* .jars-* build dist *.egg-info conf/dbt/.user.yml conf/dbt/logs conf/dbt/target
