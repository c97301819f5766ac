package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The causes when the database files were removed or replaced.
var (
	errGone     = errors.New("deleted while gc used it")
	errReplaced = errors.New("replaced by another file while gc used it")
)

// place is a file that SQLite has open, and its name. If the file is removed or replaced, SQLite
// can still write to it, but the data are lost. So every write and read checks the name first.
type place struct {
	name string
	was  fs.FileInfo
}

// placeOf returns the file that has this name now, so that a later check detects that it was
// removed or replaced.
func placeOf(name string) (place, error) {
	info, err := os.Stat(name)
	return place{name, info}, err
}

// check returns an error if the file was removed or its name refers to another file now.
func (p place) check() error {
	is, err := os.Stat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s was %w", filepath.Base(p.name), errGone)
	case err != nil:
		return err
	case !os.SameFile(p.was, is):
		return fmt.Errorf("%s was %w", filepath.Base(p.name), errReplaced)
	}
	return nil
}

// checkFiles returns an error if a file of the database was removed or replaced while it is open. A
// write would then be lost, and a read would return the data of another database.
func (d *DB) checkFiles() error {
	for _, p := range d.places {
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}
