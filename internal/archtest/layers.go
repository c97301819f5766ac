package archtest

import (
	"slices"
	"strings"
)

// layer orders the groups of packages. A package may import packages of lower
// layers and of its own group.
type layer int

const (
	layerContract   layer = iota + 1 // the public contracts and their test suites
	layerBase                        // general helpers; of the product they know the contracts only
	layerKnowledge                   // configuration and profiles of agent CLIs, as data
	layerDomain                      // records, rules and the terminal model
	layerComponent                   // shim, tmux, protocols, store, guard, telemetry
	layerDriver                      // what drivers share
	layerProvider                    // the drivers and their table
	layerService                     // engines of prompts, questions, workers and the like
	layerController                  // the reconcile loop, and the configuration that it works by
	layerFrontend                    // servers, commands, hooks and the doctor
	layerApp                         // wiring
	layerProgram                     // cmd/gc, test programs, benchmarks and examples
)

// group is a folder whose packages, at any depth, share a layer.
type group struct {
	dir   string
	layer layer
	// apart forbids that a package imports another one of the group that is
	// neither above nor below it in the tree.
	apart bool
}

// groups lists every group. A folder with Go files that is in none fails the
// known-package rule.
var groups = []group{
	{dir: "runtime", layer: layerContract},
	{dir: "worker", layer: layerContract},
	{dir: "client", layer: layerContract},

	{dir: "internal/citydir", layer: layerBase},
	{dir: "internal/fakeagent", layer: layerBase},
	{dir: "internal/fsutil", layer: layerBase},
	{dir: "internal/jsontext", layer: layerBase},
	{dir: "internal/leaderelection", layer: layerBase},
	{dir: "internal/overlay", layer: layerBase},
	{dir: "internal/proc", layer: layerBase},
	{dir: "internal/agent", layer: layerBase},
	{dir: "internal/statedir", layer: layerBase},
	{dir: "internal/textfmt", layer: layerBase},
	{dir: "internal/workqueue", layer: layerBase},

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
	{dir: "internal/tmux", layer: layerComponent},

	{dir: "internal/driver", layer: layerDriver},
	{dir: "provider", layer: layerProvider},

	{dir: "internal/service", layer: layerService, apart: true},
	{dir: "internal/cityconfig", layer: layerController},
	{dir: "internal/controller", layer: layerController},

	{dir: "internal/cli", layer: layerFrontend},
	{dir: "internal/doctor", layer: layerFrontend},
	{dir: "internal/hookrunner", layer: layerFrontend},
	{dir: "internal/server", layer: layerFrontend},

	{dir: "internal/app", layer: layerApp},

	{dir: "cmd/gc", layer: layerProgram},
	{dir: "internal/archtest", layer: layerProgram},
	{dir: "test", layer: layerProgram},
	{dir: "bench", layer: layerProgram},
	{dir: "examples", layer: layerProgram},
	{dir: "contrib", layer: layerProgram},
}

// testPrograms are built from the product but are not part of it.
var testPrograms = []string{"internal/archtest", "test", "bench", "examples", "contrib"}

// productPrograms are main functions in all but name.
var productPrograms = []string{"internal/acp/bridge", "internal/agentcli/channel", "internal/fakeagent"}

// within reports whether dir is one of the parents or below it.
func within(dir string, parents ...string) bool {
	for _, parent := range parents {
		if dir == parent || strings.HasPrefix(dir, parent+"/") {
			return true
		}
	}
	return false
}

// groupOf returns the group of the folder; ok is false if it is in none.
func groupOf(dir string) (g group, ok bool) {
	for _, g := range groups {
		if within(dir, g.dir) {
			return g, true
		}
	}
	return group{}, false
}

// isTestProgram reports whether the folder holds test programs, benchmarks or
// examples.
func isTestProgram(dir string) bool { return within(dir, testPrograms...) }

// isProgram reports whether the folder holds a program beside cmd/gc.
func isProgram(dir string) bool { return isTestProgram(dir) || slices.Contains(productPrograms, dir) }

func checkKnownPackages(t *Tree) []Finding {
	var found []Finding
	for _, dir := range t.Packages() {
		if _, ok := groupOf(dir); !ok {
			found = append(found, Finding{dir, "package is in no group of the table"})
		}
	}
	return found
}

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

// related reports whether two packages of the group are in the same folder
// below it.
func related(g group, a, b string) bool {
	part := func(dir string) string {
		first, _, _ := strings.Cut(strings.TrimPrefix(dir, g.dir+"/"), "/")
		return first
	}
	return part(a) == part(b)
}

// eachImport asks judge about each import of each file that is not a test and
// reports the answers that are not empty.
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
