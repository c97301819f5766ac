# CI runs these targets too. Portable make, everything longer than a line is in scripts/.
# scripts/tiers says which package belongs to which tier of tests.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
GO      := go
# SHUFFLE=on runs tests in a random order, as CI does. Without it, a test that passed and whose
# inputs have not changed is taken from the cache.
shuffle  = $(if $(SHUFFLE),-shuffle=$(SHUFFLE))
# In CI, property tests have all their runs, and make test has the race detector. Where a person
# waits, the runs are few, and everything is compiled once. make unit always has the detector.
runs     = $(if $(SHUFFLE),all,few)
race     = $(if $(SHUFFLE),,none)
# SKIP leaves out the tests whose names match.
skip     = $(if $(SKIP),-skip '$(SKIP)')
# With the flags of a release: the linter type-checks what make build has compiled.
LINT    := CGO_ENABLED=0 GOFLAGS=-trimpath $(GO) tool -modfile=tools/go.mod golangci-lint

.PHONY: build web demo unit test test-tools test-browser test-agents-ci test-all test-agents test-agents-latest probe race lint fmt gen e2e test-cluster check release

# bin/gc: one static binary, no cgo.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/gc ./cmd/gc

# internal/web/ui/dist: the pages of the web console, bundled from their sources. The binary embeds it.
web:
	$(GO) run -C tools/webui .

# A city of three agents, started, prompted, killed, healed and stopped.
demo: build
	$(GO) run ./test/demo

# The tests that start no process and use no tool, with the race detector.
unit:
	scripts/tests unit -p 4 $(shuffle) -timeout 10m

# The unit tests, the command line, and the contract on pty, subprocess and the fake.
test:
	scripts/tools tmux python3 vim less git htop ps cc
	RACE=$(race) GC_TEST_RUNS=$(runs) scripts/tests unit,contract -p 4 $(shuffle) -timeout 10m

# What drives tmux, ssh, git, bash and other programs.
test-tools:
	scripts/tools tmux python3 vim less git htop ps cc ssh
	scripts/tests tools -p 4 $(shuffle) $(skip) -timeout 10m

# The pages of the web console in a real browser; whether the bundle is that of its sources.
test-browser:
	scripts/tools chromium-headless-shell
	$(GO) test -C tools/webui -count=1 .
	scripts/tests browser -timeout 8m -count=1

# The agent CLIs of GC_TEST_AGENTS (claude, pi and codex) from npm, each with a few prompts.
test-agents-ci:
	scripts/tools npm cc
	scripts/tests agents -run '^TestInstall$$' -timeout 9m -count=1
	scripts/tests agents -skip '^TestInstall$$' -shuffle=on -timeout 14m

# Everything that CI tests, and the cluster.
test-all: test test-tools test-browser test-agents-ci e2e test-cluster

# Every pinned agent CLI from npm, in cities of its own; writes docs/reference/agents.md.
test-agents:
	scripts/tools npm cc
	scripts/agents pinned

# What the input box of an agent CLI changes in odd texts: make probe CLI=claude [VERSION=2.1.330].
probe:
	scripts/tools npm cc
	scripts/probe $(CLI) $(VERSION)

# The same as test-agents with the newest versions: says what moved, and never fails.
test-agents-latest:
	scripts/tools npm cc
	scripts/agents latest

# Agents in pods of a real Kubernetes, made and taken down on this machine. Needs root.
test-cluster:
	scripts/cluster

# The tests of make test and make test-tools, all with the race detector, without a look for tools,
# never from the cache. RACE=all make e2e does the same for real controllers.
race:
	RACE=all scripts/tests unit,contract,tools -p 4 -shuffle=on -timeout 14m -count=1

lint:
	$(LINT) run
	$(GO) run ./test/words
	scripts/shellcheck

fmt:
	$(LINT) fmt

# Rewrites everything that is generated: references, schemas, goldens, the bundle of the web console.
gen:
	scripts/gen write

# Real controllers and session scripts. The test that measures runs alone, before the others.
e2e:
	scripts/tools tmux python3 screen jq curl git ps cc ssh sshd
	scripts/tests cities -run '^TestTwoHundredSessions$$' -timeout 5m -count=1
	scripts/tests cities,scripts,far -p 2 -skip '^TestTwoHundredSessions$$' -timeout 20m -count=1

# What must hold before a change is handed in.
check: lint
	scripts/format
	scripts/platforms
	scripts/gen check
	scripts/tests unit,contract,tools -p 4 $(shuffle) -timeout 14m

# dist/: a binary for each platform and their checksums.
release:
	VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' scripts/release
