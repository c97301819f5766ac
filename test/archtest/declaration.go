package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// checkPackageComment tests the rule package-comment.
func checkPackageComment(t *Tree) []Finding {
	var found []Finding
	for _, dir := range t.Packages() {
		var with []string
		sources := 0
		for _, file := range t.Go {
			if file.Package != dir || file.Test {
				continue
			}
			sources++
			if file.Syntax.Doc != nil {
				with = append(with, path.Base(file.Path))
			}
		}
		switch {
		case sources > 0 && len(with) == 0:
			found = append(found, Finding{dir, "no file has the package comment"})
		case len(with) > 1:
			found = append(found, Finding{dir, "the package comment is in several files: " + strings.Join(with, ", ")})
		}
	}
	return found
}

// checkInit tests the rule no-init.
func checkInit(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		for _, declared := range file.Syntax.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
				found = append(found, t.at(function, "declares init"))
			}
		}
	}
	return found
}

// constantCalls lists functions whose result may be a package variable, because the
// result does not change.
var constantCalls = []string{
	"errors.New", "fmt.Errorf", "regexp.MustCompile", "regexp.MustCompilePOSIX", "strings.NewReplacer",
	"template.Must", "netip.MustParseAddr", "netip.MustParsePrefix", "sync.OnceValue", "sync.OnceValues",
	"reflect.TypeFor", "reflect.TypeOf", "bytes.Repeat", "strings.Repeat", "slices.Concat",
}

// embedGap is the largest distance in bytes between an embed directive and its
// variable: the length of "\nvar " and some room.
const embedGap = 8

// checkGlobals tests the rule no-mutable-global.
func checkGlobals(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test {
			continue
		}
		for _, spec := range packageVariables(file) {
			if !embeds(file, spec) {
				found = append(found, t.judgeGlobal(file, spec)...)
			}
		}
		found = append(found, t.globalWrites(file)...)
	}
	return found
}

// judgeGlobal returns a finding for each variable of one declaration that is not
// constant. The version in cmd is allowed, because the linker sets it.
func (t *Tree) judgeGlobal(file *File, spec *ast.ValueSpec) []Finding {
	var found []Finding
	for i, name := range spec.Names {
		if name.Name == "_" || strings.HasPrefix(file.Package, "cmd/") && name.Name == "version" {
			continue
		}
		if i >= len(spec.Values) || !constantValue(spec.Values[i]) {
			found = append(found, t.at(name, "%s is a package variable that can change; give it an owner", name.Name))
		}
	}
	return found
}

// embeds reports whether the line above the declaration embeds a file in it.
func embeds(file *File, spec *ast.ValueSpec) bool {
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//go:embed ") && comment.Pos() < spec.Pos() && spec.Pos()-comment.End() < embedGap {
				return true
			}
		}
	}
	return false
}

// constantValue reports whether the expression is a sentinel error, a compiled pattern or
// a table.
func constantValue(value ast.Expr) bool {
	switch typed := value.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.UnaryExpr: // a sentinel of a struct type
		_, literal := typed.X.(*ast.CompositeLit)
		return typed.Op == token.AND && literal
	case *ast.SelectorExpr: // another package's sentinel under our name
		return strings.HasPrefix(typed.Sel.Name, "Err")
	case *ast.CallExpr:
		if conversion, ok := typed.Fun.(*ast.ArrayType); ok {
			return conversion.Len == nil
		}
		return slices.Contains(constantCalls, selectorName(typed.Fun))
	}
	return false
}

// selectorName returns "pkg.Name" for a selector, without type arguments, and "" for any
// other expression.
func selectorName(expression ast.Expr) string {
	if index, ok := expression.(*ast.IndexExpr); ok {
		expression = index.X
	}
	selector, ok := expression.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	owner, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return owner.Name + "." + selector.Sel.Name
}

// globalWrites returns a finding for each assignment to a package variable of the file's
// package: a table that is changed is state.
func (t *Tree) globalWrites(file *File) []Finding {
	globals := t.globalsOf(file.Package)
	var found []Finding
	report := func(target ast.Expr) {
		name := rootIdent(target)
		if name != nil && globals[name.Name] && !isLocal(file, name) {
			found = append(found, t.at(target, "writes to the package variable %s", name.Name))
		}
	}
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		switch typed := node.(type) {
		case *ast.AssignStmt:
			if typed.Tok != token.DEFINE {
				for _, target := range typed.Lhs {
					report(target)
				}
			}
		case *ast.IncDecStmt:
			report(typed.X)
		}
		return true
	})
	return found
}

// globalsOf returns the names of the package variables of the package.
func (t *Tree) globalsOf(dir string) map[string]bool {
	names := map[string]bool{}
	for _, file := range t.Go {
		if file.Package != dir || file.Test {
			continue
		}
		for _, spec := range packageVariables(file) {
			for _, name := range spec.Names {
				names[name.Name] = name.Name != "_"
			}
		}
	}
	return names
}

// packageVariables returns the variable declarations outside functions.
func packageVariables(file *File) []*ast.ValueSpec {
	var specs []*ast.ValueSpec
	for _, declared := range file.Syntax.Decls {
		group, ok := declared.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, spec := range group.Specs {
			specs = append(specs, spec.(*ast.ValueSpec)) // the only kind in a var group
		}
	}
	return specs
}

// rootIdent returns the variable that an assignment to the expression changes.
func rootIdent(target ast.Expr) *ast.Ident {
	for {
		switch typed := target.(type) {
		case *ast.Ident:
			return typed
		case *ast.IndexExpr:
			target = typed.X
		case *ast.SelectorExpr:
			target = typed.X
		case *ast.StarExpr:
			target = typed.X
		case *ast.ParenExpr:
			target = typed.X
		default:
			return nil
		}
	}
}

// isLocal reports whether the parser resolved the name to a declaration inside
// a function; a name of another file of the package stays unresolved.
func isLocal(file *File, name *ast.Ident) bool {
	object := name.Obj // the scopes of the parser are enough: go/types would need every dependency compiled
	if object == nil {
		return false
	}
	spec, ok := object.Decl.(*ast.ValueSpec)
	return !ok || !slices.Contains(packageVariables(file), spec)
}
