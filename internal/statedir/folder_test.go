package statedir

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
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
