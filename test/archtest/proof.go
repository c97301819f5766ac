package archtest

import (
	"go/ast"
	"regexp"
	"strconv"
	"strings"
)

// proof matches the name of a test in inline code.
var proof = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*)`")

// checkProofs returns a finding for each test that a Markdown page names and that does not exist.
func checkProofs(t *Tree) []Finding {
	known := t.tests()
	var found []Finding
	for _, text := range t.Texts {
		if !strings.HasSuffix(text.Path, ".md") || strings.Contains(text.Path, "testdata/") {
			continue
		}
		number := 0
		for line := range strings.Lines(string(text.Body)) {
			number++
			for _, match := range proof.FindAllStringSubmatch(line, -1) {
				if !known[match[1]] {
					found = append(found, Finding{text.Path + ":" + strconv.Itoa(number), "names " + match[1] + ", which is no test"})
				}
			}
		}
	}
	return found
}

// tests returns the names of all functions in test files.
func (t *Tree) tests() map[string]bool {
	names := map[string]bool{}
	for _, file := range t.Go {
		if !file.Test {
			continue
		}
		for _, decl := range file.Syntax.Decls {
			if function, ok := decl.(*ast.FuncDecl); ok && function.Recv == nil {
				names[function.Name.Name] = true
			}
		}
	}
	return names
}
