package archtest

import (
	"fmt"
	"go/ast"
)

// Rule is one checked sentence about the tree.
type Rule struct {
	// Name is short, stable and unique.
	Name string
	// Why is the reason, printed with each finding.
	Why string
	// Check returns every place where the tree breaks the rule.
	Check func(*Tree) []Finding
}

// Finding is one place that breaks a rule, or in a report of soft limits comes
// near to it.
type Finding struct {
	// Where is a path or path:line.
	Where string
	// What says what was found there, and the remedy where it is not plain.
	What string
}

func (f Finding) String() string { return f.Where + ": " + f.What }

// Rules returns every rule in the order in which they are explained in
// docs/explanation/architecture-rules.md.
func Rules() []Rule {
	return []Rule{
		{"known-package", "a new group of packages is a design decision: add a row to the table in internal/archtest/layers.go and an ADR", checkKnownPackages},
		{"layer-order", "a package imports lower layers and its own group only (docs/design.md, Layout)", checkLayerOrder},
		{"public-standard-library", "users of the public packages and the contracts must not inherit our dependencies", checkPublicImports},
		{"driver-isolation", "a driver knows runtime.Config, never the city's configuration, the reconciler or another driver", checkDriverImports},
		{"edge-isolation", "above the drivers only the assembly may know which drivers exist", checkEdgeImports},
		{"cli-thin", "a command parses, calls the client and prints", checkCLIImports},
		{"known-dependency", "a dependency is a decision: add a row to internal/archtest/dependency.go and to ADR 0002", checkDependencies},
		{"main-small", "main only hands the process's streams and environment to the assembly", checkMain},
		{"parameter-budget", "more than five parameters want a struct", checkParameterBudget},
		{"bool-parameter", "f(true) does not say what is true: write two functions or an enum", checkBoolParameters},
		{"interface-budget", "an interface is one idea; compose facets instead", checkInterfaceBudget},
		{"package-comment", "a package is explained once, in one place", checkPackageComment},
		{"no-init", "what happens at start is written in main, in order", checkInit},
		{"no-mutable-global", "state has an owner; package variables are sentinels, compiled patterns and tables", checkGlobals},
		{"no-hidden-input", "the environment is read in cmd/ and handed down", checkEnvironment},
		{"no-sleep", "wait on an event with a deadline", checkSleep},
		{"no-background-context", "take a ctx from the caller", checkBackground},
		{"vendor-literal", "what we know of an agent CLI is data in internal/agentcli", checkVendorLiterals},
		{"provider-literal", "a provider's name belongs to its own package and to provider/all", checkProviderLiterals},
		{"file-name", "a file is named by its noun", checkFileNames},
		{"driver-conformance", "a driver is what the suite says it is", checkConformance},
		{"doc-link", "a link without a target is not read twice", checkLinks},
		{"doc-proof", "a promise whose test has gone is held by nothing", checkProofs},
	}
}

// at builds a finding at the line of the node.
func (t *Tree) at(node ast.Node, format string, args ...any) Finding {
	position := t.Fset.Position(node.Pos())
	return Finding{Where: fmt.Sprintf("%s:%d", position.Filename, position.Line), What: fmt.Sprintf(format, args...)}
}
