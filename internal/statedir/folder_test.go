package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A process that claims a folder while its owner removes it gets the folder, or ErrLocked.
func TestAFolderIsClaimedWhileItsOwnerRemovesIt(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "s"))
	var claimants sync.WaitGroup
	for range 4 {
		claimants.Go(func() {
			for range 3000 {
				file, err := f.Claim()
				if errors.Is(err, ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(f.Remove(), file.Close()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	claimants.Wait()
}

// A state directory that is a symbolic link to nothing is an error: a claim does not try for ever.
func TestAFolderBelowABrokenLinkIsNotClaimed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Symlink(filepath.Join(t.TempDir(), "gone"), dir); err != nil {
		t.Fatal(err)
	}
	claimed := make(chan error, 1)
	go func() {
		_, err := Folder(filepath.Join(dir, "s")).Claim()
		claimed <- err
	}()
	select {
	case err := <-claimed:
		if !errors.Is(err, fs.ErrExist) {
			t.Errorf("the claim returns %v, want that the directory cannot be made", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the claim does not return")
	}
}
