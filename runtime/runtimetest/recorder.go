package runtimetest

import (
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"sync"
)

// recorder implements [T] for one case.
type recorder struct {
	mu     sync.Mutex
	failed bool
	unmet  string
	lines  []string
	dirs   []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	goruntime.Goexit()
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// notApplicable records that the case does not apply to the provider, with the reason.
func (r *recorder) notApplicable(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unmet = why
}

// recoverPanic records a panic of the case as a failure. It must be called by defer.
func (r *recorder) recoverPanic() {
	if p := recover(); p != nil {
		r.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// report returns the result of the case with its lines.
func (r *recorder) report() ([]string, Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.failed:
		return slices.Clone(r.lines), Failed
	case r.unmet != "":
		return []string{r.unmet}, NotApplicable
	default:
		return slices.Clone(r.lines), Passed
	}
}

// TempDir returns a new directory; removeDirs removes it after the case.
func (r *recorder) TempDir() string {
	dir, err := os.MkdirTemp("", "gcrt")
	if err != nil {
		r.Fatalf("cannot create a directory: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirs = append(r.dirs, dir)
	return dir
}

// removeDirs removes the directories of the case. A failure counts as a failure of the clean-up.
func (r *recorder) removeDirs() {
	r.mu.Lock()
	dirs := r.dirs
	r.mu.Unlock()
	for _, dir := range dirs {
		if err := os.RemoveAll(dir); err != nil {
			r.Errorf("%s%v", cleanUp, err)
		}
	}
}
