package script

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"gascity/runtime"
)

// isRunning prints true or false. It returns an error if the state is unknown.
func (s *server) isRunning(ctx context.Context) error {
	if !has[runtime.Observer](s.p) {
		return s.print(s.p.IsRunning(s.name))
	}
	obs, err := runtime.Observe(ctx, s.p, s.name)
	if err != nil {
		return err
	}
	if obs.Session == runtime.Unknown {
		return &runtime.Error{Op: "look at", Session: s.name, Err: runtime.ErrRuntimeUnavailable}
	}
	return s.print(obs.Session == runtime.Alive && obs.Agent != runtime.Dead)
}

// processAlive prints whether a process of the session has one of the names on standard input.
func (s *server) processAlive(context.Context) error {
	data, err := s.input()
	if err != nil {
		return err
	}
	var names []string
	for name := range strings.Lines(string(data)) {
		if name = strings.TrimSuffix(name, "\n"); name != "" {
			names = append(names, name)
		}
	}
	return s.print(s.p.ProcessAlive(s.name, names))
}

// listRunning prints the names of the running sessions with the given prefix.
func (s *server) listRunning(context.Context) error {
	names, err := s.p.ListRunning(s.name)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.print(name); err != nil {
			return err
		}
	}
	return nil
}

// lastActivity serves the operation get-last-activity: it prints the time of the session's last output; an empty line
// if it is not known.
func (s *server) lastActivity(context.Context) error {
	at, err := s.p.GetLastActivity(s.name)
	if err != nil {
		return err
	}
	return s.print(formatTime(at))
}

// observe serves the operation observe: it prints an observation of the session as JSON.
func (s *server) observe(ctx context.Context) error {
	obs, err := runtime.Observe(ctx, s.p, s.name)
	if err != nil {
		return err
	}
	return s.printJSON(NewObservation(s.name, obs))
}

// observeAll prints an observation of each running session.
func (s *server) observeAll(ctx context.Context) error {
	names, err := s.p.ListRunning(s.name)
	if err != nil {
		return err
	}
	for _, name := range names {
		obs, err := runtime.Observe(ctx, s.p, name)
		if err != nil {
			return err
		}
		if err := s.printJSON(NewObservation(name, obs)); err != nil {
			return err
		}
	}
	return nil
}

// peek prints the text with a newline at its end.
func (s *server) peek(context.Context) error {
	lines := 0
	if len(s.args) > 0 {
		n, err := strconv.Atoi(s.args[0])
		if err != nil {
			return fmt.Errorf("peek: %q is not a number of lines", s.args[0])
		}
		lines = n
	}
	text, err := s.p.Peek(s.name, lines)
	if err != nil || text == "" {
		return err
	}
	return s.print(text)
}

// setMeta stores standard input under the key.
func (s *server) setMeta(key string) error {
	value, err := s.input()
	if err != nil {
		return err
	}
	return s.p.SetMeta(s.name, key, string(value))
}

// getMeta prints the value and a newline, which is not part of the value.
func (s *server) getMeta(key string) error {
	value, err := s.p.GetMeta(s.name, key)
	if err != nil || value == "" {
		return err
	}
	return s.print(value)
}

// copyTo copies a file of this machine into the session's working directory.
func (s *server) copyTo(context.Context) error {
	src, err := s.argument("src")
	if err != nil {
		return err
	}
	dst := ""
	if len(s.args) > 1 {
		dst = s.args[1]
	}
	return s.p.CopyTo(s.name, src, dst)
}
