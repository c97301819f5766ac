package cityconfig

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"gascity/internal/domain/plan"
	"gascity/internal/proc/programpath"
	"gascity/provider/all"
)

// FindProgram searches for the program of a session's agent as the agent's shell would. Where that is
// not found, the PATH of the user's login shell follows, so that a program is found that was
// installed after the controller started. Nothing is looked for that runs elsewhere, that only the
// shell can find, or that pre_start may make.
func (l *Loader) FindProgram(ctx context.Context, s *plan.Session) (path string, missing error) {
	driver, _, err := all.Find(s.Provider)
	if err != nil || driver.Where != all.WhereLocal || len(s.Config.PreStart) > 0 {
		return "", nil //nolint:nilerr // the place's own error says it
	}
	name, err := programpath.FirstProgram(s.Config.Command)
	if err != nil || name == "" {
		return "", nil //nolint:nilerr // the shell says what is wrong
	}
	found, err := l.ResolveProgram(ctx, s, name, l.Environ.Get("PATH"))
	if err != nil {
		return "", missingProgram(s.Agent, name, err)
	}
	if found.Login {
		return found.PATH, nil
	}
	return "", nil
}

// ResolveProgram finds a program as an agent does: in its own PATH, if it has one, else in the controller's,
// and behind that in the PATH of the login shell.
func (l *Loader) ResolveProgram(ctx context.Context, s *plan.Session, name, controllerPath string) (programpath.Found, error) {
	dir := cmp.Or(s.Config.WorkDir, ".")
	if own, ok := s.Config.Env["PATH"]; ok {
		file, err := programpath.Find(name, dir, own)
		return programpath.Found{File: file, PATH: own}, err
	}
	return l.Finder.Find(ctx, name, dir, controllerPath)
}

// missingProgram is the error of an agent whose program is not there.
func missingProgram(agent, name string, err error) error {
	if strings.Contains(name, "/") {
		return fmt.Errorf("cannot start %q: command %q %w; correct that and run: gc restart %s", agent, name, err, agent)
	}
	return fmt.Errorf("cannot start %q: command %q not found in PATH of the controller; install it and run: gc restart %s", agent, name, agent)
}
