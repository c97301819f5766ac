package archtest

import (
	"strings"
	"testing/fstest"
)

// plant is a small tree in one text: files are headed by "-- path --" lines.
// An empty want says that the tree keeps the rule.
type plant struct {
	name string
	tree string
	want string
}

func (p plant) files() fstest.MapFS {
	files := fstest.MapFS{}
	name := ""
	for line := range strings.Lines(p.tree) {
		if head, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok {
			name = strings.TrimSuffix(head, " --")
			files[name] = &fstest.MapFile{}
			continue
		}
		if name != "" {
			files[name].Data = append(files[name].Data, line...)
		}
	}
	return files
}

// source returns a tree of one file.
func source(path, text string) string { return "-- " + path + " --\n" + text + "\n" }

// repeat builds a function body, an interface or a file of n lines.
func repeat(head, line string, n int, tail string) string {
	return head + strings.Repeat(line+"\n", n) + tail
}

var planted = map[string][]plant{
	"known-package": {
		{"unknown", source("internal/attic/a.go", "package attic"), "internal/attic"},
		{"its name begins like a group", source("internal/terminals/a.go", "package terminals"), "internal/terminals"},
		{"in a group", source("internal/terminal/deep/a.go", "package deep"), ""},
		{"in a group of tests", source("test/e2e/a_test.go", "package e2e"), ""},
	},
	"layer-order": {
		{"upwards", source("internal/domain/plan/a.go", "package plan\nimport _ \"gascity/internal/controller\""), "internal/controller"},
		{"another group of the layer", source("internal/domain/plan/a.go", "package plan\nimport _ \"gascity/internal/terminal/vt\""), "internal/terminal/vt"},
		{"its own group", source("internal/domain/plan/a.go", "package plan\nimport _ \"gascity/internal/domain/session\""), ""},
		{"another engine", source("internal/service/prompts/a.go", "package prompts\nimport _ \"gascity/internal/service/workers\""), "internal/service/workers"},
		{"a part of an engine", source("internal/service/workers/a.go", "package workers\nimport _ \"gascity/internal/service/workers/part\""), ""},
		{"downwards", source("internal/shim/a.go", "package shim\nimport _ \"gascity/internal/terminal/vt\""), ""},
		{"a program of the product", source("internal/acp/bridge/a.go", "package bridge\nimport _ \"gascity/internal/service/workers\""), "internal/service/workers"},
		{"a test program", source("test/demo/a.go", "package demo\nimport _ \"gascity/internal/app\""), ""},
		{"from a test", source("internal/terminal/vt/a_test.go", "package vt_test\nimport _ \"gascity/test/fakeagent\""), ""},
	},
	"public-standard-library": {
		{"foreign module", source("runtime/a.go", "package runtime\nimport _ \"golang.org/x/sync/errgroup\""), "golang.org/x/sync/errgroup"},
		{"our leaf", source("client/a.go", "package client\nimport _ \"gascity/internal/proc\""), "gascity/internal/proc"},
		{"suite and contract", source("runtime/runtimetest/a.go", "package runtimetest\nimport _ \"gascity/runtime\""), ""},
	},
	"driver-isolation": {
		{"configuration", source("provider/pty/a.go", "package pty\nimport _ \"gascity/internal/config\""), "internal/config"},
		{"another driver", source("provider/ssh/a.go", "package ssh\nimport _ \"gascity/provider/tmux\""), "provider/tmux"},
		{"records", source("provider/pty/a.go", "package pty\nimport _ \"gascity/internal/domain/session\""), "internal/domain/session"},
		{"the table", source("provider/all/a.go", "package all\nimport _ \"gascity/provider/tmux\""), ""},
	},
	"edge-isolation": {
		{"controller", source("internal/controller/a.go", "package controller\nimport _ \"gascity/provider/pty\""), "provider/pty"},
		{"assembly past the table", source("internal/app/a.go", "package app\nimport _ \"gascity/provider/pty\""), "ask provider/all"},
		{"assembly", source("internal/app/a.go", "package app\nimport _ \"gascity/provider/all\""), ""},
		{"database", source("internal/controller/a.go", "package controller\nimport _ \"gascity/internal/store\""), "declare the interface"},
		{"database of the assembly", source("internal/app/a.go", "package app\nimport _ \"gascity/internal/store\""), ""},
	},
	"cli-thin": {
		{"controller", source("internal/cli/a.go", "package cli\nimport _ \"gascity/internal/controller\""), "internal/controller"},
		{"process table", source("internal/cli/a.go", "package cli\nimport _ \"gascity/internal/proc\""), "internal/proc"},
		{"below the commands", source("internal/cli/cmdenv/a.go", "package cmdenv\nimport _ \"gascity/internal/proc\""), "internal/proc"},
		{"outside of its folder", source("internal/acp/server/a.go", "package server\nimport _ \"gascity/internal/proc\""), "internal/proc"},
		{"client", source("internal/cli/a.go", "package cli\nimport _ \"gascity/client\""), ""},
	},
	"known-dependency": {
		{"unknown", source("internal/domain/plan/a.go", "package plan\nimport _ \"example.org/leftpad\""), "example.org/leftpad"},
		{"in another package", source("internal/domain/plan/a.go", "package plan\nimport _ \"github.com/spf13/cobra\""), "github.com/spf13/cobra"},
		{"of tests", source("internal/domain/plan/a.go", "package plan\nimport _ \"pgregory.net/rapid\""), "pgregory.net/rapid"},
		{"at home", source("internal/cli/a.go", "package cli\nimport _ \"github.com/spf13/cobra\""), ""},
		{"in a test", source("internal/domain/plan/a_test.go", "package plan\nimport _ \"pgregory.net/rapid\""), ""},
	},
	"main-small": {
		{"long", source("cmd/gc/main.go", repeat("package main\n", "//", 45, "")), "cmd/gc/main.go"},
		{"short", source("cmd/gc/main.go", "package main\nfunc main() {}"), ""},
	},
	"parameter-budget": {
		{"six", source("runtime/a.go", "package runtime\nfunc f(a, b, c int, d, e, g string) {}"), "runtime.f has 6 parameters"},
		{"ctx and five", source("runtime/a.go", "package runtime\nfunc f(ctx context.Context, a, b, c int, d, e string) {}"), ""},
	},
	"bool-parameter": {
		{"function", source("runtime/a.go", "package runtime\nfunc Draw(at int, wide, bold bool) {}"), "runtime.Draw takes a bool"},
		{"method", source("runtime/a.go", "package runtime\nfunc (b *Box) Draw(bold bool) {}"), "runtime.Box.Draw takes a bool"},
		{"not exported", source("runtime/a.go", "package runtime\nfunc draw(bold bool) {}\nfunc (b *box) Draw(bold bool) {}"), ""},
		{"result and callback", source("runtime/a.go", "package runtime\nfunc Find(match func(bool)) bool { return true }"), ""},
	},
	"interface-budget": {
		{"wide", source("runtime/a.go", "package runtime\ntype W interface {\nA()\nB()\nC()\nD()\nE()\nF()\nG()\n}"), "runtime.W declares 7 methods"},
		{"made of facets", source("runtime/a.go", "package runtime\ntype W interface {\nA\nB\nC\nD\nE\nF\nG\n}"), ""},
	},
	"package-comment": {
		{"twice", source("runtime/a.go", "// Package runtime is.\npackage runtime") + source("runtime/b.go", "// Package runtime is too.\npackage runtime"), "a.go, b.go"},
		{"missing", source("runtime/a.go", "package runtime"), "no file has"},
		{"once", source("runtime/a.go", "// Package runtime is.\npackage runtime") + source("runtime/b.go", "package runtime"), ""},
	},
	"no-init": {
		{"init", source("runtime/a.go", "package runtime\nfunc init() {}"), "declares init"},
		{"method", source("runtime/a.go", "package runtime\nfunc (b box) init() {}"), ""},
	},
	"no-mutable-global": {
		{"counter", source("runtime/a.go", "package runtime\nvar count int"), "count is a package variable"},
		{"swapped function", source("runtime/a.go", "package runtime\nvar now = time.Now"), "now is a package variable"},
		{"written table", source("runtime/a.go", "package runtime\nvar table = map[string]int{}\nfunc add() { table[\"a\"] = 1 }"), "writes to the package variable table"},
		{
			"written from another file",
			source("runtime/a.go", "package runtime\nvar table = box{}") + source("runtime/b.go", "package runtime\nfunc add() { table.n++ }"),
			"writes to the package variable table",
		},
		{"hidden by a local", source("runtime/a.go", "package runtime\nvar table = box{}\nfunc f() { table := box{}; table.n = 1 }\nfunc g() { var table box; table.n = 1 }\nfunc h(table box) { table.n = 1 }"), ""},
		{"sentinels and tables", source("runtime/a.go", "package runtime\nvar ErrGone = errors.New(\"gone\")\nvar _ I = (*T)(nil)\nvar word = regexp.MustCompile(`a`)\nvar crlf = []byte(\"x\")\n//go:embed a.txt\nvar text string"), ""},
	},
	"no-hidden-input": {
		{"read", source("internal/domain/plan/a.go", "package plan\nvar home = os.Getenv(\"HOME\")"), "uses os.Getenv"},
		{"passed on", source("internal/domain/plan/a.go", "package plan\nfunc f() { expand(os.Environ) }"), "uses os.Environ"},
		{"permit without a reason", source("internal/domain/plan/a.go", "package plan\nvar home = os.Getenv(\"HOME\") //nolint:forbidigo //"), "uses os.Getenv"},
		{"in cmd", source("cmd/gc/main.go", "package main\nfunc main() { run(os.Environ()) }"), ""},
	},
	"no-sleep": {
		{"in the product", source("internal/proc/a.go", "package proc\nfunc f() { time.Sleep(1) }"), "uses time.Sleep"},
		{"in a test", source("internal/proc/a_test.go", "package proc\nfunc f() { time.Sleep(1) }"), "uses time.Sleep"},
		{"in a bubble", source("internal/proc/a_test.go", "package proc\nimport \"testing/synctest\"\nfunc f() { synctest.Wait(); time.Sleep(1) }"), ""},
	},
	"no-background-context": {
		{"library", source("internal/proc/a.go", "package proc\nfunc f() { g(context.Background()) }"), "uses context.Background"},
		{"with a reason", source("provider/pty/a.go", "package pty\nfunc f() { g(context.Background()) } //nolint:forbidigo // Stop has no ctx in the contract"), ""},
	},
	"vendor-literal": {
		{"word in a text", source("internal/domain/plan/a.go", "package plan\nvar x = \"start Claude now\""), "Claude"},
		{"short name", source("internal/domain/plan/a.go", "package plan\nvar x = \"amp\""), "amp"},
		{"not a word", source("internal/domain/plan/a.go", "package plan\nvar x = \"ample cursor, pipe\""), ""},
		{"at home", source("internal/agentcli/a.go", "package agentcli\nvar x = \"claude\""), ""},
		{"comment and tag", source("internal/domain/plan/a.go", "package plan\n// codex does\ntype x struct { A int `json:\"codex\"` }"), ""},
	},
	"provider-literal": {
		{"controller", source("internal/controller/a.go", "package controller\nvar x = \"k8s\"") + source("provider/k8s/a.go", "package k8s"), "k8s"},
		{"another driver", source("provider/ssh/a.go", "package ssh\nvar x = \"tmux\"") + source("provider/tmux/a.go", "package tmux\nvar y = \"tmux\""), "tmux"},
		{"table", source("provider/all/a.go", "package all\nvar x = \"tmux\""), ""},
	},
	"file-name": {
		{"file", source("runtime/utils.go", "package runtime"), "runtime/utils.go"},
		{"test file", source("runtime/helpers_test.go", "package runtime"), "runtime/helpers_test.go"},
		{"folder", source("internal/common/a.go", "package common"), "internal/common/a.go"},
		{"noun", source("runtime/errors.go", "package runtime"), ""},
	},
	"doc-link": {
		{"broken", source("docs/a.md", "see [b](adr/b.md#top)"), "docs/a.md:1: links to docs/adr/b.md"},
		{"out of the tree", source("docs/a.md", "see [b](../../b.md)"), "links to ../b.md"},
		{"good", source("docs/a.md", "see [b](adr/b.md), [all](adr/), [up](../go.mod), [web](https://example.org/x)") + source("docs/adr/b.md", "b"), ""},
		{"code", source("docs/a.md", "`[]T(x)`\n```\n[]T(x)\n```\n    []T(x)"), ""},
	},
	"doc-proof": {
		{"gone", source("docs/a.md", "held by `TestOfOld`") + source("runtime/a_test.go", "package runtime\nfunc TestOfNew() {}"), "docs/a.md:1: names TestOfOld"},
		{"there", source("docs/a.md", "held by `TestOfNew`, see `Test...IsCurrent`") + source("runtime/a_test.go", "package runtime\nfunc TestOfNew() {}"), ""},
	},
	"driver-conformance": {
		{"without", source("provider/pty/a.go", "package pty") + source("provider/pty/a_test.go", "package pty\nfunc TestOther() {}"), "provider/pty"},
		{"with", source("provider/pty/a.go", "package pty") + source("provider/pty/a_test.go", "package pty_test\nfunc TestConformance() {}"), ""},
		{"the table", source("provider/all/a.go", "package all"), ""},
	},
}
