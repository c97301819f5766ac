package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
)

// functionCount counts functions, and those whose name begins with a narrative verb.
type functionCount struct {
	verbs    map[string]bool
	product  tally
	tests    tally
	packages map[string][]string // narrative functions by package
}

type tally struct{ all, narrative int }

// inNames returns the parts of declared names that are on the list, and counts the functions.
func (l *list) inNames(file string, source []byte, functions *functionCount) ([]finding, error) {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, ident := range declared(syntax) {
		for _, part := range partsOf(ident.Name) {
			if proposal, ok := l.names[part]; ok {
				found = append(found, finding{fset.Position(ident.Pos()).Offset, ident.Name, fmt.Sprintf("%s (for %s)", proposal, part)})
				break
			}
		}
	}
	for _, d := range syntax.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			functions.add(file, f.Name.Name)
			if verb := docVerb(f); l.verbs[verb] && !strings.HasSuffix(file, "_test.go") {
				found = append(found, finding{fset.Position(f.Doc.Pos()).Offset, f.Name.Name + " " + verb, "returns, reports, sends or another standard verb"})
			}
		}
	}
	return found, nil
}

// docVerb returns the word behind the name in a doc comment that begins with the function's name.
func docVerb(f *ast.FuncDecl) string {
	words := strings.Fields(f.Doc.Text())
	if len(words) < 2 || words[0] != f.Name.Name {
		return ""
	}
	return strings.ToLower(words[1])
}

// declared returns the names that the file declares, in source order.
func declared(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	add := func(expressions ...ast.Expr) {
		for _, e := range expressions {
			if name, ok := e.(*ast.Ident); ok && name != nil {
				names = append(names, name)
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return names
}

// partsOf splits a name such as askHTTPServer into ask, http, server.
func partsOf(name string) []string {
	var parts []string
	runes := []rune(name)
	from := 0
	for i := 1; i <= len(runes); i++ {
		if i < len(runes) && !begins(runes, i) {
			continue
		}
		if part := strings.Trim(strings.ToLower(string(runes[from:i])), "_"); part != "" {
			parts = append(parts, part)
		}
		from = i
	}
	return parts
}

// begins reports whether a part of a name begins at i, which is not the first rune.
func begins(name []rune, i int) bool {
	switch {
	case name[i-1] == '_':
		return true
	case !unicode.IsUpper(name[i]):
		return false
	}
	return !unicode.IsUpper(name[i-1]) || i+1 < len(name) && unicode.IsLower(name[i+1])
}

// add counts one function.
func (c *functionCount) add(file, name string) {
	count := &c.product
	if strings.HasSuffix(file, "_test.go") {
		count = &c.tests
	}
	count.all++
	if parts := partsOf(name); len(parts) == 0 || !c.verbs[parts[0]] {
		return
	}
	count.narrative++
	if c.packages == nil {
		c.packages = map[string][]string{}
	}
	c.packages[path.Dir(file)] = append(c.packages[path.Dir(file)], path.Base(file)+" "+name)
}

// worst is how many packages a finding of [functionCount.over] lists.
const worst = 10

// over returns a finding if more than limit percent of the functions begin with a narrative verb,
// in the product or in its tests. Functions of the allow list count as others.
func (c *functionCount) over(limit float64, allow *allowList) []string {
	product, tests := c.product, c.tests
	left := map[string][]string{}
	for dir, functions := range c.packages {
		for _, function := range functions {
			file, name, _ := strings.Cut(function, " ")
			switch {
			case !allow.permits(path.Join(dir, file), name):
				left[dir] = append(left[dir], name)
			case strings.HasSuffix(file, "_test.go"):
				tests.narrative--
			default:
				product.narrative--
			}
		}
	}
	if product.percent() <= limit && tests.percent() <= limit {
		return nil
	}
	lines := []string{fmt.Sprintf("functions that begin with a narrative verb: %s of the product, %s of the tests; the limit is %g%%",
		product, tests, limit)}
	dirs := slices.SortedFunc(maps.Keys(left), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(left[b]), len(left[a])), cmp.Compare(a, b))
	})
	for _, dir := range dirs[:min(worst, len(dirs))] {
		slices.Sort(left[dir])
		lines = append(lines, fmt.Sprintf("%s: %d: %s", dir, len(left[dir]), strings.Join(left[dir], " ")))
	}
	return lines
}

func (t tally) percent() float64 {
	return 100 * float64(t.narrative) / float64(max(1, t.all))
}

func (t tally) String() string {
	return fmt.Sprintf("%d of %d functions (%.1f%%)", t.narrative, t.all, t.percent())
}
