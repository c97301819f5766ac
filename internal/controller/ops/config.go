package ops

import (
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

// Launch is one start, or relaunch, of a session.
type Launch struct {
	Root    string // the city directory
	Session *plan.Session
	Config  runtime.Config // of the session, and what this start adds to it
	Token   string         // of the instance that begins; empty: none does
	Epoch   uint64         // its number; zero: none begins
	Secrets config.SecretSource
	// FindProgram looks the agent's program up, see controller.Options. Nil: nothing does.
	FindProgram FindProgram
	// Missing is what the last look-up found wrong: the program is not there.
	Missing error
	// LiveOnly leaves the agent alone: only its live commands are run again.
	LiveOnly bool
}

// FindProgram looks for the program of a session's agent and returns the PATH that the agent needs
// to find it; empty: the one that it has anyway. An error says that the program is missing, and
// what to do.
type FindProgram func(ctx context.Context, s *plan.Session) (path string, missing error)

// resolveProgram has the agent's environment lead to its program. A program that is not found does not
// keep the start from being tried: the shell that starts it decides.
func (a *Launch) resolveProgram(ctx context.Context, env map[string]string) {
	if a.FindProgram == nil {
		return
	}
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

// explain returns what a look-up says of a failed start, if the failure is that the program could
// not be run; nil if it says nothing.
func (a *Launch) explain(err error) error {
	death, ok := errors.AsType[*runtime.StartupDeath](err)
	if a.Missing == nil || !ok || !NotRun(&death.Exit) {
		return nil
	}
	return a.Missing
}

// NotRun reports whether a process exited because a shell could not run its program.
func NotRun(exit *runtime.Exit) bool {
	return exit != nil && exit.Signal == "" && (exit.Code == notFound || exit.Code == notRunnable)
}

func (a *Launch) metadata() Metadata {
	return Metadata{
		City: a.Root, Agent: a.Session.Agent, Stored: Fingerprints(a.Session),
		Epoch: a.Epoch, Started: session.PublicInstance(a.Token),
	}
}

// envSessionID is the variable by which agents are found in the process table, see
// [runtime.ProcessTableScanner]. Its value is the session's name. It is in no fingerprint.
const envSessionID = "GC_SESSION_ID"

// incarnate returns the configuration with the environment of one instance.
func (a *Launch) incarnate(ctx context.Context) (runtime.Config, error) {
	cfg, s := a.Config, a.Session
	env := maps.Clone(cfg.Env)
	if env == nil {
		env = map[string]string{}
	}
	for name, secret := range s.UpstreamEnv {
		value, err := secret.Resolve(ctx, a.Secrets)
		if err != nil {
			return cfg, err
		}
		env[name] = value
	}
	if env[envSessionID] == "" {
		env[envSessionID] = s.Name
	}
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

// Edited reports whether an edit may change how a start goes. The first prompt
// holds the time and is no edit.
func Edited(before, after *plan.Session) bool {
	a, b := *before, *after
	for _, s := range []*plan.Session{&a, &b} {
		s.Config.PromptSuffix, s.Config.Nudge = "", ""
	}
	return !reflect.DeepEqual(a, b)
}

// Stored returns the fingerprints as a decision takes them.
func Stored(f *session.Fingerprints) plan.Stored {
	return plan.Stored{Core: f.Core, Provision: f.Provision, Launch: f.Launch, Live: f.Live, Fields: f.Fields}
}

// Fingerprints returns those that a start of s is made with.
func Fingerprints(s *plan.Session) session.Fingerprints {
	return session.Fingerprints{Core: s.Core, Provision: s.Provision, Launch: s.Launch, Live: s.Live, Fields: s.Fields}
}
