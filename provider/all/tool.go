package all

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/proc"
)

// Tool is a program that a driver runs.
type Tool struct {
	Name    string   // name of the program; gc searches for it in PATH
	Version []string // arguments that print the version and do nothing else; empty means that it prints none
	Remedy  string   // advice if the program is missing
}

const (
	versionLimit = 5 * time.Second // limit for a tool to print its version
	versionBytes = 80              // maximum length of a version line
)

// environ returns the environment of the tools.
func (cfg Config) environ() []string {
	if cfg.Environ != nil {
		return cfg.Environ
	}
	return cfg.Env
}

// Variable returns the value of a variable in the environment of the tools. It returns "" if the
// variable is not set.
func (cfg Config) Variable(name string) string {
	return proc.Getenv(cfg.environ(), name)
}

// FindTool returns the path of a tool, found in PATH of the environment of the tools. If the tool
// is not found, the error matches client.ErrUnsupported and names the tool.
func (cfg Config) FindTool(tool string) (string, error) {
	if path, err := proc.FindProgram(tool, "", cfg.Variable("PATH")); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("%w: %s is not in PATH: %w", client.ErrUnsupported, tool, fs.ErrNotExist)
}

// Probe finds the tools that the driver needs and returns their version lines, separated by commas.
// It starts nothing else. If a tool is missing, the error is a [MissingToolError].
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

// version runs the tool at path and returns the first line of its version output.
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

// MissingToolError reports that a driver cannot work on this machine because it cannot use a tool.
// It matches client.ErrUnsupported.
type MissingToolError struct {
	Driver string
	Tool   Tool
	Err    error
}

func (e *MissingToolError) Error() string {
	text := fmt.Sprintf("the runtime provider %s cannot work on this machine: %v", e.Driver, e.Err)
	if e.Tool.Remedy != "" {
		text += "; " + e.Tool.Remedy
	}
	return text
}

// Unwrap returns the cause.
func (e *MissingToolError) Unwrap() error { return e.Err }

// IsMissing reports whether err is a [MissingToolError].
func IsMissing(err error) bool {
	_, ok := errors.AsType[*MissingToolError](err)
	return ok
}

// IsAbsent reports whether err means that the provider or the file that is its argument does not
// exist or cannot be used here. It returns false if the provider failed.
func IsAbsent(selection string, err error) bool {
	if strings.Contains(selection, ":") && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return true
	}
	return IsMissing(err) || errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrInvalid)
}
