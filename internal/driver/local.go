package driver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/fsutil"
	"gascity/internal/overlay"
	"gascity/internal/proc"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

const (
	// CallTimeout bounds the methods of the contract that have no context.
	CallTimeout = 30 * time.Second
	// nudgeTimeout bounds a nudge. It is long, because a long text takes as long as the agent takes to read it.
	nudgeTimeout = 5 * time.Minute
)

// CallContext returns a context that ends after [CallTimeout]. It is for those methods of runtime.Provider that have no parameter
// ctx.
func CallContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), CallTimeout) //nolint:forbidigo // the contract's method has no ctx
}

// Session is a session as it was observed. A driver embeds it in its own type of a session, which implements [LocalSession].
type Session struct {
	Name     string
	Instance string          // the instance token
	WorkDir  string          // the agent's working directory
	Exited   bool            // the agent has exited
	Attached int             // the number of terminals of people
	Terminal screen.Terminal // nil if the session has none
	Rules    screen.Rules
	Life     screen.Life // the agent and the questions that were answered in it
}

// Base returns the session without what the type of its driver adds to it.
func (s Session) Base() Session { return s }

// Attempt identifies one attempt to deliver a prompt.
type Attempt struct {
	Delivery string // the ID of the delivery in the journal
	Number   int    // of the attempt; zero: not counted
	Once     bool   // the caller chose the ID: no other delivery has it
}

// SessionInput sends input to a session. The caller has locked the session's input.
type SessionInput interface {
	// Deliver delivers a prompt. Resolve returns the outcome of a delivery that was interrupted. ClearInput empties the agent's
	// input box, and Interrupt interrupts the agent's turn.
	Deliver(ctx context.Context, a Attempt, p inject.Prompt) (runtime.Outcome, error)
	Resolve(ctx context.Context, a Attempt) (runtime.Outcome, error)
	ClearInput(ctx context.Context) error
	Interrupt(ctx context.Context) error
}

// LocalSession is a session of a driver on this machine. Its type embeds [Session].
type LocalSession interface {
	SessionInput
	Base() Session // the embedded Session
	// SaveAnswer stores that the question was answered. SaveHints stores the hints of the instance; it returns
	// runtime.ErrStaleInstance if the instance has ended.
	SaveAnswer(ctx context.Context, question string) error
	SaveHints(ctx context.Context, hints runtime.Hints) error
	// Identify reports whether the agent's process is known, after it has tried to find it.
	Identify(ctx context.Context) bool
	// Evidence returns what is known of the agent without its terminal: of a session with a terminal only the evidence of
	// [AgentEvidence], for the process that Identify finds.
	Evidence(ctx context.Context) (runtime.Reading, error)
	// Backend returns the Backend that starts the next agent in the session.
	Backend(cfg runtime.Config) Backend
}

// LocalDriver is what distinguishes the drivers whose agents run on this machine. Fields are required unless their comment
// says otherwise.
type LocalDriver[S LocalSession] struct {
	Profiles     *agentcli.Set
	Env          []string      // the base environment of agents and setup commands, "K=V"
	WorkDir      string        // for agents that have none configured; empty means that of this process
	SetupTimeout time.Duration // see [StartSequence.SetupTimeout]
	Logger       *slog.Logger

	// Find returns the session with a valid name. exists is false if there is no such session, or if only its files are left.
	Find func(ctx context.Context, name string) (s S, exists bool, err error)
	// Names returns the names of all running sessions. With an error the list may be incomplete.
	Names func(ctx context.Context) ([]string, error)
	// Roots returns the first processes of all running sessions, with the sessions' names.
	Roots func(ctx context.Context) (map[proc.ID]string, error)
	// LockInput waits until no other caller, also in another process, sends input to the session.
	LockInput func(ctx context.Context, name string) (unlock func(), err error)
	// Backend returns the Backend that creates a session. PrivateDir is [StartSequence.PrivateDir] of a session.
	Backend    func(name string, cfg runtime.Config) Backend
	PrivateDir func(name string) string
	// Stop stops the session with a valid name. If token is not nil, the instance must have that token.
	Stop func(ctx context.Context, name string, token *string) error
	// SetMeta is the driver's runtime.MetaStore.SetMeta.
	SetMeta func(name, key, value string) error
	// NoHints means that SetHints is not supported.
	NoHints bool
	// Translate returns an error of package runtime for an error of the driver.
	Translate func(error) error
	// Prepare changes the configuration before a start. It may be nil.
	Prepare func(name string, cfg runtime.Config) (runtime.Config, error)
	// BeforeLive is called before the commands of session_live run. It may be nil.
	BeforeLive func(ctx context.Context, s S, cfg runtime.Config) error
	// Cancel stops a delivery that still runs, also for another process. It may be nil.
	Cancel func(ctx context.Context, s S, a Attempt)
}

// Local implements the part of the contract that is the same for all drivers whose agents run on this machine. A driver embeds
// it. It is safe for concurrent use.
type Local[S LocalSession] struct {
	driver  LocalDriver[S]
	memory  screen.Memory
	scanner proc.AgentScanner
}

// NewLocal returns the Local of a driver.
func NewLocal[S LocalSession](d LocalDriver[S]) *Local[S] { return &Local[S]{driver: d} }

// fail returns err as an error of the operation, see [SessionError].
func (l *Local[S]) fail(op, name string, err error) error {
	return SessionError(op, name, err, l.driver.Translate)
}

// find returns the session with the name, also if its agent has exited. For a name that no session can have, exists is false.
func (l *Local[S]) find(ctx context.Context, op, name string) (s S, exists bool, err error) {
	if runtime.ValidateName(name) != nil {
		return s, false, nil //nolint:nilerr // such a session cannot exist
	}
	s, exists, err = l.driver.Find(ctx, name)
	return s, exists, l.fail(op, name, err)
}

// existing is find, but it returns [runtime.ErrSessionNotFound] if there is no such session.
func (l *Local[S]) existing(ctx context.Context, op, name string) (S, error) {
	s, exists, err := l.find(ctx, op, name)
	if err == nil && !exists {
		err = &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	return s, err
}

// Session returns a running session without locking its input, for reading its state. It returns [runtime.ErrSessionNotFound]
// if the session does not exist or its agent has exited. op is the operation that an error names.
func (l *Local[S]) Session(ctx context.Context, op, name string) (S, error) {
	s, err := l.existing(ctx, op, name)
	if err == nil && s.Base().Exited {
		err = &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	return s, err
}

// instance is Session for the instance with the token; nil means any instance.
func (l *Local[S]) instance(ctx context.Context, op, name string, token *string) (S, error) {
	s, err := l.Session(ctx, op, name)
	if err == nil && token != nil && *token != s.Base().Instance {
		err = &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	return s, err
}

// Drive calls drive with the session's input locked, so that no other delivery, also of another process, can come in between.
// If token is not nil, the session must have that instance token.
func (l *Local[S]) Drive(ctx context.Context, op, name string, token *string, drive func(S) error) error {
	s, err := l.instance(ctx, op, name, token)
	if err != nil {
		return err
	}
	unlock, err := l.driver.LockInput(ctx, name)
	if err != nil {
		return l.fail(op, name, err)
	}
	defer unlock()
	return l.fail(op, name, drive(s))
}

// Start implements runtime.Runner.
func (l *Local[S]) Start(ctx context.Context, name string, cfg runtime.Config) error {
	err := runtime.ValidateName(name)
	if err == nil && l.driver.Prepare != nil {
		cfg, err = l.driver.Prepare(name, cfg)
	}
	if err == nil {
		err = l.sequence(name, l.driver.Backend(name, cfg)).Start(ctx, name, cfg)
	}
	if err != nil {
		return l.fail("start", name, err)
	}
	l.identify(ctx, name)
	return nil
}

// identify finds the agent's process, see [WaitForAgent].
func (l *Local[S]) identify(ctx context.Context, name string) {
	WaitForAgent(ctx, func(ctx context.Context) bool {
		s, err := l.Session(ctx, "identify", name)
		return err != nil || s.Identify(ctx)
	})
}

// sequence returns the start sequence for one session.
func (l *Local[S]) sequence(name string, b Backend) StartSequence {
	d := &l.driver
	return StartSequence{
		Backend: b, Profiles: d.Profiles, Environ: d.Env, PrivateDir: d.PrivateDir(name), SetupTimeout: d.SetupTimeout,
		Stage: l.stage, Warn: l.storeWarnings(name),
		Deliver: func(ctx context.Context, text string) (runtime.Outcome, error) {
			return l.Deliver(ctx, name, runtime.Delivery{Content: runtime.TextContent(text), AllowChanges: true})
		},
	}
}

// stage copies overlays and files into the working directory. It logs a warning for each file that it did not overwrite.
func (l *Local[S]) stage(ctx context.Context, cfg runtime.Config) error {
	dirs := append(slices.Clip(cfg.PackOverlayDirs), cfg.OverlayDir)
	report, err := overlay.Stage(ctx, overlay.Request{
		WorkDir: cfg.WorkDir, PackOverlayDirs: cfg.PackOverlayDirs, OverlayDir: cfg.OverlayDir,
		Slots: runtime.EffectiveOverlayProviderNames(cfg, dirs...), CopyFiles: cfg.CopyFiles,
	})
	for _, warning := range report.Warnings {
		l.driver.Logger.Warn(warning, "work_dir", cfg.WorkDir)
	}
	return err
}

// RunLive implements runtime.Stager.
func (l *Local[S]) RunLive(name string, cfg runtime.Config) error {
	ctx, cancel := CallContext()
	defer cancel()
	const op = "run live commands of"
	s, err := l.Session(ctx, op, name)
	if err == nil && l.driver.BeforeLive != nil {
		err = l.driver.BeforeLive(ctx, s, cfg)
	}
	if err == nil {
		err = l.sequence(name, s.Backend(cfg)).Live(ctx, name, cfg)
	}
	return l.fail(op, name, err)
}

// Stop implements runtime.Runner.
func (l *Local[S]) Stop(name string) error {
	ctx, cancel := CallContext()
	defer cancel()
	return l.stop(ctx, name, nil)
}

// StopInstance implements runtime.Fencer.
func (l *Local[S]) StopInstance(ctx context.Context, name, token string) error {
	return l.stop(ctx, name, &token)
}

// stop stops the session. If token is not nil, the instance must have that token.
func (l *Local[S]) stop(ctx context.Context, name string, token *string) error {
	if runtime.ValidateName(name) != nil {
		return nil //nolint:nilerr // such a session cannot exist
	}
	return l.fail("stop", name, l.driver.Stop(ctx, name, token))
}

// Interrupt implements runtime.Runner.
func (l *Local[S]) Interrupt(name string) error {
	ctx, cancel := CallContext()
	defer cancel()
	err := l.interrupt(ctx, name, nil)
	if runtime.IsSessionGone(err) {
		return nil
	}
	return err
}

// InterruptInstance implements runtime.Fencer.
func (l *Local[S]) InterruptInstance(ctx context.Context, name, token string) error {
	return l.interrupt(ctx, name, &token)
}

// interrupt interrupts the agent. If token is not nil, the instance must have that token.
func (l *Local[S]) interrupt(ctx context.Context, name string, token *string) error {
	return l.Drive(ctx, "interrupt", name, token, func(s S) error { return s.Interrupt(ctx) })
}

// Recover implements runtime.Recoverer. handle is the instance token.
func (l *Local[S]) Recover(ctx context.Context, name, handle string) error {
	_, err := l.instance(ctx, "recover", name, &handle)
	return err
}

// SetHints implements runtime.Hinter. Later processes use the hints too.
func (l *Local[S]) SetHints(ctx context.Context, name, instance string, hints runtime.Hints) error {
	const op = "set the hints of"
	if l.driver.NoHints {
		return l.fail(op, name, errors.ErrUnsupported)
	}
	s, err := l.instance(ctx, op, name, inject.Fence(instance))
	if err != nil {
		return err
	}
	return l.fail(op, name, s.SaveHints(ctx, hints))
}

// IsAttached implements runtime.Inspector. It returns false if the state is unknown.
func (l *Local[S]) IsAttached(name string) bool {
	ctx, cancel := CallContext()
	defer cancel()
	s, err := l.Session(ctx, "look at", name)
	return err == nil && s.Base().Attached > 0
}

// ListRunning implements runtime.Inspector.
func (l *Local[S]) ListRunning(prefix string) ([]string, error) {
	ctx, cancel := CallContext()
	defer cancel()
	all, err := l.driver.Names(ctx)
	names := make([]string, 0, len(all))
	for _, name := range all {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	switch {
	case err == nil:
		return names, nil
	case len(all) > 0:
		return names, &runtime.PartialListError{Errs: []error{err}}
	}
	return nil, &runtime.Error{Op: "list", Err: errors.Join(runtime.ErrRuntimeUnavailable, err)}
}

// Deliver implements runtime.Deliverer.
func (l *Local[S]) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	var out runtime.Outcome
	err := l.Drive(ctx, "nudge", name, inject.Fence(d.Instance), func(s S) (err error) {
		out, err = inject.Submit(d, s.Base().WorkDir, func(id string, p inject.Prompt) (runtime.Outcome, error) {
			return s.Deliver(ctx, Attempt{Delivery: id, Number: d.Attempt, Once: d.ID != ""}, p)
		})
		return err
	})
	return inject.DeliveryResult(out, err)
}

// Nudge implements runtime.Input.
func (l *Local[S]) Nudge(name string, content []runtime.ContentBlock) error {
	ctx, cancel := context.WithTimeout(context.Background(), nudgeTimeout) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	out, err := l.Deliver(ctx, name, runtime.Delivery{Content: content})
	if err == nil {
		err = runtime.NudgeError(out)
	}
	return l.fail("nudge", name, err)
}

// Settle implements runtime.Settler.
func (l *Local[S]) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	return inject.RetryUntilKnown(ctx, func() (runtime.Outcome, error) { return l.resolveOnce(ctx, name, d) })
}

// resolveOnce asks once for the outcome of a delivery, with the session's input locked.
func (l *Local[S]) resolveOnce(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	out := runtime.Outcome{State: runtime.OutcomeUnconfirmed}
	err := l.Drive(ctx, "settle a prompt of", name, inject.Fence(d.Instance), func(s S) error {
		id, err := inject.DeliveryIDOf(d)
		if err == nil {
			out, err = s.Resolve(ctx, Attempt{Delivery: id, Number: d.Attempt})
		}
		return err
	})
	return out, err
}

// Withdraw implements runtime.Withdrawer. It stops the delivery if it still runs, also for another process.
func (l *Local[S]) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	if l.driver.Cancel != nil && d.ID != "" && d.Attempt > 0 {
		if s, err := l.instance(ctx, "withdraw a prompt of", name, inject.Fence(d.Instance)); err == nil {
			l.driver.Cancel(ctx, s, Attempt{Delivery: d.ID, Number: d.Attempt}) // without it Settle waits until the delivery has ended
		}
	}
	out, err := l.Settle(ctx, name, d)
	return err == nil && out.State == runtime.OutcomeRefused, err
}

// Sense implements runtime.Sensor. What a program reported to its terminal is used only while that program is in the
// foreground. For the screen, the reading says since when this process has seen it unchanged, or since the last output.
func (l *Local[S]) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	const op = "sense"
	s, err := l.Session(ctx, op, name)
	if err != nil {
		l.memory.Forget(name)
		return runtime.Reading{}, err
	}
	reading, err := s.Evidence(ctx)
	if err != nil {
		l.memory.Forget(name)
		return runtime.Reading{}, l.fail(op, name, err)
	}
	b := s.Base()
	if b.Terminal != nil {
		process := reading.Evidence[0]
		if reading, err = l.memory.Sense(ctx, name, b.Life, b.Terminal, b.Rules); err != nil {
			return runtime.Reading{}, l.fail(op, name, err)
		}
		process.At = reading.At
		reading.Evidence = append(reading.Evidence, process)
	}
	reading.Instance = b.Instance
	return reading, nil
}

// CopyTo implements runtime.Stager.
func (l *Local[S]) CopyTo(name, src, relDst string) error {
	ctx, cancel := CallContext()
	defer cancel()
	const op = "copy to"
	s, exists, err := l.find(ctx, op, name)
	if err != nil || !exists {
		return err
	}
	return l.fail(op, name, overlay.CopyTo(s.Base().WorkDir, src, relDst))
}

// CopyFrom implements runtime.CopyFromProvider.
func (l *Local[S]) CopyFrom(ctx context.Context, name, src string, w io.Writer) error {
	const op = "copy from"
	s, err := l.existing(ctx, op, name)
	if err == nil {
		err = fsutil.PackArchiveFrom(w, s.Base().WorkDir, src)
	}
	return l.fail(op, name, err)
}

// FindRuntimesBySessionID implements runtime.ProcessTableScanner.
func (l *Local[S]) FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error) {
	ctx, cancel := CallContext()
	defer cancel()
	roots, listErr := l.driver.Roots(ctx)
	found, err := l.scanner.Find(id, roots)
	return found, errors.Join(err, listErr)
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (l *Local[S]) TerminateRuntime(r runtime.LiveRuntime) error {
	if r.IsTracked {
		return l.Stop(r.ProviderName)
	}
	ctx, cancel := CallContext()
	defer cancel()
	return proc.TerminateAgent(ctx, r)
}

// WorkDirOf returns the working directory of an agent that is started: the configured one, else that of the driver's options,
// else that of this process.
func (l *Local[S]) WorkDirOf(spec StartSpec) (string, error) {
	switch {
	case spec.WorkDir != "":
		return spec.WorkDir, nil
	case l.driver.WorkDir != "":
		return l.driver.WorkDir, nil
	}
	return os.Getwd()
}

// storeWarnings returns the [StartSequence.Warn] of a start of the session. It logs each warning and stores all of them in the
// session's metadata.
func (l *Local[S]) storeWarnings(name string) func(error) {
	var warnings []string
	logger := l.driver.Logger.With("session", name)
	return func(err error) {
		logger.Warn("start continued after a failure", "error", err)
		warnings = append(warnings, BriefError(err))
		if err := l.driver.SetMeta(name, MetaWarning, strings.Join(warnings, "\n")); err != nil {
			logger.Warn("cannot store the warnings of the start", "error", err)
		}
	}
}

// Terminals implements the part of the contract that only drivers with terminals have. Such a driver embeds it beside [Local].
type Terminals[S LocalSession] struct{ local *Local[S] }

// TerminalsOf returns the Terminals of a driver.
func TerminalsOf[S LocalSession](l *Local[S]) Terminals[S] { return Terminals[S]{l} }

// Capabilities reports that the driver has all capabilities.
func (Terminals[S]) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{CanReportAttachment: true, CanReportActivity: true, CanStream: true, CanAttachTTY: true}
}

// SupportsTransport implements runtime.TransportCapabilityProvider. The terminal, with the empty name, is the only transport.
func (Terminals[S]) SupportsTransport(transport string) bool { return transport == "" }

// Relaunch implements runtime.RelaunchProvider. Terminal, scrollback, metadata and environment are kept.
func (t Terminals[S]) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	const op = "relaunch"
	s, err := t.local.existing(ctx, op, name)
	if err == nil {
		err = t.local.sequence(name, s.Backend(cfg)).Relaunch(ctx, name, cfg)
	}
	if err != nil {
		return t.local.fail(op, name, err)
	}
	t.local.identify(ctx, name)
	return nil
}

// ClearInput implements runtime.InputClearer.
func (t Terminals[S]) ClearInput(ctx context.Context, name, instance string) error {
	return t.local.Drive(ctx, "clear the input box of", name, inject.Fence(instance), func(s S) error { return s.ClearInput(ctx) })
}

// NudgeNow implements runtime.ImmediateNudgeProvider. It equals Nudge, which never waits for an idle agent: it delivers the text
// or refuses it.
func (t Terminals[S]) NudgeNow(name string, content []runtime.ContentBlock) error {
	return t.local.Nudge(name, content)
}

// WaitForIdle implements runtime.IdleWaitProvider.
func (t Terminals[S]) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	const op = "wait for idle"
	s, err := t.local.Session(ctx, op, name)
	if err != nil {
		return err
	}
	b := s.Base()
	return t.local.fail(op, name, screen.Idle(ctx, b.Terminal, b.Rules, timeout))
}

// DismissKnownDialogs implements runtime.DialogProvider.
func (t Terminals[S]) DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error {
	return t.local.Drive(ctx, "dismiss dialogs of", name, nil, func(s S) error {
		b := s.Base()
		_, err := screen.Dismiss(ctx, b.Terminal, b.Rules, timeout)
		return err
	})
}

// Pending implements runtime.InteractionProvider.
func (t Terminals[S]) Pending(name string) (*runtime.PendingInteraction, error) {
	ctx, cancel := CallContext()
	defer cancel()
	reading, err := t.local.Sense(ctx, name)
	return reading.Pending, t.local.fail("read pending question of", name, err)
}

// Respond implements runtime.InteractionProvider. It locks the session's input, and answers a question only in the instance that
// asked it.
func (t Terminals[S]) Respond(name string, response runtime.InteractionResponse) error {
	ctx, cancel := CallContext()
	defer cancel()
	return t.local.Drive(ctx, "respond to", name, nil, func(s S) error {
		b := s.Base()
		asked, err := inject.Respond(ctx, b.Terminal, b.Rules, inject.Answer{
			InteractionResponse: response, InstanceID: b.Life,
			Deliver: func(ctx context.Context, p inject.Prompt) (runtime.Outcome, error) {
				return s.Deliver(ctx, Attempt{Delivery: inject.DeliveryID("", p.Text)}, p)
			},
		})
		if err != nil {
			return err
		}
		return s.SaveAnswer(ctx, asked)
	})
}
