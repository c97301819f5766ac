package ui

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A browser finds every file that the page and its modules name, without a bundle: no import is a name of a library, and the sources
// are those in the checkout.
func TestSourcesAreComplete(t *testing.T) {
	for _, dir := range []string{".", "../../.."} {
		pages, err := Sources(dir)
		if err != nil {
			t.Fatal(err)
		}
		page, err := fs.ReadFile(pages, "index.html")
		if err != nil || strings.Contains(string(page), "{{") {
			t.Fatalf("the page is %s, %v", page, err)
		}
		queue := []string{}
		for _, m := range regexp.MustCompile(`(?:href|src)="/([^"]+)"`).FindAllSubmatch(page, -1) {
			queue = append(queue, string(m[1]))
		}
		seen := map[string]bool{}
		for len(queue) > 0 {
			name := queue[0]
			queue = queue[1:]
			if seen[name] {
				continue
			}
			seen[name] = true
			text, err := fs.ReadFile(pages, name)
			if err != nil {
				t.Errorf("a file that a module imports: %v", err)
			}
			if ext := path.Ext(name); ext != ".js" && ext != ".mjs" {
				continue
			}
			for _, m := range regexp.MustCompile(`(?m)(?:^import[^;'"]*|\bfrom\s*|\bimport\()["']([^"'\n]+)["']|^const \w+ = '([^']+\.svg)';$`).FindAllSubmatch(text, -1) {
				imported := string(m[1]) + string(m[2])
				switch {
				case strings.HasPrefix(imported, "/"):
					queue = append(queue, imported[1:])
				case strings.HasPrefix(imported, "."):
					if ext := path.Ext(imported); ext == ".css" || ext == ".svg" {
						t.Errorf("%s imports %s, which is no module", name, imported)
					}
					if path.Ext(imported) == ".js" { // the types of comments have no extension
						queue = append(queue, path.Join(path.Dir(name), imported))
					}
				default:
					t.Errorf("%s imports %s, which a browser does not find", name, imported)
				}
			}
		}
		for _, want := range []string{"app.css", "src/main.js", "src/terminal.js", "src/pages/agent.js", "src/icons/9.svg", "vendored/preact/preact.mjs", "vendored/xterm/xterm.mjs", "manifest.webmanifest", "static/icon.svg"} {
			if !seen[want] {
				t.Errorf("no file imports %s", want)
			}
		}
	}
	pages, err := Sources(".")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("src/style.css")
	if err != nil {
		t.Fatal(err)
	}
	if style, err := fs.ReadFile(pages, "app.css"); err != nil || !strings.Contains(string(style), ".xterm") || !strings.Contains(string(style), string(own)) {
		t.Errorf("the style sheet has %d bytes, %v", len(style), err)
	}
}

// Only the files of the pages are served, and each as it is now. A link that leads out of the folder, a pipe and a folder are not opened.
func TestSourcesServeNothingElse(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Sources(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory without sources: %v", err)
	}
	write("vendored/modules.json", "{")
	if _, err := Sources(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a list of modules that is not JSON: %v", err)
	}
	write("vendored/modules.json", `{"preact": "preact/preact.mjs"}`)
	write("src/main.js", `import { h } from 'preact';`)
	write("secret.txt", "secret")
	write("../secret.txt", "secret")
	for name, target := range map[string]string{"src/out.js": "../../secret.txt", "src/far.js": "/etc/hostname"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := Sources(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret.txt", "src/../secret.txt", "../secret.txt", "src/out.js", "src/far.js", "src", "dist/index.html.gz", "ui.go", "/etc/hostname", ""} {
		if text, err := fs.ReadFile(pages, name); err == nil {
			t.Errorf("%q is served: %s", name, text)
		}
	}
	for _, text := range []string{`import { h } from 'preact';`, "import{h as x}from\"preact\";\n// changed"} {
		write("src/main.js", text)
		want := strings.NewReplacer("'preact'", "'/vendored/preact/preact.mjs'", `"preact"`, `"/vendored/preact/preact.mjs"`).Replace(text)
		if got, err := fs.ReadFile(pages, "src/main.js"); err != nil || string(got) != want {
			t.Errorf("the module is %s, %v, want %s", got, err, want)
		}
	}
}
