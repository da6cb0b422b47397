# Every target installs by itself what it lacks (tools/setup), quietly when all is there.
SEEDS ?= 1000
SECONDS_EACH ?= 60
KILLS ?= 200
MINUTES ?= 60

.PHONY: help run build test bench conformance frameworks lint fuzz sim crash soak clean

help: ## this list
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

run: ## build, start the server and run a distributed training job to its end
	@tools/setup run
	@tools/build
	@tools/first_run

build: ## build/trainyard
	@tools/setup build
	@tools/build

test: ## everything CI runs: build, tidy, unit, asan, tsan, end to end, fuzz
	@tools/setup test-packages
	@tests/run_all

bench: ## costs beside a real kube-apiserver + etcd, runc and podman, minutes (docs/benchmarks.md); QUICK=1 is rougher
	@tools/setup bench
	@tools/build
	@tools/build yard_bench yard_stamp
	@bench/peers/build server operator || true
	@bench/run $(if $(QUICK),--quick)

conformance: ## the stock Kubernetes conformance tests against us, an hour; needs Go 1.24
	@tools/setup build
	@tools/build
	@bench/peers/build conformance
	@tests/conformance

frameworks: ## TensorFlow, JAX, Paddle and XGBoost from PyPI (600 MB), a real distributed job of each
	@tools/setup frameworks
	@tools/build
	@tests/frameworks/run

lint: ## clang-format, clang-tidy and the house rules
	@tools/setup lint
	@tools/lint

fuzz: ## every fuzz target for SECONDS_EACH seconds
	@tools/setup fuzz
	@tools/fuzz $(SECONDS_EACH)

sim: ## the simulation over SEEDS seeds
	@tools/setup build
	@tools/build yard_sim
	@YARD_SIM_SEEDS=$(SEEDS) build/yard_sim

crash: ## kill -9 of the server KILLS times under mixed load: nothing acknowledged is lost, nothing runs twice
	@tools/setup test
	@tools/build
	@YARD_CRASH_KILLS=$(KILLS) /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/e2e/test_crash_pods.py

soak: ## 10,000 Jobs, 1,000 watches, 200 pods, bad clients, then MINUTES of churn: memory, descriptors and p99 return
	@tools/setup test
	@tools/build
	@tests/soak --minutes $(MINUTES)

clean: ## forget what was built; keep what was downloaded
	@find build -mindepth 1 -maxdepth 1 ! -name tools -exec rm -rf {} + 2>/dev/null || true
