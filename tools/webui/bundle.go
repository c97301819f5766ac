package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// build describes a bundle; dist/build.json has it for the tests of package ui.
type build struct {
	Sources string   `json:"sources"` // SHA-256 of all sources
	First   []string `json:"first"`   // scripts that the page loads at once, without the terminal
}

// bundle returns the files of the folder dist by their names. Each file but build.json is
// compressed and its name ends in ".gz". The result depends on the sources only.
func bundle(folder string) (map[string][]byte, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	if err := checkVendored(filepath.Join(folder, "vendored")); err != nil {
		return nil, err
	}
	out, err := runBuild(folder)
	if err != nil {
		return nil, err
	}
	entry, err := out.entry()
	if err != nil {
		return nil, err
	}
	files := out.files
	names := map[string]string{"app.js": entry.script, "app.css": entry.style}
	static := filepath.Join(folder, "static")
	images, err := filepath.Glob(filepath.Join(static, "*.png"))
	if err != nil {
		return nil, err
	}
	svg, err := filepath.Glob(filepath.Join(static, "*.svg"))
	if err != nil {
		return nil, err
	}
	for _, image := range append(images, svg...) {
		content, err := os.ReadFile(image)
		if err != nil {
			return nil, err
		}
		base, ext := strings.TrimSuffix(filepath.Base(image), filepath.Ext(image)), filepath.Ext(image)
		name := "assets/" + base + "-" + digest(content)[:8] + ext
		files[name], names[base+ext] = content, name
	}
	for _, page := range []string{"index.html", "manifest.webmanifest", "worker.js"} {
		content, err := os.ReadFile(filepath.Join(static, page))
		if err != nil {
			return nil, err
		}
		files[page] = replaceNames(content, names)
	}
	if files["assets/licenses.txt"], err = licenses(filepath.Join(folder, "vendored")); err != nil {
		return nil, err
	}
	sources, err := digestSources(folder)
	if err != nil {
		return nil, err
	}
	return packFiles(files, build{Sources: sources, First: entry.first})
}

// replaceNames replaces {{NAME}} with the path of the hashed file of that name.
func replaceNames(page []byte, names map[string]string) []byte {
	for name, file := range names {
		page = bytes.ReplaceAll(page, []byte("{{"+name+"}}"), []byte("/"+file))
	}
	return page
}

// packFiles compresses the files and adds build.json.
func packFiles(files map[string][]byte, b build) (map[string][]byte, error) {
	packed := map[string][]byte{}
	for name, content := range files {
		var buf bytes.Buffer
		w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		packed[name+".gz"] = buf.Bytes()
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return nil, err
	}
	packed["build.json"] = append(text, '\n')
	return packed, nil
}

// output is what esbuild made.
type output struct {
	files map[string][]byte // "assets/app-ABCDEFGH.js"
	meta  struct {
		Outputs map[string]struct {
			EntryPoint string `json:"entryPoint"`
			CSSBundle  string `json:"cssBundle"`
			Imports    []struct{ Path, Kind string }
		}
	}
}

// readModules returns the files of the vendored libraries by the names with which modules import them, for esbuild. gc web --dev
// reads the same list.
func readModules(folder string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "vendored", "modules.json"))
	if err != nil {
		return nil, err
	}
	alias := map[string]string{}
	if err := json.Unmarshal(text, &alias); err != nil {
		return nil, fmt.Errorf("vendored/modules.json: %w", err)
	}
	for name, file := range alias {
		alias[name] = "./vendored/" + file
	}
	return alias, nil
}

func runBuild(folder string) (*output, error) {
	alias, err := readModules(folder)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir:       folder,
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: "src/main.js", OutputPath: "app"}},
		Outdir:              "dist/assets",
		Bundle:              true,
		Splitting:           true,
		Format:              api.FormatESModule,
		Target:              api.ES2022,
		Alias:               alias,
		EntryNames:          "[name]-[hash]",
		ChunkNames:          "[name]-[hash]",
		AssetNames:          "[name]-[hash]",
		PublicPath:          "/assets",
		Loader:              map[string]api.Loader{".svg": api.LoaderFile},
		MinifyWhitespace:    true,
		MinifyIdentifiers:   true,
		MinifySyntax:        true,
		LegalComments:       api.LegalCommentsNone, // licenses.txt has all of them
		Charset:             api.CharsetUTF8,
		Metafile:            true,
		Write:               false,
		LogLevel:            api.LogLevelSilent,
	})
	var problems []error
	for _, m := range append(result.Errors, result.Warnings...) {
		text := m.Text
		if m.Location != nil {
			text = fmt.Sprintf("%s:%d:%d: %s", m.Location.File, m.Location.Line, m.Location.Column, text)
		}
		problems = append(problems, errors.New(text))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	out := &output{files: map[string][]byte{}}
	for _, f := range result.OutputFiles {
		name, err := filepath.Rel(filepath.Join(folder, "dist"), f.Path)
		if err != nil {
			return nil, err
		}
		out.files[filepath.ToSlash(name)] = f.Contents
	}
	return out, json.Unmarshal([]byte(result.Metafile), &out.meta)
}

// entry is what the page loads first.
type entry struct {
	script, style string
	first         []string // the script and all that it imports at once
}

func (o *output) entry() (entry, error) {
	var e entry
	for name, out := range o.meta.Outputs {
		if out.EntryPoint == "src/main.js" {
			e.script, e.style = strings.TrimPrefix(name, "dist/"), strings.TrimPrefix(out.CSSBundle, "dist/")
			queue := []string{name}
			for len(queue) > 0 {
				next := queue[0]
				queue = queue[1:]
				if file := strings.TrimPrefix(next, "dist/"); !slices.Contains(e.first, file) {
					e.first = append(e.first, file)
					for _, i := range o.meta.Outputs[next].Imports {
						if i.Kind == "import-statement" {
							queue = append(queue, i.Path)
						}
					}
				}
			}
		}
	}
	if e.script == "" || e.style == "" {
		return e, errors.New("esbuild made no script or no style sheet of src/main.js")
	}
	slices.Sort(e.first)
	return e, nil
}

// checkVendored compares the vendored libraries with SHA256SUMS.
func checkVendored(folder string) error {
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if digest(content) != want {
			return fmt.Errorf("vendored/%s is not the file of SHA256SUMS", name)
		}
	}
	return nil
}

// licenses returns the licenses of the vendored libraries as one text.
func licenses(folder string) ([]byte, error) {
	found, err := filepath.Glob(filepath.Join(folder, "*", "LICENSE"))
	if err != nil {
		return nil, err
	}
	slices.Sort(found)
	var text bytes.Buffer
	for _, file := range found {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "== %s\n\n%s\n", filepath.Base(filepath.Dir(file)), bytes.TrimSpace(content))
	}
	return text.Bytes(), nil
}

// digestSources returns one SHA-256 of the names and contents of all sources. The test of package
// ui computes the same.
func digestSources(folder string) (string, error) {
	sum := sha256.New()
	for _, part := range []string{"src", "static", "vendored"} {
		err := filepath.WalkDir(filepath.Join(folder, part), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(folder, file)
			if err != nil {
				return err
			}
			fmt.Fprintf(sum, "%s %s\n", digest(content), path.Clean(filepath.ToSlash(name)))
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
