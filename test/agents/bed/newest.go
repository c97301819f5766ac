package bed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxNewest is how many versions of a package are tried at most.
const maxNewest = 5

// newest returns what this process has found for a shelf's folder and a CLI.
var newest = sync.OnceValue(func() *newestFound { return &newestFound{found: map[string]newestResult{}} })

type newestFound struct {
	mu    sync.Mutex
	found map[string]newestResult // guarded by mu
}

type newestResult struct {
	program Installed
	err     error
}

// putNewest installs the newest version of the CLI. Where it cannot be installed, such as a package
// whose dependency is missing in the registry, it tries the next older ones. A process does it once.
func (s Shelf) putNewest(ctx context.Context, c CLI, path string) (Installed, error) {
	n := newest()
	n.mu.Lock()
	defer n.mu.Unlock()
	key := s.Dir + "\x00" + c.Name
	if r, ok := n.found[key]; ok {
		return r.program, r.err
	}
	program, err := s.tryNewest(ctx, c, path)
	if ctx.Err() != nil {
		return Installed{}, errors.Join(ctx.Err(), err)
	}
	n.found[key] = newestResult{program, err}
	return program, err
}

func (s Shelf) tryNewest(ctx context.Context, c CLI, path string) (Installed, error) {
	versions, err := newestVersions(ctx, c.Package, path)
	if err != nil {
		return Installed{}, err
	}
	var refused []string
	for _, version := range versions {
		c.Version = version
		program, err := s.put(ctx, c, path)
		if err == nil {
			program.Refused = refused
			return program, nil
		}
		if ctx.Err() != nil {
			return Installed{}, err
		}
		refused = append(refused, fmt.Sprintf("%s %s: %v", c.Name, version, err))
	}
	return Installed{}, fmt.Errorf("none of the newest versions of %s can be installed:\n%s", c.Package, strings.Join(refused, "\n"))
}

// newestVersions returns the version that the registry calls the latest, and behind it the stable
// ones before it, newest first.
func newestVersions(ctx context.Context, name, path string) ([]string, error) {
	program, err := exec.LookPath("npm")
	if err != nil {
		return nil, ErrNoNPM
	}
	cmd := exec.CommandContext(ctx, program, "view", name, "versions", "dist-tags", "--json")
	cmd.Env = npmEnv(path)
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("npm view %s: %w", name, err)
	}
	var about struct {
		Versions []string          `json:"versions"`
		Tags     map[string]string `json:"dist-tags"`
	}
	if err := json.Unmarshal(raw, &about); err != nil {
		return nil, fmt.Errorf("npm view %s: %w", name, err)
	}
	latest := about.Tags["latest"]
	if latest == "" {
		return nil, fmt.Errorf("npm view %s names no latest version", name)
	}
	older := slices.DeleteFunc(about.Versions, func(v string) bool {
		_, stable := numbers(v)
		return !stable || compareVersions(v, latest) >= 0
	})
	slices.SortFunc(older, func(a, b string) int { return compareVersions(b, a) })
	versions := append([]string{latest}, older...)
	return versions[:min(len(versions), maxNewest)], nil
}

// compareVersions compares major, minor and patch.
func compareVersions(a, b string) int {
	one, _ := numbers(a)
	other, _ := numbers(b)
	return slices.CompareFunc(one, other, cmp.Compare[int])
}

// numbers returns major, minor and patch of a version; stable: there is nothing else in it.
func numbers(version string) (all []int, stable bool) {
	version, _, _ = strings.Cut(version, "+")
	version, before, _ := strings.Cut(version, "-")
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		all = append(all, n)
	}
	return all, before == ""
}
