package archtest

import (
	"fmt"
	"go/ast"
)

// Rule is one rule about the source tree.
type Rule struct {
	// Name is short, stable and unique.
	Name string
	// Why is the reason, printed with each finding.
	Why string
	// Check returns a finding for each violation of the rule.
	Check func(*Tree) []Finding
}

// Finding is one violation of a rule, or of a soft limit.
type Finding struct {
	// Where is a path or path:line.
	Where string
	// What describes the violation, and the fix if it is not obvious.
	What string
}

// String implements fmt.Stringer.
func (f Finding) String() string { return f.Where + ": " + f.What }

// Rules returns every rule in the order in which they are explained in
// docs/explanation/architecture-rules.md.
func Rules() []Rule {
	return []Rule{
		{"known-package", "a new group of packages is a design decision: add a row to the table in test/archtest/layers.go and an ADR", checkKnownPackages},
		{"layer-order", "a package imports lower layers and its own group only (docs/design.md, Layout)", checkLayerOrder},
		{"public-standard-library", "programs that import the public packages must not get more dependencies by that", checkPublicImports},
		{"driver-isolation", "a driver knows runtime.Config, never the city's configuration, the reconciler or another driver", checkDriverImports},
		{"edge-isolation", "only the wiring may know which drivers and which database exist", checkEdgeImports},
		{"cli-thin", "a command parses, calls the client and prints", checkCLIImports},
		{"known-dependency", "a dependency is a decision: add a row to test/archtest/dependency.go and to ADR 0002", checkDependencies},
		{"main-small", "main only passes the process's streams and environment to the wiring", checkMain},
		{"parameter-budget", "a function with more than five parameters should accept a struct", checkParameterBudget},
		{"bool-parameter", "in a call f(true) the meaning of true is not visible: write two functions or an enum", checkBoolParameters},
		{"interface-budget", "an interface has one purpose; combine small interfaces instead", checkInterfaceBudget},
		{"package-comment", "a package is explained once, in one place", checkPackageComment},
		{"no-init", "main contains everything that happens at the start, in order", checkInit},
		{"no-mutable-global", "state has an owner; package variables are sentinels, compiled patterns and tables", checkGlobals},
		{"no-hidden-input", "the environment is read in cmd/ and passed as a value", checkEnvironment},
		{"no-sleep", "wait on an event with a deadline", checkSleep},
		{"no-background-context", "use the caller's context", checkBackground},
		{"vendor-literal", "knowledge about an agent CLI is data in internal/agentcli", checkVendorLiterals},
		{"provider-literal", "a provider's name belongs to its own package and to provider/all", checkProviderLiterals},
		{"file-name", "a file is named by its noun", checkFileNames},
		{"driver-conformance", "the conformance suite decides whether a driver is correct", checkConformance},
		{"doc-link", "a link needs a target that exists", checkLinks},
		{"doc-proof", "a guarantee needs a test that exists", checkProofs},
	}
}

// at returns a finding at the line of the node.
func (t *Tree) at(node ast.Node, format string, args ...any) Finding {
	position := t.Fset.Position(node.Pos())
	return Finding{Where: fmt.Sprintf("%s:%d", position.Filename, position.Line), What: fmt.Sprintf(format, args...)}
}
