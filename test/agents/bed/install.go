package bed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Shelf is a folder with installed CLIs.
type Shelf struct {
	Dir string
	// Latest takes the newest version that can be installed of everything instead of the
	// pinned one, and looks for it again in each process.
	Latest bool
	// Version is taken of every CLI instead of the pinned one; empty: the pinned one.
	Version string
}

// OpenShelf returns the shelf of this machine: $GC_AGENTS_CACHE, else
// gc-test-agents in the user's cache folder. $GC_AGENTS_LATEST asks for the newest
// versions, $GC_AGENTS_VERSION for a certain one.
func OpenShelf() (Shelf, error) {
	dir := os.Getenv("GC_AGENTS_CACHE")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return Shelf{}, fmt.Errorf("no place for agent CLIs, set GC_AGENTS_CACHE: %w", err)
		}
		dir = filepath.Join(cache, "gc-test-agents")
	}
	return Shelf{Dir: dir, Latest: os.Getenv("GC_AGENTS_LATEST") != "", Version: os.Getenv("GC_AGENTS_VERSION")}, nil
}

// Installed is a CLI that can be run.
type Installed struct {
	CLI         // with the version that is there
	Path string // of the program
	Bin  string // folders for PATH: the program's and node's, colon between
	// Refused has the newer versions that could not be installed, with the reasons; empty: none.
	Refused []string
}

// Install makes the CLI available, once for all processes and runs.
func (s Shelf) Install(ctx context.Context, c CLI) (Installed, error) {
	n, err := s.put(ctx, node(), "")
	if err != nil {
		return Installed{}, err
	}
	path := filepath.Dir(n.Path)
	var program Installed
	switch {
	case s.Version != "":
		c.Version = s.Version
		program, err = s.put(ctx, c, path)
	case s.Latest:
		program, err = s.putNewest(ctx, c, path)
	default:
		program, err = s.put(ctx, c, path)
	}
	if err != nil {
		return Installed{}, err
	}
	program.Bin = filepath.Dir(program.Path) + ":" + path
	return program, nil
}

// put installs the version of one package into a folder of its own, with the node in path.
func (s Shelf) put(ctx context.Context, c CLI, path string) (Installed, error) {
	dir := filepath.Join(s.Dir, c.Name+"-"+c.Version)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Installed{}, err
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return Installed{}, err
	}
	defer unlock()
	done := Installed{CLI: c, Path: filepath.Join(dir, "node_modules", ".bin", c.Program)}
	if c.Name == node().Name {
		done.Path = filepath.Join(dir, "node_modules", "node", "bin", "node") // npm 11 links it only on request
	}
	mark := filepath.Join(dir, "complete")
	if _, err := os.Stat(mark); err == nil {
		return done, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return Installed{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Installed{}, err
	}
	if err := npm(ctx, dir, path, c.Package+"@"+c.Version); err != nil {
		return Installed{}, errors.Join(err, os.RemoveAll(dir))
	}
	if _, err := os.Stat(done.Path); err != nil {
		return Installed{}, fmt.Errorf("npm installed %s without its program: %w", c.Package, err)
	}
	if done.Version, err = installedVersion(filepath.Join(dir, "node_modules", c.Package)); err != nil {
		return Installed{}, err
	}
	return done, os.WriteFile(mark, nil, 0o600)
}

// ErrNoNPM is the error of a machine that cannot install anything.
var ErrNoNPM = errors.New("npm is not installed")

// npm installs a package in the folder, with the environment of the test run:
// the registry is theirs.
func npm(ctx context.Context, dir, path, name string) error {
	program, err := exec.LookPath("npm")
	if err != nil {
		return ErrNoNPM
	}
	cmd := exec.CommandContext(ctx, program, "install", "--no-audit", "--no-fund", "--no-update-notifier", "--prefix", dir, name)
	cmd.Dir = dir
	cmd.Env = npmEnv(path)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(output.String())
		return fmt.Errorf("npm install %s: %w: %s", name, err, text[max(0, len(text)-500):])
	}
	return nil
}

// npmEnv is the environment of the test run, with the node in path.
func npmEnv(path string) []string {
	env := append(os.Environ(), "CI=1")
	if path != "" {
		env = append(env, "PATH="+path+":"+os.Getenv("PATH"))
	}
	return env
}

func installedVersion(dir string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", err
	}
	var about struct {
		Version string `json:"version"`
	}
	err = json.Unmarshal(raw, &about)
	return about.Version, err
}

// lock waits for the file's lock, which ends with the process at the latest.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing it gives the lock back
}
