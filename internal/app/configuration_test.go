package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity/client"
)

// TestUnknownProviderIsAMistakeOfOneAgent checks that gc config check reports an unknown runtime
// provider as a mistake that keeps only its agent from running, and an unknown key as one that
// keeps all from running.
func TestUnknownProviderIsAMistakeOfOneAgent(t *testing.T) {
	for _, c := range []struct {
		name, text string
		alone      bool
	}{
		{"a place", "[[agents]]\nname = \"a\"\nsession = \"ptty\"\nstart_command = \"cat\"\n", true},
		{"a key", "[[agents]]\nname = \"a\"\nsessoin = \"pty\"\nstart_command = \"cat\"\n", false},
	} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, client.CityFile), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		faults, err := New(Options{}).CheckConfig(t.Context(), root)
		if err != nil || len(faults) != 1 || faults[0].Alone != c.alone {
			t.Errorf("%s: got %+v, %v; want one mistake, of one agent alone: %v", c.name, faults, err, c.alone)
		}
	}
}

// TestAnEmptyFileIsAMistakeInACityThatHasWorked checks that the controller and gc config check
// refuse an empty city.toml in a city that has already run.
func TestAnEmptyFileIsAMistakeInACityThatHasWorked(t *testing.T) {
	root := t.TempDir()
	log := filepath.Join(root, ".gc", "log")
	if err := errors.Join(os.MkdirAll(log, 0o700), os.WriteFile(filepath.Join(root, "city.toml"), []byte("\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	d := New(Options{Now: time.Now})
	if faults, err := d.CheckConfig(t.Context(), root); err != nil || len(faults) != 0 {
		t.Errorf("in a new city: %+v, %v; want no mistake", faults, err)
	}
	if err := os.WriteFile(filepath.Join(log, "controller.log"), []byte("a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if faults, err := d.CheckConfig(t.Context(), root); err != nil || len(faults) != 1 || faults[0].Message != "the file is empty" || faults[0].Line != 1 || faults[0].Hint == "" {
		t.Errorf("after a controller has worked: %+v, %v; want one mistake", faults, err)
	}
}
