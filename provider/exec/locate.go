package exec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gascity/internal/proc"
)

// Check returns an error if the script does not exist or is not executable. It runs nothing and
// creates nothing.
func Check(cfg Config) error {
	_, err := locate(cfg)
	return err
}

// locate returns the absolute path of the script. It returns an error if the script does not exist
// or is not executable.
func locate(cfg Config) (string, error) {
	if cfg.Script == "" {
		return "", errors.New(`cannot use a session script: no script is given; write exec:<script>`)
	}
	if strings.Contains(cfg.Script, "/") {
		path := cfg.Script
		if !filepath.IsAbs(path) {
			path = filepath.Join(cfg.Dir, path)
		}
		path, err := filepath.Abs(path)
		if err == nil {
			err = executable(path)
		}
		if err != nil {
			return "", fmt.Errorf("cannot use the session script %q: %w", cfg.Script, err)
		}
		return path, nil
	}
	search := proc.Getenv(cfg.Env, "PATH")
	for _, dir := range filepath.SplitList(search) {
		if !filepath.IsAbs(dir) {
			continue // do not search the current directory
		}
		if path := filepath.Join(dir, cfg.Script); executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("cannot use the session script %q: %w on PATH (%s); a script of the city is written with a slash: ./%s",
		cfg.Script, fs.ErrNotExist, search, cfg.Script)
}

// executable returns an error if the file does not exist or is not executable.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%w: %s is not executable; run chmod +x on it", fs.ErrPermission, path)
	}
	return nil
}
