// Package build makes the binaries that tests run: the fake agent's and the product's.
package build

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/test/tier"
)

// program is the outcome of the one build of this process. It is state of the test
// process, not of the product.
var program = sync.OnceValues(compile)

// Build compiles the fake agent, once per test process, and returns the path of the
// binary. The binary lies in the user's cache folder under a name made from its content, so
// that packages tested at the same time share it and a new version never replaces one that
// runs. It fails the test if the agent does not compile.
// In the unit tier it skips the test.
func Build(tb testing.TB) string {
	tb.Helper()
	tier.Process(tb)
	path, err := program()
	if err != nil {
		tb.Fatalf("build the fake agent: %v", err)
	}
	return path
}

func compile() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "gascity-test")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "fakeagent.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	// go build leaves an up-to-date target alone; this one is never run.
	staged := filepath.Join(dir, "fakeagent.staged")
	if err := Program(staged, "gascity/test/fakeagent"); err != nil {
		return "", err
	}
	return publish(staged, dir)
}

// publish copies the binary to the name of its content.
func publish(staged, dir string) (string, error) {
	source, err := os.Open(staged)
	if err != nil {
		return "", err
	}
	defer source.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, source); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("fakeagent-%.8x", sum.Sum(nil)))
	if _, err := os.Stat(path); err == nil {
		now := time.Now()
		return path, os.Chtimes(path, now, now) // in use: see prune
	}
	if _, err := source.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(dir, "fakeagent.new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // it was renamed, unless something failed
	_, err = io.Copy(temp, source)
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(temp.Name(), 0o700)
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	prune(dir, path)
	return path, err
}

// prune removes old versions that no test has used for a day.
func prune(dir, keep string) {
	old, err := filepath.Glob(filepath.Join(dir, "fakeagent-*"))
	if err != nil {
		return
	}
	for _, path := range old {
		if info, err := os.Stat(path); err == nil && path != keep && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(path) // only a cache
		}
	}
}

// Program builds the command in the package pkg of this module to path, with the flags of a
// release: what make build or another test has compiled is not compiled again.
func Program(path, pkg string) error {
	//nolint:noctx // the go command has no deadline of its own; the test's deadline ends it
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return nil
}
