package ops

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"strconv"

	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Launch is one start or relaunch of a session.
type Launch struct {
	Root    string // the city directory
	Session *plan.Session
	Config  runtime.Config // the session's configuration with the changes for this start
	Token   string         // token of the new instance; empty: the instance stays
	Epoch   uint64         // number of the new instance; zero: the instance stays
	Secrets config.SecretSource
	// FindProgram looks up the agent's program, see controller.Options.
	FindProgram FindProgram
	// Missing is the error of the last look-up; nil: the program was found.
	Missing error
	// LiveOnly means that the agent is not relaunched; only its live commands run again.
	LiveOnly bool
}

// FindProgram looks up the program of a session's agent and returns the PATH that the agent needs
// to find it; empty: the agent's PATH is sufficient. The error names the missing program and a fix.
type FindProgram func(ctx context.Context, s *plan.Session) (path string, missing error)

// resolveProgram searches for the agent's program and sets PATH in env if the agent needs another
// PATH to find it. An error is stored in a.Missing and does not prevent the start, because the
// shell may still find the program.
func (a *Launch) resolveProgram(ctx context.Context, env map[string]string) {
	var path string
	if path, a.Missing = a.FindProgram(ctx, a.Session); path != "" {
		env[pathVariable] = path
	}
}

const (
	pathVariable = "PATH"
	// notFound and notRunnable are the exit codes of a shell that cannot run a program.
	notRunnable, notFound = 126, 127
)

// explain returns the error of the program look-up if a start failed with err because a shell could
// not run the program; otherwise nil.
func (a *Launch) explain(err error) error {
	death, ok := errors.AsType[*runtime.StartupDeath](err)
	if a.Missing == nil || !ok || !NotRun(&death.Exit) {
		return nil
	}
	return a.Missing
}

// NotRun reports whether exit is the exit status of a shell that could not find or run its program
// (127 or 126).
func NotRun(exit *runtime.Exit) bool {
	return exit != nil && exit.Signal == "" && (exit.Code == notFound || exit.Code == notRunnable)
}

// metadata returns the metadata that describes this launch.
func (a *Launch) metadata() Metadata {
	return Metadata{
		City: a.Root, Agent: a.Session.Agent, Stored: a.Session.Fingerprints,
		Epoch: a.Epoch, Started: session.PublicInstance(a.Token),
	}
}

// envSessionID is the environment variable by which gc finds agents in the process table, see
// [runtime.ProcessTableScanner]. Its value is the session's name. It is part of no fingerprint.
const envSessionID = "GC_SESSION_ID"

// instanceConfig returns the session's configuration with the variables that only this instance
// gets: secrets, PATH, the instance token and the instance number.
func (a *Launch) instanceConfig(ctx context.Context) (runtime.Config, error) {
	cfg, s := a.Config, a.Session
	env := map[string]string{}
	maps.Copy(env, cfg.Env)
	for name, secret := range s.UpstreamEnv {
		value, err := secret.Resolve(ctx, a.Secrets)
		if err != nil {
			return cfg, err
		}
		env[name] = value
	}
	env[envSessionID] = cmp.Or(env[envSessionID], s.Name)
	a.resolveProgram(ctx, env)
	if a.Token != "" {
		env["GC_INSTANCE_TOKEN"] = a.Token
	}
	if a.Epoch != 0 {
		env[metaEpoch] = strconv.FormatUint(a.Epoch, 10)
	}
	cfg.Env = env
	return cfg, nil
}

// Edited reports whether two configurations of a session differ in something that can change the
// result of a start. The first prompt is not compared because it contains the time.
func Edited(before, after *plan.Session) bool {
	a, b := *before, *after
	for _, s := range []*plan.Session{&a, &b} {
		s.Config.PromptSuffix, s.Config.Nudge = "", ""
	}
	return !reflect.DeepEqual(a, b)
}
