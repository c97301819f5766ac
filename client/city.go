package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CityFile is the name of a city's configuration file. A directory that contains it is a city.
const CityFile = "city.toml"

// FindCity returns the root of the city that dir is in: the nearest directory, dir itself or above
// it, that contains a city.toml. The result is absolute and free of symbolic links. If there is
// none, the error matches [ErrNotFound].
func FindCity(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot search for a city: %w", err)
	}
	if start, err = filepath.EvalSymlinks(start); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: the directory %s does not exist", ErrNotFound, dir)
	} else if err != nil {
		return "", fmt.Errorf("cannot search for a city: %w", err)
	}
	for at := start; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, CityFile)); err == nil && !info.IsDir() {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%w: no %s in %s or above; make one with: gc init", ErrNotFound, CityFile, start)
		}
	}
}
