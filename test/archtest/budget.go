package archtest

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// Sizes above which files, functions and packages are reported as large. They do not
// fail the test.
//
// Lines of files and packages count code only: neither blank lines nor
// comments. Lines of a function are those of its body.
const (
	fileLines     = 350
	functionLines = 40
	packageLines  = 1500
)

// Limits that fail the test.
const (
	parameters       = 5
	interfaceMethods = 6
	mainLines        = 40 // of cmd/gc/main.go, blank lines and comments included
)

// Sizes returns the files, functions and packages above the soft limits. It is a
// report for readers: these findings do not fail the test.
func Sizes(t *Tree) []Finding {
	var found []Finding
	for _, size := range t.sizes() {
		if size.lines > size.limit {
			found = append(found, Finding{size.where, fmt.Sprintf("%s has %d lines (soft limit %d)", size.thing, size.lines, size.limit)})
		}
	}
	return found
}

// size is the size of one file, function or package.
type size struct {
	thing string
	where string
	lines int
	limit int
}

// sizes measures files, functions and packages. Generated files are not
// measured; tests are measured as files only.
func (t *Tree) sizes() []size {
	var all []size
	packages := map[string]int{}
	for _, file := range t.Go {
		if ast.IsGenerated(file.Syntax) {
			continue
		}
		lines := codeLines(file.Source)
		all = append(all, size{file.Path, file.Path, lines, fileLines})
		if file.Test {
			continue
		}
		packages[file.Package] += lines
		for _, declared := range file.Syntax.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok && function.Body != nil {
				where := t.at(function, "").Where
				all = append(all, size{functionName(file, function), where, t.bodyLines(function), functionLines})
			}
		}
	}
	for _, dir := range t.Packages() {
		all = append(all, size{"package " + dir, dir, packages[dir], packageLines})
	}
	return all
}

// checkMain tests the rule main-small.
func checkMain(t *Tree) []Finding {
	for _, file := range t.Go {
		if lines := strings.Count(string(file.Source), "\n"); file.Path == "cmd/gc/main.go" && lines > mainLines {
			return []Finding{{file.Path, fmt.Sprintf("has %d lines, limit %d", lines, mainLines)}}
		}
	}
	return nil
}

// checkParameterBudget tests the rule parameter-budget.
func checkParameterBudget(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test {
			continue
		}
		for _, declared := range file.Syntax.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := functionName(file, function)
			if count := countParameters(function.Type); count > parameters {
				found = append(found, t.at(function, "%s has %d parameters beside ctx, limit %d", name, count, parameters))
			}
		}
	}
	return found
}

// inherited lists exported functions whose signature is given by existing callers.
var inherited = []string{"runtime.FormatBeacon", "runtime.FormatBeaconAt"}

// checkBoolParameters tests the rule bool-parameter. Methods of the inherited contract are exempt.
func checkBoolParameters(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test || isProgram(file.Package) {
			continue
		}
		for _, declared := range file.Syntax.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok || !isExported(function) || slices.Contains(inherited, functionName(file, function)) {
				continue
			}
			for _, field := range function.Type.Params.List {
				if name, ok := field.Type.(*ast.Ident); ok && name.Name == "bool" {
					found = append(found, t.at(function, "%s takes a bool", functionName(file, function)))
				}
			}
		}
	}
	return found
}

// isExported reports whether other packages can call the function by its name:
// a method counts if its type is exported too.
func isExported(function *ast.FuncDecl) bool {
	if function.Recv != nil && !ast.IsExported(receiverName(function.Recv.List[0].Type)) {
		return false
	}
	return function.Name.IsExported()
}

// countParameters returns the number of parameters, without a context as the first one.
func countParameters(function *ast.FuncType) int {
	count := 0
	for i, field := range function.Params.List {
		if selector, ok := field.Type.(*ast.SelectorExpr); i == 0 && ok && selector.Sel.Name == "Context" {
			continue
		}
		count += max(1, len(field.Names))
	}
	return count
}

// checkInterfaceBudget tests the rule interface-budget.
func checkInterfaceBudget(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test {
			continue
		}
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			declared, ok := spec.Type.(*ast.InterfaceType)
			if !ok {
				return true
			}
			name := file.Package + "." + spec.Name.Name
			if count := countMethods(declared); count > interfaceMethods {
				found = append(found, t.at(spec, "%s declares %d methods, limit %d", name, count, interfaceMethods))
			}
			return true
		})
	}
	return found
}

// countMethods returns the number of methods declared in the interface itself. Embedded
// interfaces are counted where they are declared.
func countMethods(declared *ast.InterfaceType) int {
	count := 0
	for _, field := range declared.Methods.List {
		count += len(field.Names)
	}
	return count
}

// functionName returns package.Name or package.Receiver.Name.
func functionName(file *File, function *ast.FuncDecl) string {
	name := function.Name.Name
	if function.Recv != nil && len(function.Recv.List) > 0 {
		name = receiverName(function.Recv.List[0].Type) + "." + name
	}
	return file.Package + "." + name
}

// receiverName returns the type's name without pointer and type parameters.
func receiverName(expression ast.Expr) string {
	for {
		switch typed := expression.(type) {
		case *ast.StarExpr:
			expression = typed.X
		case *ast.IndexExpr:
			expression = typed.X
		case *ast.IndexListExpr:
			expression = typed.X
		case *ast.Ident:
			return typed.Name
		default:
			return "?"
		}
	}
}

// bodyLines returns the number of lines between the braces of the function.
func (t *Tree) bodyLines(function *ast.FuncDecl) int {
	first := t.Fset.Position(function.Body.Lbrace).Line
	last := t.Fset.Position(function.Body.Rbrace).Line
	return max(0, last-first-1)
}

// codeLines returns the number of lines that contain code. Blank lines and comments do
// not count; a raw string counts with all its lines.
func codeLines(source []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(source))
	var lexer scanner.Scanner
	lexer.Init(file, source, nil, 0)
	lines, last := 0, 0
	for {
		pos, kind, literal := lexer.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(literal, "\n")
		first = max(first, last+1) // the lines up to last are counted already
		lines += max(0, end-first+1)
		last = max(last, end)
	}
}
