package archtest

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// Sizes above which the report asks for a second look. They fail nothing.
//
// Lines of files and packages count code only: neither blank lines nor
// comments. Lines of a function are those of its body.
const (
	fileLines     = 350
	functionLines = 40
	packageLines  = 1500
)

// Limits that fail.
const (
	parameters       = 5
	interfaceMethods = 6
	mainLines        = 40 // of cmd/gc/main.go, blank lines and comments included
)

// Sizes returns the files, functions and packages that are larger than most.
// It is a report for readers and fails nothing.
func Sizes(t *Tree) []Finding {
	var found []Finding
	for _, size := range t.sizes() {
		if size.lines > size.limit {
			found = append(found, Finding{size.where, fmt.Sprintf("%s has %d lines (look twice above %d)", size.thing, size.lines, size.limit)})
		}
	}
	return found
}

// size is one measured thing.
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

func checkMain(t *Tree) []Finding {
	for _, file := range t.Go {
		if lines := strings.Count(string(file.Source), "\n"); file.Path == "cmd/gc/main.go" && lines > mainLines {
			return []Finding{{file.Path, fmt.Sprintf("has %d lines, limit %d", lines, mainLines)}}
		}
	}
	return nil
}

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

// inherited lists exported functions whose signature is not ours to choose.
var inherited = []string{"runtime.FormatBeacon", "runtime.FormatBeaconAt"}

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

// countParameters counts the parameters, a leading context not among them.
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

// countMethods counts the methods written in the interface itself. Embedded
// interfaces are measured where they are declared.
func countMethods(declared *ast.InterfaceType) int {
	count := 0
	for _, field := range declared.Methods.List {
		count += len(field.Names)
	}
	return count
}

// functionName names a function as package.Name or package.Receiver.Name.
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

// bodyLines counts the lines between the braces of the function.
func (t *Tree) bodyLines(function *ast.FuncDecl) int {
	first := t.Fset.Position(function.Body.Lbrace).Line
	last := t.Fset.Position(function.Body.Rbrace).Line
	return max(0, last-first-1)
}

// codeLines counts the lines that hold at least a part of a token; comments
// and blank lines hold none, and a raw string fills all the lines it spans.
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
		lines += max(0, end-max(first, last+1)+1)
		last = max(last, end)
	}
}
