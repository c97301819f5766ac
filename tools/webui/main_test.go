package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

const folder = "../../internal/web/ui"

// A rebuild makes byte for byte the bundle that is committed.
func TestBundleIsCurrent(t *testing.T) {
	want, err := bundle(folder)
	if err != nil {
		t.Fatal(err)
	}
	again, err := bundle(folder)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string][]byte{}
	dist := filepath.Join(folder, "dist")
	err = filepath.WalkDir(dist, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dist, file)
		if err != nil {
			return err
		}
		have[filepath.ToSlash(name)], err = os.ReadFile(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range want {
		if !bytes.Equal(content, again[name]) {
			t.Errorf("two builds of %s differ", name)
		}
		if !bytes.Equal(content, have[name]) {
			t.Errorf("dist/%s is not current; run: make web", name)
		}
	}
	for name := range have {
		if want[name] == nil {
			t.Errorf("dist/%s is not part of the bundle; run: make web", name)
		}
	}
}

// The types of the API are those of its description.
func TestTypesAreCurrent(t *testing.T) {
	want, err := apiTypes(folder)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(filepath.Join(folder, "src", "types.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, have) {
		t.Error("src/types.d.ts is not current; run: make web")
	}
}
