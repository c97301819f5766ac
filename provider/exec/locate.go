package exec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Check finds the script and says why it is none. Nothing is run or made.
func Check(cfg Config) error {
	_, err := locate(cfg)
	return err
}

// locate returns the absolute path of the script, which exists and is executable.
func locate(cfg Config) (string, error) {
	if cfg.Script == "" {
		return "", errors.New(`cannot use a session script: none is named; write exec:<script>`)
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
	search := envValue(cfg.Env, "PATH")
	for _, dir := range filepath.SplitList(search) {
		if !filepath.IsAbs(dir) {
			continue // never what lies in the current folder by chance
		}
		if path := filepath.Join(dir, cfg.Script); executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("cannot use the session script %q: %w on PATH (%s); a script of the city is written with a slash: ./%s",
		cfg.Script, fs.ErrNotExist, search, cfg.Script)
}

// executable says why a file is no program.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%w: %s is not executable; run chmod +x on it", fs.ErrPermission, path)
	}
	return nil
}

func envValue(env []string, key string) string {
	value := ""
	for _, entry := range env {
		if k, v, ok := strings.Cut(entry, "="); ok && k == key {
			value = v
		}
	}
	return value
}
