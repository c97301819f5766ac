package controller

import (
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
	Settings config.Daemon // the section [daemon]
	Config   client.Config // the form shown to people
	Warnings []string
	// Accepted is called when this configuration becomes the current one, and not if it is refused.
	// Other components receive the configuration there. It must return quickly. Nil: no call.
	Accepted func()
}

// Options are the dependencies and settings of a controller. All fields are required, except those
// whose comment defines nil.
type Options struct {
	Root    string // the city directory
	Version string
	PID     int

	// Load reads the configuration. It is called by [Open] and for each reload,
	// one call at a time.
	Load func(ctx context.Context) (Loaded, error)
	// Provider opens the runtime provider of a selection. It is called once for each selection
	// until it succeeds. The caller of [Open] closes the providers.
	Provider func(ctx context.Context, selection string) (runtime.Provider, error)
	// Providers returns the runtime providers that can be selected.
	Providers func(ctx context.Context) ([]client.Provider, error)
	// Secrets resolves the credentials of upstreams just before a start.
	Secrets config.SecretSource
	// FindProgram looks up the program of an agent at each of its starts. The PATH that it returns
	// is not part of the configuration: a changed PATH restarts no agent.
	FindProgram ops.FindProgram
	// SearchPath is the PATH that FindProgram searches; it is only shown to people.
	SearchPath string

	Events  event.Log
	Records session.Store
	Logger  *slog.Logger

	// Changed is called by the loop when a session's snapshot changed in a way that matters to
	// other components. It must not block. The callee reads the snapshot.
	Changed func(session string)
	// Queued returns the number of prompts that wait for a session, and when the newest of them was
	// accepted. It is called often and must not block.
	Queued func(session string) (n int, newest time.Time)
	// StoreFault returns a fault of the store that its results do not show; nil: no fault. It is
	// called often and must not block. Call [Controller.StoreChanged] when its result changes.
	StoreFault func() error
	// EndStrays stops every process that carries the marks of one of the city's agents after the
	// last session has stopped. It returns what it found.
	EndStrays func(ctx context.Context) ([]client.StopResult, error)
	// Retry means that a person has just started the city: earlier failures are cleared, and the
	// configured agents start at once.
	Retry bool
	// Notices are messages that the status shows while the controller runs.
	Notices []string
	// Count runs the check of a pool and returns the wanted number of members. Nil: no check runs.
	Count func(ctx context.Context, pool *plan.Pool) (int, error)

	Now      func() time.Time
	NewToken func() string                     // an unguessable instance token
	Jitter   func(time.Duration) time.Duration // randomizes a pause, so that sessions do not act at the same time
}

// Deadlines of jobs. A start has its own, see plan.Session.StartTimeout.
const (
	observeLimit   = 10 * time.Second
	stopLimit      = 30 * time.Second
	liveLimit      = 60 * time.Second
	interruptLimit = 5 * time.Second
	startLimit     = 60 * time.Second // used if the configuration has none
	openLimit      = 30 * time.Second
	shutdownLimit  = 5 * time.Second // between interrupt and stop of an agent when the city stops, if the configuration has none
	awayAfter      = 5 * time.Second // for a provider that does not answer while the city is being stopped
	overdueAfter   = 5 * time.Second // this long after its deadline, a job is not counted in the limits any more

	stopsAtOnce      = 16
	maxDisruptions   = 3                // sessions that are down at a time because of a changed configuration
	quietTime        = 30 * time.Second // silence before a changed configuration restarts an agent
	interruptsAtOnce = 16
	stopTries        = 3 // for each session while the city is being stopped

	stableLife       = 5 * time.Minute // after a run this long, earlier failures do not delay the next start
	wakeHolds        = time.Minute     // how long after its start a woken session counts as needed
	freshObservation = time.Second     // maximum age of the observation before gc disturbs a drifted session

	exitPause   = 10 * time.Millisecond // before the first repeated observation of how an agent exited
	exitRetries = 7                     // repetitions, each after twice the pause: 1.3 s in total

	leaveLimit = 15 * time.Second // for jobs to return when the controller stops
)
