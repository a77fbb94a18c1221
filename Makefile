# What can be made. Every recipe is a command that can be typed by hand.
.DEFAULT_GOAL := help
.PHONY: help notices corpora test quick figures simulations race race-short race-live attack bench fuzz golden lint tidy examples agents axe go-agents run

GO ?= go
FUZZTIME ?= 10s
# Run by its version: a requirement in go.mod would become one of every user.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 12

# vet is part of lint, with all tags. Where everything is tested it would cost as much again
# for each set of build tags.
test: ## all tests of all modules of the workspace
	$(GO) test -vet=off -timeout 20m work

quick: ## the tests to run while you work: no long ones, no client library
	$(GO) test -short -tags nolive $$($(GO) list -tags nolive work | grep -v /cassettes/openai)

figures: ## the figures of docs and presets measured anew (UPDATE=1 writes them), 1,000 repeats of every scenario, and how many files a new thing takes
	$(GO) test -vet=off -tags 'figures nolive' -timeout 20m -run 'Matrix|RecommendedFigures|Repeats|Stranger|PlantedFigures|RecordedFigures' ./scenarios ./cmd/agentbench ./cmd/agentbench/internal/tune

simulations: ## what intervals are worth on the whole grid, and how often the gate is wrong and finds what is worse (UPDATE=1 writes the figures of docs/ci.md)
	$(GO) test -tags figures -timeout 20m -run IntervalsKeepTheirWord -v ./reports/stats
	$(GO) test -tags figures -timeout 20m -run 'GateFalseAlarms|GatePower' ./reports

race: ## all tests under the race detector, but for those of race-live
	$(GO) test -race -vet=off -tags nolive -timeout 30m $$($(GO) list -tags nolive work | grep -v /cassettes/openai)

race-short: ## what .ci/run has time for of race: short tests of the packages that run things at once
	$(GO) test -race -short -vet=off -tags nolive -timeout 30m $$($(GO) list -tags nolive work | grep -v -e /cassettes/ -e /reports -e /goldens -e /detect -e /contract -e /audit -e /tune -e '/cmd/agentbench$$')

race-live: ## the live model under the race detector; its client library takes minutes to build
	$(GO) test -race -timeout 30m ./cassettes/openai

attack: ## kill and interrupt commands hundreds of times and look at their files; plant faults in reports, which tests must find
	$(GO) test -tags 'attack nolive' -timeout 30m -run '^TestKilled$$' -v ./cmd/agentbench
	$(GO) test -tags attack -timeout 90m -run '^TestPlantedFaults$$' -v ./reports
	$(GO) test -tags 'figures nolive' -timeout 20m -run 'TinyAgentsOfOtherLanguages|ThousandProbes' -v ./cmd/agentbench/internal/probe

bench: ## speed of the machine, the live loop, the audit, the fakes and a run, beside a bare loop
	$(GO) test -run '^$$' -bench . -benchmem ./loop ./loop/audit ./fakes ./fakes/serve ./scenarios ./cassettes/trajectories
	$(GO) test -tags nolive -run '^$$' -bench . -cpu 1 ./cmd/agentbench/internal/watch

fuzz: ## every fuzz target for FUZZTIME (10s) each
	@failed=; for pkg in $$($(GO) list work); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || failed="$$failed $$pkg.$$target"; \
		done; \
	done; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

golden: ## rewrite what tests compare with; read the diff before you commit it
	UPDATE=1 GOLDIE_UPDATE=1 $(GO) test -tags figures work

# The embedded corpora of recorded runs, a line each: the folder below $(RUNS), the source, its commit and its licence.
RUNS = ../shared/data/trajectories
SHAPE = $(GO) run -tags nolive ./cmd/agentbench replay --shapes

corpora: ## make the embedded corpora anew from the recorded runs in RUNS
	$(SHAPE) $(RUNS)/tau-bench -o cassettes/shapes/corpus/tau-bench.shapes --corpus "tau-bench source=https://github.com/sierra-research/tau-bench commit=59a200c6d575d595120f1cb70fea53cef0632f6b licence=MIT"
	$(SHAPE) $(RUNS)/tau2 -o cassettes/shapes/corpus/tau2.shapes --corpus "tau2 source=https://github.com/yoheinakajima/activegraph-tau2-bench commit=2d8e2c2518523e13f981c5fa6f1a1547cae33400 licence=Apache-2.0"
	$(SHAPE) $(RUNS)/mini-swe-agent -o cassettes/shapes/corpus/mini-swe-agent.shapes --corpus "mini-swe-agent source=https://github.com/gruckion/mini-swe-agent commit=d12a71affd95403b036b2bdbd827349b77bfffb9 licence=MIT"
	$(SHAPE) $(RUNS)/sentinel -o cassettes/shapes/corpus/sentinel.shapes --corpus "sentinel source=https://github.com/sunnydubey1111/agent-trajectory-sentinel commit=040eb2b74aeab2ed420e2979669f80b18f90370f licence=Apache-2.0"
	$(SHAPE) $(RUNS)/swe-agent -o cassettes/shapes/corpus/swe-agent.shapes --corpus "swe-agent source=https://github.com/SWE-agent/SWE-agent commit=3ea751c087f32b16e039a2233dd6eefecef325d5 licence=MIT"

notices: ## the licences of all modules in the program (THIRD_PARTY_NOTICES), written anew
	UPDATE=1 $(GO) test -tags nolive -run TestNotices ./cmd/agentbench

lint: ## format, vet, staticcheck and module tidiness
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w ."; exit 1; }
	$(GO) vet -tags figures,attack work
	$(GO) run $(STATICCHECK) -tags figures,attack -checks all work
	.ci/tidy -diff

tidy: ## go mod tidy in every module
	.ci/tidy

examples: ## official Node clients drive agentbench serve; skipped without Node 20
	@if ! node -e 'process.exit(+(parseInt(process.versions.node) < 20))' 2>/dev/null; then \
		echo "examples: skipped, because there is no Node 20 or later"; exit 0; fi; \
	cd examples/node && npm ci --no-audit --no-fund --loglevel=error && \
	$(GO) build -o node_modules/.bin/agentbench ../../cmd/agentbench && npm test

agents: ## docs/agents.md: how popular agents behave; names what could not be installed (AGENTS="codex eino" probes only those)
	-cd examples/probe/js && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
	$(GO) test -tags 'nolive agents' -count 1 -timeout 90m -v -run TestAgentsTable ./cmd/agentbench/internal/probe

axe: ## every page that a command writes, in a browser, by the rules of axe; needs chromium and npm, takes two minutes
	.ci/axe

go-agents: ## agents written with Go libraries, in a module of their own; takes minutes to build
	.ci/go-agents

run: ## the embedded suites
	$(GO) run ./cmd/agentbench run
