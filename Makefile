# Twelve targets; CI runs the same ones. Portable make, everything longer than a
# line is in scripts/.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
GO      := go
LINT    := $(GO) tool -modfile=tools/go.mod golangci-lint

.PHONY: build demo test test-agents test-agents-latest race lint fmt gen e2e test-cluster check release

# bin/gc: one static binary, no cgo.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/gc ./cmd/gc

# A city of three agents, started, prompted, killed, healed and stopped.
demo: build
	$(GO) run ./test/demo

# The tools that tests drive, then unit, conformance and CLI tiers.
test:
	scripts/tools tmux python3 vim less git htop ps cc npm
	scripts/tests light -shuffle=on -timeout 14m

# Every pinned agent CLI from npm, in cities of its own; writes docs/reference/agents.md.
test-agents:
	scripts/tools npm cc
	scripts/agents pinned

# The same with the newest versions: says what moved, and never fails.
test-agents-latest:
	scripts/tools npm cc
	scripts/agents latest

# Agents in pods of a real Kubernetes, made and taken down on this machine. Needs root.
test-cluster:
	scripts/cluster

# The same tiers without looking for tools, never from the cache.
race:
	scripts/tests light -shuffle=on -timeout 14m -count=1

lint:
	$(LINT) run
	scripts/shellcheck

fmt:
	$(LINT) fmt

# Rewrites everything that is generated: references, schemas, goldens.
gen:
	scripts/gen write

# Real daemons, clusters and agent CLIs.
e2e:
	scripts/tools tmux python3 screen jq curl git ps cc ssh sshd
	scripts/tests heavy -timeout 27m -count=1

# What must hold before a change is handed in.
check: lint
	scripts/format
	scripts/platforms vet ./...
	scripts/gen check
	scripts/tests light -shuffle=on -timeout 14m

# dist/: a binary for each platform and their checksums.
release:
	VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' scripts/release
