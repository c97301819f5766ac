package ui

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxFirst is the budget of the scripts that the page loads at once, compressed, in bytes. The
// terminal is loaded when it is opened.
const maxFirst = 60 << 10

func readBuild(t *testing.T) (b struct {
	Sources string
	First   []string
},
) {
	t.Helper()
	text, err := fs.ReadFile(Files(), "build.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// The committed bundle was made from the sources as they are. The test of tools/webui compares it
// byte for byte with a new one.
func TestBundleFitsItsSources(t *testing.T) {
	sum := sha256.New()
	for _, part := range []string{"src", "static", "vendored"} {
		err := filepath.WalkDir(part, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(file)
			one := sha256.Sum256(content)
			fmt.Fprintf(sum, "%s %s\n", hex.EncodeToString(one[:]), filepath.ToSlash(file))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != readBuild(t).Sources {
		t.Error("the bundle is not made from these sources; run: make web")
	}
}

// The page without the terminal is small enough for a phone.
func TestFirstScriptsAreSmall(t *testing.T) {
	size := 0
	first := readBuild(t).First
	for _, name := range first {
		content, err := fs.ReadFile(Files(), name+".gz")
		if err != nil {
			t.Fatal(err)
		}
		size += len(content)
	}
	if len(first) == 0 || size > maxFirst {
		t.Errorf("the %d scripts have %d bytes compressed, want at most %d", len(first), size, maxFirst)
	}
	t.Logf("%d bytes", size)
}

// The page names only files that exist, has no inline script and no style attribute, so that a
// Content-Security-Policy without exceptions for scripts fits.
func TestPageIsComplete(t *testing.T) {
	for _, page := range []string{"index.html", "manifest.webmanifest"} {
		text, err := fs.ReadFile(Files(), page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "{{") {
			t.Errorf("%s has a name that the bundle does not replace", page)
		}
		named := regexp.MustCompile(`"/(assets/[^"]+)"`).FindAllSubmatch(text, -1)
		if len(named) < 3 {
			t.Errorf("%s names %d files", page, len(named))
		}
		for _, m := range named {
			if _, err := fs.Stat(Files(), string(m[1])); err != nil {
				t.Errorf("%s names a file that does not exist: %v", page, err)
			}
		}
		if regexp.MustCompile(`<script[^>]*>[^<]|\son[a-z]+=|\sstyle=`).Match(text) {
			t.Errorf("%s has a script or a style of its own", page)
		}
	}
}

// A file is the same with and without compression.
func TestFilesDecompress(t *testing.T) {
	plain, err := fs.ReadFile(Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := Files().Open("index.html.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if string(plain) != string(unpacked) || !strings.Contains(string(plain), "<!doctype html>") {
		t.Error("index.html and index.html.gz differ")
	}
	if _, err := Files().Open("assets/absent.js"); err == nil {
		t.Error("a file that does not exist can be opened")
	}
}

// The vendored libraries are those of SHA256SUMS, and each has a license.
func TestVendoredLibrariesAreUnchanged(t *testing.T) {
	sums, err := os.ReadFile("vendored/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		listed[name] = true
		content, err := os.ReadFile(filepath.Join("vendored", filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != want {
			t.Errorf("vendored/%s was changed", name)
		}
	}
	folders, err := os.ReadDir("vendored")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range folders {
		if !d.IsDir() {
			continue
		}
		if !listed[d.Name()+"/LICENSE"] {
			t.Errorf("vendored/%s has no license", d.Name())
		}
		files, err := os.ReadDir(filepath.Join("vendored", d.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if name := d.Name() + "/" + f.Name(); !listed[name] {
				t.Errorf("vendored/%s is not in SHA256SUMS", name)
			}
		}
	}
}
