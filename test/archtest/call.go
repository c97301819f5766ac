package archtest

import (
	"go/ast"
	"slices"
	"strings"
)

// permit is the comment that exempts one line from a rule about calls. A reason must
// follow it.
const permit = "//nolint:forbidigo //"

func checkEnvironment(t *Tree) []Finding {
	return t.forbidCalls(
		[]string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.Setenv", "os.Unsetenv", "os.ExpandEnv"},
		func(f *File) bool { return f.Test || isProgram(f.Package) || strings.HasPrefix(f.Package, "cmd/") },
	)
}

// checkSleep reports calls of time.Sleep. They are allowed in tests that use synctest,
// where time does not pass really, and in test programs, which simulate slow agents.
func checkSleep(t *Tree) []Finding {
	return t.forbidCalls([]string{"time.Sleep"}, func(f *File) bool {
		return isProgram(f.Package) && !f.Test || f.Test && slices.Contains(f.imports(), "testing/synctest")
	})
}

func checkBackground(t *Tree) []Finding {
	return t.forbidCalls([]string{"context.Background", "context.TODO"}, func(f *File) bool {
		return f.Test || isProgram(f.Package) || strings.HasPrefix(f.Package, "cmd/")
	})
}

// forbidCalls reports each use of one of the names, called or passed on, in
// files for which exempt returns false. A line with [permit] and a reason is allowed.
func (t *Tree) forbidCalls(names []string, exempt func(*File) bool) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if exempt(file) {
			continue
		}
		permitted := t.permittedLines(file)
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if ok && slices.Contains(names, selectorName(selector)) && !permitted[t.Fset.Position(selector.Pos()).Line] {
				found = append(found, t.at(selector, "uses %s", selectorName(selector)))
			}
			return true
		})
	}
	return found
}

// permittedLines returns the lines that have a [permit] comment with a reason.
func (t *Tree) permittedLines(file *File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			if reason, ok := strings.CutPrefix(comment.Text, permit); ok && strings.TrimSpace(reason) != "" {
				lines[t.Fset.Position(comment.Pos()).Line] = true
			}
		}
	}
	return lines
}
