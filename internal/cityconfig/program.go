package cityconfig

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"gascity/internal/domain/plan"
	"gascity/internal/proc"
	"gascity/provider/all"
)

// FindProgram finds out whether the program of a session's agent is installed. The error missing says which one is not found and
// what to do. FindProgram searches the agent's PATH, and then the PATH of the user's login shell, which also has programs that
// were installed after the controller started. If the agent needs the second one, path is that PATH; otherwise it is empty. There
// is no search if the agent runs on another machine, if only a shell can evaluate the command, or if pre_start may create the
// program.
func (l *Loader) FindProgram(ctx context.Context, s *plan.Session) (path string, missing error) {
	driver, _, err := all.Find(s.Provider)
	if err != nil || driver.Where != all.WhereLocal || len(s.Config.PreStart) > 0 {
		return "", nil //nolint:nilerr // the provider's own error reports it
	}
	name, err := proc.FirstProgram(s.Config.Command)
	if err != nil || name == "" {
		return "", nil //nolint:nilerr // the shell reports the mistake
	}
	found, err := l.ResolveProgram(ctx, s, name, l.Environ.Get("PATH"))
	if err != nil {
		return "", missingProgram(s, name, err)
	}
	if found.Login {
		return found.PATH, nil
	}
	return "", nil
}

// ResolveProgram searches for the program name of a session. If the session sets PATH, it searches there; otherwise in
// controllerPath and then in the PATH of the user's login shell.
func (l *Loader) ResolveProgram(ctx context.Context, s *plan.Session, name, controllerPath string) (proc.FoundProgram, error) {
	dir := cmp.Or(s.Config.WorkDir, ".")
	if own, ok := s.Config.Env["PATH"]; ok {
		file, err := proc.FindProgram(name, dir, own)
		return proc.FoundProgram{File: file, PATH: own}, err
	}
	return l.Finder.Find(ctx, name, dir, controllerPath)
}

// missingProgram returns the error for an agent whose program was not found; err says why, as the end of the sentence "the
// command ...".
func missingProgram(s *plan.Session, name string, err error) error {
	agent := s.Agent
	if strings.Contains(name, "/") {
		return fmt.Errorf("cannot start %q: command %q %w; correct the command or the file and run: gc restart %s", agent, name, err, agent)
	}
	if _, own := s.Config.Env["PATH"]; own {
		return fmt.Errorf("cannot start %q: command %q not found in the PATH that its env sets; correct env.PATH or install it there, and run: gc restart %s", agent, name, agent)
	}
	return fmt.Errorf("cannot start %q: command %q not found in PATH of the controller; install it and run: gc restart %s", agent, name, agent)
}
