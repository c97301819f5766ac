package all

import (
	"os"
	"path/filepath"
	"slices"
)

// RemoteSelections returns those of the selections whose sessions are not, or may not be, on this
// machine, each once. What is not known may be anywhere.
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

// Shared reports whether the sessions at a place may be those of several cities: a script's
// may all be in one. Other drivers keep each city's by themselves.
func Shared(selection string) bool {
	driver, _, err := Find(selection)
	return err != nil || driver.Where == WhereUnknown
}

// SelectionsIn returns the providers that have kept sessions in a folder for sockets.
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
