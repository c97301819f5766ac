package archtest

import (
	"slices"
	"strings"
)

// layer is the position of a group of packages in the order of imports. A package may
// import packages of lower layers and of its own group.
type layer int

const (
	layerFoundation layer = iota + 1 // functions that know nothing of gc
	layerContract                    // the public contracts and their test suites
	layerBase                        // general functions; they import only the contracts
	layerKnowledge                   // configuration and profiles of agent CLIs, as data
	layerDomain                      // records, rules and the terminal model
	layerComponent                   // shim, tmux, protocols, store, guard, telemetry
	layerDriver                      // code that several drivers use
	layerProvider                    // the drivers, and provider/all
	layerService                     // engines of prompts, questions, workers and others
	layerController                  // the reconcile loop, and the configuration of a city
	layerServer                      // the control API and the worker API
	layerDashboard                   // the terminal dashboard, which a command starts
	layerFrontend                    // the web console, commands, hooks and the doctor
	layerApp                         // wiring
	layerProgram                     // cmd/gc, test programs, benchmarks and examples
)

// group is a directory whose packages, at any depth, have the same layer.
type group struct {
	dir   string
	layer layer
	// apart forbids imports between different directories directly below dir.
	apart bool
}

// groups lists every group. A directory with Go files that is in no group breaks the
// known-package rule.
var groups = []group{
	{dir: "internal/fsutil", layer: layerFoundation},
	{dir: "internal/retry", layer: layerFoundation},
	{dir: "internal/httpwire", layer: layerFoundation},

	{dir: "runtime", layer: layerContract},
	{dir: "worker", layer: layerContract},
	{dir: "client", layer: layerContract},

	{dir: "internal/citydir", layer: layerBase},
	{dir: "internal/fakeagent", layer: layerBase},
	{dir: "internal/leaderelection", layer: layerBase},
	{dir: "internal/overlay", layer: layerBase},
	{dir: "internal/proc", layer: layerBase},
	{dir: "internal/agent", layer: layerBase},
	{dir: "internal/statedir", layer: layerBase},
	{dir: "internal/textfmt", layer: layerBase},

	{dir: "internal/agentcli", layer: layerKnowledge},
	{dir: "internal/config", layer: layerKnowledge},

	{dir: "internal/domain", layer: layerDomain},
	{dir: "internal/redact", layer: layerDomain},
	{dir: "internal/terminal", layer: layerDomain},

	{dir: "internal/acp", layer: layerComponent},
	{dir: "internal/cleanup", layer: layerComponent},
	{dir: "internal/guard", layer: layerComponent},
	{dir: "internal/shim", layer: layerComponent},
	{dir: "internal/store", layer: layerComponent},
	{dir: "internal/telemetry", layer: layerComponent},

	{dir: "internal/driver", layer: layerDriver},
	{dir: "provider", layer: layerProvider},

	{dir: "internal/service/engine", layer: layerDriver}, // what every engine uses
	{dir: "internal/service", layer: layerService, apart: true},
	{dir: "internal/cityconfig", layer: layerController},
	{dir: "internal/controller", layer: layerController},

	{dir: "internal/server", layer: layerServer},

	{dir: "internal/tui", layer: layerDashboard},

	{dir: "internal/cli", layer: layerFrontend},
	{dir: "internal/doctor", layer: layerFrontend},
	{dir: "internal/hookrunner", layer: layerFrontend},
	{dir: "internal/web", layer: layerFrontend},

	{dir: "internal/app", layer: layerApp},

	{dir: "cmd/gc", layer: layerProgram},
	{dir: "test", layer: layerProgram},
	{dir: "bench", layer: layerProgram},
	{dir: "examples", layer: layerProgram},
	{dir: "contrib", layer: layerProgram},
}

// testPrograms lists directories with programs that use the product but are not part of it.
var testPrograms = []string{"test", "bench", "examples", "contrib"}

// productPrograms lists packages that contain the main function of a program of the product.
var productPrograms = []string{"internal/acp/bridge", "internal/agentcli/channel", "internal/fakeagent"}

// within reports whether dir is one of the parents or below one of them.
func within(dir string, parents ...string) bool {
	for _, parent := range parents {
		if dir == parent || strings.HasPrefix(dir, parent+"/") {
			return true
		}
	}
	return false
}

// groupOf returns the group of a directory; ok is false if it is in no group.
func groupOf(dir string) (g group, ok bool) {
	for _, g := range groups {
		if within(dir, g.dir) {
			return g, true
		}
	}
	return group{}, false
}

// isTestProgram reports whether the directory contains test programs, benchmarks or
// examples.
func isTestProgram(dir string) bool { return within(dir, testPrograms...) }

// isProgram reports whether the directory contains a program other than cmd/gc.
func isProgram(dir string) bool { return isTestProgram(dir) || slices.Contains(productPrograms, dir) }

// checkKnownPackages tests the rule known-package.
func checkKnownPackages(t *Tree) []Finding {
	var found []Finding
	for _, dir := range t.Packages() {
		if _, ok := groupOf(dir); !ok {
			found = append(found, Finding{dir, "package is in no group of the table"})
		}
	}
	return found
}

// checkLayerOrder tests the rule layer-order.
func checkLayerOrder(t *Tree) []Finding {
	return t.eachImport(func(f *File, importPath string) string {
		target, ours := t.packageOf(importPath)
		if !ours || isTestProgram(f.Package) {
			return ""
		}
		from, known := groupOf(f.Package)
		to, targetKnown := groupOf(target)
		switch {
		case !known || !targetKnown || to.layer < from.layer:
			return ""
		case from.dir != to.dir:
			return "imports " + target + ", which is neither in a lower layer nor in its group"
		case from.apart && !related(from, f.Package, target):
			return "imports " + target + ", another part of " + from.dir
		}
		return ""
	})
}

// related reports whether two packages of a group are in the same directory directly
// below the group's directory.
func related(g group, a, b string) bool {
	part := func(dir string) string {
		first, _, _ := strings.Cut(strings.TrimPrefix(dir, g.dir+"/"), "/")
		return first
	}
	return part(a) == part(b)
}

// eachImport calls judge for each import of each file that is not a test. It returns a
// finding for each result that is not empty.
func (t *Tree) eachImport(judge func(f *File, importPath string) string) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test {
			continue
		}
		for i, importPath := range file.imports() {
			if what := judge(file, importPath); what != "" {
				found = append(found, t.at(file.Syntax.Imports[i], "%s", what))
			}
		}
	}
	return found
}
