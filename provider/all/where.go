package all

import (
	"os"
	"path/filepath"
	"slices"
)

// RemoteSelections returns the selections whose sessions are not on this machine, or may not be,
// without duplicates. An unknown selection counts as remote.
func RemoteSelections(selections []string) (out []string) {
	for _, selection := range selections {
		if driver, _, err := Find(selection); (err != nil || driver.Where != WhereLocal) && !slices.Contains(out, selection) {
			out = append(out, selection)
		}
	}
	return out
}

// IsHere reports whether all sessions of a selection are on this machine.
func IsHere(selection string) bool {
	driver, _, err := Find(selection)
	return err == nil && driver.Where == WhereLocal && driver.Route == nil
}

// IsRemote reports whether all sessions of a selection are on another machine, where gc runs them.
func IsRemote(selection string) bool {
	driver, _, err := Find(selection)
	return err == nil && driver.Where == WhereRemote
}

// Shared reports whether the backend of a selection may hold sessions of several cities. This is so
// for a session script. Other drivers separate cities.
func Shared(selection string) bool {
	driver, _, err := Find(selection)
	return err != nil || driver.Where == WhereUnknown
}

// SelectionsIn returns the local providers that have a directory in dir, the directory for sockets.
func SelectionsIn(dir string) (selections []string) {
	for _, driver := range Drivers() {
		if driver.Where != WhereLocal || driver.Route != nil {
			continue
		}
		if info, err := os.Lstat(filepath.Join(dir, driver.Name)); err == nil && info.IsDir() {
			selections = append(selections, driver.Name)
		}
	}
	return selections
}
