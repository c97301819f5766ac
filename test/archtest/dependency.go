package archtest

import (
	"slices"
	"strings"
)

// dependency is a module of others and the packages whose product code may import it.
// Without packages only tests and test programs may import it. Tests may import every
// dependency.
type dependency struct {
	module   string
	packages []string
}

// anywhere allows a module in every package that is not restricted to the standard
// library.
const anywhere = "*"

var dependencies = []dependency{
	{"charm.land/bubbletea/v2", []string{"internal/tui"}},
	{"github.com/cenkalti/backoff/v5", []string{anywhere}},
	{"github.com/charmbracelet/x/ansi", []string{"internal/terminal/vt"}},
	{"github.com/clipperhouse/displaywidth", []string{"internal/terminal/vt", "internal/textfmt"}},
	{"github.com/chromedp/cdproto", nil},
	{"github.com/chromedp/chromedp", nil},
	{"github.com/coder/acp-go-sdk", nil},
	{"github.com/coder/websocket", []string{"internal/web"}},
	{"github.com/creack/pty", []string{"internal/shim"}},
	{"github.com/danielgtaylor/huma/v2", []string{"internal/server/controlapi", "internal/server/workerapi"}},
	{"github.com/fsnotify/fsnotify", []string{"internal/shim", "internal/fsutil", "internal/controller", "internal/cityconfig", "internal/hookrunner"}},
	{"github.com/google/go-cmp", nil},
	{"github.com/gorilla/websocket", []string{"internal/agentcli/channel"}},
	{"github.com/hashicorp/yamux", []string{"internal/driver/remote"}},
	{"github.com/invopop/jsonschema", []string{"internal/config"}},
	{"github.com/pelletier/go-toml/v2", []string{"internal/config", "internal/agentcli", "internal/guard", "internal/domain/usage", "internal/doctor"}},
	{"github.com/rogpeppe/go-internal", nil},
	{"github.com/SherClockHolmes/webpush-go", []string{"internal/service/notify"}},
	{"github.com/spf13/cobra", []string{"internal/cli", "internal/cli/cmdenv"}},
	{"github.com/spf13/pflag", []string{"internal/cli", "internal/cli/cmdenv"}},
	{"go.uber.org/goleak", nil},
	{"golang.org/x/sync", []string{anywhere}},
	{"golang.org/x/sys", []string{anywhere}},
	{"golang.org/x/term", []string{anywhere}},
	{"golang.org/x/text", []string{"internal/terminal/inject"}},
	{"k8s.io/api", []string{"provider/k8s"}},
	{"k8s.io/apimachinery", []string{"provider/k8s"}},
	{"k8s.io/client-go", []string{"provider/k8s"}},
	{"k8s.io/klog/v2", []string{"provider/k8s"}},
	{"k8s.io/streaming", []string{"provider/k8s"}},
	{"modernc.org/sqlite", []string{"internal/store"}},
	{"mvdan.cc/sh/v3", []string{anywhere}},
	{"pgregory.net/rapid", nil},
}

// checkDependencies tests the rule known-dependency.
func checkDependencies(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		for i, importPath := range file.imports() {
			if _, ours := t.packageOf(importPath); ours || importPath == "C" || t.isStandard(importPath) {
				continue
			}
			if what := judgeDependency(file, importPath); what != "" {
				found = append(found, t.at(file.Syntax.Imports[i], "%s", what))
			}
		}
	}
	return found
}

// judgeDependency returns why a file may not import an external package, or "" if it may.
func judgeDependency(file *File, importPath string) string {
	row := slices.IndexFunc(dependencies, func(d dependency) bool {
		return importPath == d.module || strings.HasPrefix(importPath, d.module+"/")
	})
	switch {
	case row < 0:
		return "imports " + importPath + ", which is not in the table of dependencies"
	case file.Test, isProgram(file.Package), slices.Contains(dependencies[row].packages, anywhere),
		slices.Contains(dependencies[row].packages, file.Package), dependencies[row].packages == nil && strings.HasSuffix(file.Package, "test"):
		return ""
	}
	return "imports " + importPath + ", which belongs to " + strings.Join(append([]string{"tests"}, dependencies[row].packages...), ", ")
}
