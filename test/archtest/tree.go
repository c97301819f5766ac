// Package archtest reads the source tree and checks the rules of its
// architecture: the order of the layers, the budgets, what may be declared or
// called where, and which words belong to one package only.
//
// A rule is a pure function from a [Tree] to findings. [Rules] lists them all;
// the test of this package runs each one on the repository and on planted
// sources that break it, so that a rule that finds nothing is noticed. Nothing is
// compiled and build tags are ignored: a file for darwin is checked on linux too.
package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxText is the largest size in bytes of a text file. A larger file that is not Go
// source is not read.
const maxText = 1 << 20

// Tree is the parsed source of one module. It is constant after [Load].
type Tree struct {
	// Module is the module path, the prefix of every import path of this module.
	Module string
	// Fset holds the positions of all files.
	Fset *token.FileSet
	// Go lists the parsed Go files in path order; testdata, hidden folders and
	// nested modules are left out.
	Go []*File
	// Paths lists every regular file that the walk met.
	Paths []string
	// Texts lists every readable text file, Go files included, in path order.
	Texts []Text
}

// File is one Go file.
type File struct {
	// Path is relative to the root of the tree, with slashes.
	Path string
	// Package is the folder of the file; "." for the root.
	Package string
	// Test is true if the name ends in _test.go.
	Test bool
	// Source is the text as read.
	Source []byte
	// Syntax is the parsed file with comments.
	Syntax *ast.File
}

// Text is one text file of the tree.
type Text struct {
	Path string
	Body []byte
}

// Load reads and parses the tree below fsys, whose root must hold go.mod. It
// fails on the first file that cannot be read or parsed.
func Load(fsys fs.FS) (*Tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("read module file: %w", err)
	}
	tree := &Tree{Module: modulePath(mod), Fset: token.NewFileSet()}
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(fsys, name)
		}
		return tree.add(fsys, name, entry)
	})
	if err != nil {
		return nil, fmt.Errorf("read source tree: %w", err)
	}
	return tree, nil
}

// enter returns [fs.SkipDir] for a directory that is not part of the source: build
// results, hidden directories and nested modules.
func enter(fsys fs.FS, name string) error {
	base := path.Base(name)
	if name == "." {
		return nil
	}
	if base == "bin" || base == "dist" || base == "node_modules" || base == ".git" || base == ".runtime" || base == ".gc" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, name+"/go.mod"); err == nil {
		return fs.SkipDir
	}
	return nil
}

// add adds a file to the tree.
func (t *Tree) add(fsys fs.FS, name string, entry fs.DirEntry) error {
	if !entry.Type().IsRegular() {
		return nil
	}
	t.Paths = append(t.Paths, name)
	source := strings.HasSuffix(name, ".go") && !strings.Contains("/"+name, "/testdata/")
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if info.Size() > maxText && !source {
		return nil
	}
	body, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 {
		t.Texts = append(t.Texts, Text{Path: name, Body: body})
	}
	if !source {
		return nil
	}
	syntax, err := parser.ParseFile(t.Fset, name, body, parser.ParseComments)
	if err != nil {
		return err
	}
	t.Go = append(t.Go, &File{
		Path:    name,
		Package: path.Dir(name),
		Test:    strings.HasSuffix(name, "_test.go"),
		Source:  body,
		Syntax:  syntax,
	})
	return nil
}

// modulePath returns the path that the module file declares, "" if none.
func modulePath(mod []byte) string {
	for line := range strings.Lines(string(mod)) {
		if rest, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// Packages returns the folders that hold Go files, sorted.
func (t *Tree) Packages() []string {
	var packages []string
	for _, file := range t.Go {
		packages = append(packages, file.Package)
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// imports returns the import paths of the file in source order.
func (f *File) imports() []string {
	paths := make([]string, 0, len(f.Syntax.Imports))
	for _, spec := range f.Syntax.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

// packageOf returns the directory of an import of this module; ok is false for other modules.
func (t *Tree) packageOf(importPath string) (dir string, ok bool) {
	if importPath == t.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.Module+"/")
}

// isStandard reports whether the import path belongs to the standard library,
// whose first element never contains a dot, and not to this module.
func (t *Tree) isStandard(importPath string) bool {
	if _, ours := t.packageOf(importPath); ours {
		return false
	}
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
