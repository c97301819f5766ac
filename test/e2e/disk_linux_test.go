package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
)

// TestABrokenStoreFreezesTheCity takes the store away from under a city at
// work: it says that it is degraded, ends nobody and starts nobody; when the
// store is back, it goes on (R3).
func TestABrokenStoreFreezesTheCity(t *testing.T) {
	c := newCity(t, 3)
	place := filepath.Join(c.root, ".gc")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", place, "tmpfs", 0, "size=6m,mode=0700"); err != nil {
		t.Skipf("cannot mount a small file system, so root is needed: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(place, syscall.MNT_DETACH); err != nil {
			t.Errorf("cannot unmount %s: %v", place, err)
		}
	})
	c.start()
	before := pids(c.await("running", running))
	ballast := filepath.Join(place, "ballast")
	fill(t, ballast)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if r, err := c.client.Nudge(ctx, name(0), client.NudgeRequest{Text: strings.Repeat("x", 100_000)}); err == nil {
		t.Errorf("a prompt was accepted that cannot be kept: %+v", r)
	}
	done, err := c.client.Suspend(ctx, name(1), client.LifecycleRequest{})
	t.Logf("an order while the disk is full gives %+v, %v", done, err)
	status := c.await("degraded", func(s client.Status) bool { return s.Controller.Degraded != "" })
	t.Logf("degraded: %s", status.Controller.Degraded)
	pause(2 * time.Second)
	if diff := cmp.Diff(before, pids(c.await("answering", func(client.Status) bool { return true }))); diff != "" {
		t.Errorf("agents were ended or started while the store was full (-before +after):\n%s", diff)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	c.await("whole again", func(s client.Status) bool { return s.Controller.Degraded == "" })
	nudge(t, c, name(2), "after the flood")
	c.stop()
}

// fill writes until the file system is full.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	block := make([]byte, 1024)
	for {
		if _, err := file.Write(block); err != nil {
			return
		}
	}
}
