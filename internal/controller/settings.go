package controller

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Loaded is one reading of a city's configuration. It is immutable.
type Loaded struct {
	Desired  plan.Desired
	Settings Settings
	Config   client.Config // as it is shown to people
	Warnings []string
	// Accepted is called when this reading comes into force, and not if it is refused: other
	// components receive the configuration there. It must be quick. Nil: no call.
	Accepted func()
}

// Settings are the controller's own parameters. A zero value means the default
// that stands beside it.
type Settings struct {
	Patrol        time.Duration // between two looks at everything; 30 s
	Shutdown      time.Duration // between interrupt and stop when the city ends; 5 s
	MaxRestarts   int           // failures within RestartWindow before quarantine; no limit
	RestartWindow time.Duration // 1 h
	Starts        int           // at a time; 5
	Looks         int           // at a time; 8
	Disruptions   int           // sessions down for a changed configuration at a time; 3
	Quiet         time.Duration // silence before a changed configuration restarts an agent; 30 s
	DriftWait     time.Duration // how long that silence is waited for; for ever
	AskAfter      time.Duration // how long a stop waits for an agent of unknown activity before a person is asked; 10 min
}

// Defaulted returns the settings with the defaults in the place of zero values.
func (s Settings) Defaulted() Settings {
	s.Patrol = cmp.Or(s.Patrol, 30*time.Second)
	s.Shutdown = cmp.Or(s.Shutdown, 5*time.Second)
	s.RestartWindow = cmp.Or(s.RestartWindow, time.Hour)
	s.Starts = cmp.Or(s.Starts, 5)
	s.Looks = cmp.Or(s.Looks, 8)
	s.Disruptions = cmp.Or(s.Disruptions, 3)
	s.Quiet = cmp.Or(s.Quiet, 30*time.Second)
	return s
}

// Policy turns the settings into the rules of a diff.
func (s Settings) Policy() plan.Policy {
	return plan.Policy{
		MaxRestarts: s.MaxRestarts, RestartWindow: s.RestartWindow, Patrol: s.Patrol,
		Disruptions: s.Disruptions, Quiet: s.Quiet, DriftWait: s.DriftWait, AskAfter: s.AskAfter,
	}
}

// Options are what a controller is made of. All fields are required, except those
// that say what nil means.
type Options struct {
	Root    string // the city directory
	Version string
	PID     int

	// Load reads the configuration. It is called by [Open] and for each reload,
	// one call at a time.
	Load func(ctx context.Context) (Loaded, error)
	// Provider opens the runtime provider of a selection. It is called once for
	// each selection until it succeeds. The maker of the Options closes them.
	Provider func(ctx context.Context, selection string) (runtime.Provider, error)
	// Providers describes what can be selected.
	Providers func(ctx context.Context) ([]client.Provider, error)
	// Secrets resolves the credentials of upstreams, just before a start.
	Secrets config.SecretSource
	// FindProgram looks the program of an agent up, at each of its starts. The PATH that it
	// returns is no part of the configuration: another one restarts no agent. Nil: nothing does.
	FindProgram ops.FindProgram
	// SearchPath is the PATH in which it looks, for people.
	SearchPath string

	Events  event.Log
	Records session.Store
	Logger  *slog.Logger

	// Changed is called, by the loop, whenever a session is seen otherwise than
	// before in a way that matters to those who deal with it. It must not block. It
	// says only: look at the view. Nil: no call.
	Changed func(session string)
	// Queued counts the prompts that wait for a session, and returns when the
	// newest was accepted. It is called often and must not block. Nil: none ever
	// waits.
	Queued func(session string) (n int, newest time.Time)
	// StoreFault says what is wrong with the store beyond what its answers say, nil
	// if nothing is. It is called often and must not block; call
	// [Controller.StoreChanged] when its answer changes. Nil: nothing ever is.
	StoreFault func() error
	// EndStrays stops every process that carries the marks of one of the city's agents, once no session
	// is left, and reports what it found. Nil: there are none.
	EndStrays func(ctx context.Context) ([]client.StopResult, error)
	// Retry says that a person has just started the city: failures from before are over, and
	// what is wanted starts at once.
	Retry bool
	// Notices are what people are to know of for as long as the controller runs.
	Notices []string
	// Count runs the check of a pool and returns how many members it wants. Nil:
	// no check is ever run.
	Count func(ctx context.Context, pool *plan.Pool) (int, error)

	Now      func() time.Time
	NewToken func() string                     // an unguessable instance token
	Jitter   func(time.Duration) time.Duration // spreads a pause, so that a fleet does not act in step
}

// Deadlines of jobs. Starts have their own, see plan.Session.StartTimeout.
const (
	observeLimit   = 10 * time.Second
	stopLimit      = 30 * time.Second
	liveLimit      = 60 * time.Second
	interruptLimit = 5 * time.Second
	startLimit     = 60 * time.Second // if the configuration has none
	openLimit      = 30 * time.Second
	awayAfter      = 5 * time.Second // a place that does not answer when the city ends
	overdueAfter   = 5 * time.Second // past its deadline, a job loses its place in the limits

	stopsAtOnce      = 16
	interruptsAtOnce = 16
	stopTries        = 3 // of each session when the city ends

	stableLife       = 5 * time.Minute // a life after which earlier failures do not count for the pause, and the next start is at once
	wakeHolds        = time.Minute     // how long after its start a session that was woken counts as needed
	freshObservation = time.Second     // how old a look may be on which a drifted session is disturbed

	exitPause   = 10 * time.Millisecond // before the first further look for how an agent ended
	exitRetries = 7                     // of these, each after twice the pause: 1.3 s

	leaveLimit = 15 * time.Second // for jobs to return when the controller ends
)
