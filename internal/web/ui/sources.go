package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Sources returns the files of the pages from the sources in a checkout, without a bundle: the page loads each module by itself. dir is
// the checkout or its folder internal/web/ui. Each file is read when it is opened, so a reload of the page has every change. It is for
// people who change the pages.
//
// A browser does not know the names of libraries, style sheets and images in import statements, so they are replaced by paths. Links
// that lead out of the folder are not followed.
func Sources(dir string) (fs.FS, error) {
	for _, folder := range []string{dir, filepath.Join(dir, "internal", "web", "ui")} {
		s := sources{folder}
		if _, err := s.modules(); err == nil {
			return s, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot read the pages in %s: %w", folder, err)
		}
	}
	return nil, fmt.Errorf("%s has no sources of the pages: name a checkout of gc: %w", dir, fs.ErrNotExist)
}

// moduleFile lists the libraries by the names in import statements. The bundler reads it too.
const moduleFile = "vendored/modules.json"

// sources are the files of the pages in the folder of this package in a checkout.
type sources struct{ folder string }

// modules returns the paths of the vendored libraries by the names with which modules import them.
func (s sources) modules() (map[string]string, error) {
	text, err := s.read(moduleFile)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, fmt.Errorf("%s: %w", moduleFile, err)
	}
	return known, nil
}

// read returns a regular file of the folder.
func (s sources) read(name string) ([]byte, error) {
	root, err := os.OpenRoot(s.folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
	}
	return root.ReadFile(name)
}

// Open implements fs.FS.
func (s sources) Open(name string) (fs.File, error) {
	content, err := s.content(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{Reader: bytes.NewReader(content), name: name}, nil
}

// The page and the style sheet are made of several files.
const (
	pageName  = "index.html"
	styleName = "app.css"
)

// content returns a file as the browser gets it.
func (s sources) content(name string) ([]byte, error) {
	part, _, _ := strings.Cut(name, "/")
	switch {
	case name == pageName || name == "manifest.webmanifest":
		text, err := s.read("static/" + name)
		return placeholder.ReplaceAllFunc(text, func(found []byte) []byte {
			switch file := string(found[2 : len(found)-2]); file {
			case "app.js":
				return []byte("/src/main.js")
			case styleName:
				return []byte("/" + styleName)
			default:
				return []byte("/static/" + file)
			}
		}), err
	case name == styleName:
		return s.styles()
	case !fs.ValidPath(name) || part != "src" && part != "static" && part != "vendored":
		return nil, fs.ErrNotExist
	}
	text, err := s.read(name)
	if ext := path.Ext(name); err == nil && (ext == ".js" || ext == ".mjs") {
		return s.resolve(name, text)
	}
	return text, err
}

// placeholder is the name of a file in a page, see tools/webui.
var placeholder = regexp.MustCompile(`\{\{[\w.-]+\}\}`)

// styles returns the style sheets that the first module imports, in their order.
func (s sources) styles() ([]byte, error) {
	main, err := s.read("src/main.js")
	if err != nil {
		return nil, err
	}
	known, err := s.modules()
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, m := range styleImport.FindAllSubmatch(main, -1) {
		text, err := s.read(strings.TrimPrefix(resolved(known, "src/main.js", string(m[1])), "/"))
		if err != nil {
			return nil, err
		}
		all = append(append(all, text...), '\n')
	}
	return all, nil
}

// The import statements that a browser does not understand. A name of a library may also be in a comment, where it does no harm.
var (
	styleImport   = regexp.MustCompile(`(?m)^import '([^']+\.css)';$`)
	imageImport   = regexp.MustCompile(`(?m)^import (\w+) from '([^']+\.svg)';$`)
	libraryImport = regexp.MustCompile(`(\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'\n]+)["']`)
)

// resolve returns a module with import statements that a browser understands. The lines stay where they are.
func (s sources) resolve(name string, text []byte) ([]byte, error) {
	known, err := s.modules()
	if err != nil {
		return nil, err
	}
	text = styleImport.ReplaceAll(text, nil) // the page links them
	text = imageImport.ReplaceAllFunc(text, func(found []byte) []byte {
		m := imageImport.FindSubmatch(found)
		return fmt.Appendf(nil, "const %s = '%s';", m[1], resolved(known, name, string(m[2])))
	})
	return libraryImport.ReplaceAllFunc(text, func(found []byte) []byte {
		m := libraryImport.FindSubmatch(found)
		if known[string(m[3])] == "" {
			return found // a path
		}
		return fmt.Appendf(nil, "%s%s%s%s", m[1], m[2], resolved(known, name, string(m[3])), m[2])
	}), nil
}

// resolved returns the path of what a module imports.
func resolved(known map[string]string, module, name string) string {
	if file := known[name]; file != "" {
		return "/vendored/" + file
	}
	return "/" + path.Join(path.Dir(module), name)
}
