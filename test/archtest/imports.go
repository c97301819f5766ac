package archtest

import (
	"slices"
	"strings"
)

// standardOnly maps each public package and contract package to the packages of this
// module that it may import. All its other imports must be of the standard library.
var standardOnly = map[string][]string{
	"runtime":             nil,
	"worker":              {"internal/httpwire"},
	"worker/workertest":   {"worker"},
	"client":              {"internal/httpwire"},
	"internal/httpwire":   nil,
	"runtime/runtimetest": {"runtime"},
	"internal/agent":      {"runtime"},

	"runtime/runtimetest/fake": {"runtime", "runtime/runtimetest"},
}

// hiddenFromDrivers lists groups that a driver must not import, although they are in lower layers.
var hiddenFromDrivers = []string{"internal/config", "internal/domain", "internal/guard", "internal/store", "internal/telemetry"}

// openToCLI lists the packages that a command may import: the client, the public
// contracts and packages without effects.
var openToCLI = []string{
	"client", "worker", "runtime", "runtime/runtimetest",
	"internal/agent", "internal/agentcli", "internal/config", "internal/domain/event",
	"internal/domain/plan", "internal/domain/session", "internal/guard", "internal/textfmt", "internal/domain/usage",
	"internal/cli/cmdenv", "internal/cli/render",
	"internal/acp/server", "internal/acp", "internal/tui",
	"internal/retry",
	"internal/terminal/vt", // the screen model: gc peek --follow reads a stream of frames
	"internal/fsutil",      // gc copy writes files in the process of the command
}

// commands lists the packages of the command line. gc's ACP server is one of the
// commands.
var commands = []string{"internal/cli", "internal/acp/server"}

// importsDrivers lists the packages that may import provider/all: the wiring, the settings of the
// drivers, and the checks of the drivers.
var importsDrivers = []string{"internal/app", "internal/cityconfig", "internal/doctor", "cmd/gc"}

// checkPublicImports tests the rule public-standard-library.
func checkPublicImports(t *Tree) []Finding {
	return t.eachImport(func(f *File, importPath string) string {
		allowed, strict := standardOnly[f.Package]
		if !strict || t.isStandard(importPath) {
			return ""
		}
		if target, ours := t.packageOf(importPath); ours && slices.Contains(allowed, target) {
			return ""
		}
		return "imports " + importPath + "; the table standardOnly does not allow it here"
	})
}

// checkDriverImports tests the rule driver-isolation.
func checkDriverImports(t *Tree) []Finding {
	return t.eachImport(func(f *File, importPath string) string {
		target, ours := t.packageOf(importPath)
		if !ours || !isDriver(f.Package) {
			return ""
		}
		if within(target, hiddenFromDrivers...) || within(target, "provider") {
			return "imports " + target + "; a driver must not know it"
		}
		return ""
	})
}

// checkEdgeImports tests the rule edge-isolation.
func checkEdgeImports(t *Tree) []Finding {
	return t.eachImport(func(f *File, importPath string) string {
		target, ours := t.packageOf(importPath)
		if target == "internal/store" && f.Package != "internal/app" && !isProgram(f.Package) {
			return "imports " + target + "; declare the interface that it needs"
		}
		if !ours || !strings.HasPrefix(target, "provider/") || isProgram(f.Package) || strings.HasPrefix(f.Package, "provider/") {
			return ""
		}
		if !slices.Contains(importsDrivers, f.Package) {
			return "imports " + target + "; take a runtime.Provider instead"
		}
		if target != "provider/all" {
			return "imports " + target + "; ask provider/all for it by name"
		}
		return ""
	})
}

// checkCLIImports tests the rule cli-thin.
func checkCLIImports(t *Tree) []Finding {
	return t.eachImport(func(f *File, importPath string) string {
		target, ours := t.packageOf(importPath)
		if !ours || !within(f.Package, commands...) || slices.Contains(openToCLI, target) {
			return ""
		}
		return "imports " + target + "; commands use the client, effects are injected by cmd/gc"
	})
}

// isDriver reports whether the directory is the package of a runtime provider.
func isDriver(dir string) bool {
	return strings.HasPrefix(dir, "provider/") && dir != "provider/all"
}
