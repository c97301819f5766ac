package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gascity/client"
)

// TestLatestEventsNeedNoController reads the latest events of a database that is open and of one
// that is not, and checks that neither is changed.
func TestLatestEventsNeedNoController(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.db")
	if _, err := LatestEvents(t.Context(), path, 3); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("without a file: %v", err)
	}
	db, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := db.Append(t.Context(), client.Event{Kind: "session.status", Text: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LatestEvents(t.Context(), path, 3); err != nil {
		t.Errorf("while it is open: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	events, err := LatestEvents(t.Context(), path, 3)
	if err != nil || len(events) != 3 || events[0].Text != "2" || events[2].Text != "4" {
		t.Errorf("the last three are %+v, %v", events, err)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("reading has changed the file (%v)", err)
	}
}
