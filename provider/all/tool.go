package all

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gascity/client"
)

// Tool is a program that a driver runs.
type Tool struct {
	Name    string   // of the program, to be found in PATH
	Version []string // the arguments with which it prints its version and does nothing else
	Remedy  string   // what to do where it is missing
}

const (
	versionLimit = 5 * time.Second // for a tool to print its version
	versionBytes = 80              // of what is shown of it
)

// environ returns the environment of the tools.
func (cfg Config) environ() []string {
	if cfg.Environ != nil {
		return cfg.Environ
	}
	return cfg.Env
}

// Variable returns the value that the environment of tools gives to a variable.
func (cfg Config) Variable(name string) string {
	value := ""
	for _, entry := range cfg.environ() { // the last one of a name wins, as in os/exec
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// FindTool finds a tool by the PATH of the environment of tools. The error
// matches client.ErrUnsupported and names the tool.
func (cfg Config) FindTool(tool string) (string, error) {
	for _, dir := range filepath.SplitList(cfg.Variable("PATH")) {
		path := filepath.Join(cmp.Or(dir, "."), tool)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode().Perm()&0o111 != 0 {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("%w: %s is not in PATH: %w", client.ErrUnsupported, tool, fs.ErrNotExist)
}

// Probe finds what the driver needs and returns what the tools say of their
// version. It starts nothing else. The error names what is missing and its cure.
func (d Driver) Probe(ctx context.Context, cfg Config) (string, error) {
	var versions []string
	for _, tool := range d.Needs {
		path, err := cfg.FindTool(tool.Name)
		if err != nil {
			return "", &MissingToolError{Driver: d.Name, Tool: tool, Err: err}
		}
		version, err := tool.version(ctx, path, cfg.environ())
		if err != nil {
			return "", &MissingToolError{Driver: d.Name, Tool: tool, Err: err}
		}
		versions = append(versions, version)
	}
	return strings.Join(versions, ", "), nil
}

// version asks the tool at path for its version: the first line that it prints.
func (t Tool) version(ctx context.Context, path string, env []string) (string, error) {
	if len(t.Version) == 0 {
		return t.Name, nil
	}
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, t.Version...)
	cmd.Env, cmd.WaitDelay = env, time.Second
	out, err := cmd.CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	line = line[:min(len(line), versionBytes)]
	if err != nil {
		return "", fmt.Errorf("%w: %s does not report its version: %w: %s", client.ErrUnsupported, path, err, line)
	}
	return cmp.Or(line, t.Name), nil
}

// MissingToolError says that a driver cannot work here for the want of a program. It
// matches client.ErrUnsupported.
type MissingToolError struct {
	Driver string
	Tool   Tool
	Err    error
}

func (e *MissingToolError) Error() string {
	text := fmt.Sprintf("the provider %s cannot work here: %v", e.Driver, e.Err)
	if e.Tool.Remedy != "" {
		text += "; " + e.Tool.Remedy
	}
	return text
}

// Unwrap returns the cause.
func (e *MissingToolError) Unwrap() error { return e.Err }

// IsMissing reports whether err says that a tool is not there.
func IsMissing(err error) bool {
	_, ok := errors.AsType[*MissingToolError](err)
	return ok
}

// IsAbsent reports whether err says that a provider, or the file that is its argument,
// is not there, and not that it failed.
func IsAbsent(selection string, err error) bool {
	if strings.Contains(selection, ":") && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return true
	}
	return IsMissing(err) || errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrInvalid)
}
