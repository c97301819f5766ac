package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The causes when the engine's files are not at their place any more.
var (
	errGone     = errors.New("no longer there")
	errReplaced = errors.New("another file now")
)

// place is a file that the engine has open, and its name. A file that loses its
// name stays for the processes that have it open: writes to it succeed and are
// never read. So every write and read checks first.
type place struct {
	name string
	was  fs.FileInfo
}

func placeOf(name string) (place, error) {
	info, err := os.Stat(name)
	return place{name, info}, err
}

// check returns an error if the name does not lead to the file.
func (p place) check() error {
	is, err := os.Stat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s is %w", filepath.Base(p.name), errGone)
	case err != nil:
		return err
	case !os.SameFile(p.was, is):
		return fmt.Errorf("%s is %w", filepath.Base(p.name), errReplaced)
	}
	return nil
}

// checkFiles returns an error if what is written now would be lost, or what is read
// would be another's.
func (d *DB) checkFiles() error {
	for _, p := range d.places {
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}
