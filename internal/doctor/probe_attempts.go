package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// probeAttempts returns all attempts in the order in which they run: before the start of a session, while it runs, and after its
// stop.
func probeAttempts() []probeAttempt {
	return []probeAttempt{
		{operation: "is-running", must: true, promise: "a session that does not exist is certainly not there", try: (*probe).absentIsDead},
		{operation: "stop", must: true, promise: "stopping a session that does not exist succeeds", try: func(v *probe) (string, error) { return "", v.Provider.Stop(probeNoSession) }},
		{operation: "start", must: true, promise: "start creates a running session", try: (*probe).start},
		{operation: "start", promise: "a second start with the same name is refused", alive: true, try: (*probe).startAgain},
		{operation: "is-running", must: true, promise: "the session is there", alive: true, try: (*probe).sessionIsAlive},
		{operation: "list-running", promise: "the session is listed, by its prefix and without", alive: true, try: (*probe).list},
		{operation: "process-alive", promise: "the agent's process is found, and no other program", alive: true, try: (*probe).processes},
		{operation: "set-meta", promise: "metadata is kept, replaced and removed, byte for byte", alive: true, try: (*probe).meta},
		{operation: "observe", promise: "the instance is identified by its token", capabilities: []string{"observe"}, alive: true, try: (*probe).instance},
		{operation: "nudge", promise: "a prompt of two lines arrives, once", capabilities: []string{"deliver"}, alive: true, try: (*probe).nudge},
		{operation: "peek", promise: "peek shows what the agent printed", alive: true, try: (*probe).peek},
		{operation: "get-last-activity", promise: "the agent's last output has a time", capabilities: []string{"report-activity"}, alive: true, try: (*probe).activity},
		{operation: "send-keys", promise: "a key is accepted", capabilities: []string{"tty.attach"}, alive: true, try: func(v *probe) (string, error) { return "", v.Provider.SendKeys(probeSession, "C-u") }},
		{operation: "interrupt", promise: "an interrupt leaves the session there", alive: true, try: (*probe).interrupt},
		{operation: "clear-scrollback", promise: "the scrollback can be cleared", alive: true, try: func(v *probe) (string, error) { return "", v.Provider.ClearScrollback(probeSession) }},
		{operation: "copy-to", promise: "a file is copied into the working directory", alive: true, try: (*probe).copy},
		{operation: "is-attached", promise: "no client is attached", capabilities: []string{"report-attachment"}, alive: true, try: (*probe).attached},
		{operation: "exec", promise: "a command runs in the session: its output and exit code", capabilities: []string{"proc.exec"}, alive: true, try: (*probe).exec},
		{operation: "run-live", promise: "session_live runs again", capabilities: []string{"run-live"}, alive: true, try: (*probe).live},
		{operation: "watch", promise: "a watch begins", capabilities: []string{"watch"}, try: (*probe).watch},
		{operation: "stop", promise: "another instance's token does not stop it", capabilities: []string{"fence"}, alive: true, try: (*probe).fence},
		{operation: "stop", must: true, promise: "the session and its processes are gone", alive: true, try: (*probe).stop},
		{operation: "stop", promise: "stopping twice succeeds", try: func(v *probe) (string, error) { return "", v.Provider.Stop(probeSession) }},
		{operation: "nudge", promise: "a prompt for a missing session is not delivered", try: (*probe).nudgeAbsent},
		{operation: "interrupt", promise: "interrupting a missing session succeeds", try: func(v *probe) (string, error) { return "", v.Provider.Interrupt(probeNoSession) }},
	}
}

// absentIsDead checks that Observe reports a session that does not exist as dead.
func (v *probe) absentIsDead() (string, error) {
	obs, err := runtime.Observe(v.ctx, v.Provider, probeNoSession)
	if err == nil && obs.Session != runtime.Dead {
		err = fmt.Errorf("a session that does not exist is %s", obs.Session)
	}
	return "", err
}

// sessionIsAlive checks that Observe reports the started session as alive.
func (v *probe) sessionIsAlive() (string, error) {
	obs, err := runtime.Observe(v.ctx, v.Provider, probeSession)
	if err == nil && (obs.Session != runtime.Alive || obs.Agent == runtime.Dead) {
		err = fmt.Errorf("session %s, agent %s", obs.Session, obs.Agent)
	}
	return "", err
}

// start starts the session and checks that it runs.
func (v *probe) start() (string, error) {
	if err := v.Provider.Start(v.ctx, probeSession, v.agent.Config); err != nil {
		return "", err
	}
	v.started = true
	if !v.until(func() bool { return v.Provider.IsRunning(probeSession) }) {
		return "", errors.New("start succeeded, but the session does not run")
	}
	return "", nil
}

// startAgain checks that a second start fails because the session exists.
func (v *probe) startAgain() (string, error) {
	err := v.Provider.Start(v.ctx, probeSession, v.agent.Config)
	if errors.Is(err, runtime.ErrSessionExists) {
		return "", nil
	}
	return "", fmt.Errorf("a second start returns %w, want an error that the session exists", orNil(err))
}

// orNil returns err, or an error "success" instead of nil, so that it can be wrapped.
func orNil(err error) error {
	if err == nil {
		return errors.New("success")
	}
	return err
}

// list checks that listings contain the session, and not the session that does not exist.
func (v *probe) list() (string, error) {
	for _, prefix := range []string{"", probeSession} {
		names, err := v.Provider.ListRunning(prefix)
		if err != nil {
			return "", err
		}
		if !slices.Contains(names, probeSession) || slices.Contains(names, probeNoSession) {
			return "", fmt.Errorf("the listing of %q is %q", prefix, names)
		}
	}
	return "", nil
}

// processes checks that ProcessAlive finds the agent's process by its name.
func (v *probe) processes() (string, error) {
	if !v.until(func() bool { return v.Provider.ProcessAlive(probeSession, []string{v.agent.Process}) }) {
		return "", fmt.Errorf("no process %q is found", v.agent.Process)
	}
	if v.Provider.ProcessAlive(probeSession, []string{"gc-no-such-program"}) {
		return "only whether the session runs is reported", nil
	}
	return "", nil
}

// meta checks that a metadata value can be set, read and removed unchanged.
func (v *probe) meta() (string, error) {
	const key = "gc check.key"
	for _, value := range []string{"a value", "zwei\nlines 'and' \"$(quotes)\" \\"} {
		if err := v.Provider.SetMeta(probeSession, key, value); err != nil {
			return "", err
		}
		if got, err := v.Provider.GetMeta(probeSession, key); err != nil || got != value {
			return "", fmt.Errorf("get-meta after set-meta of %q: %q, %w", value, got, orNil(err))
		}
	}
	if err := v.Provider.RemoveMeta(probeSession, key); err != nil {
		return "", err
	}
	if got, err := v.Provider.GetMeta(probeSession, key); err != nil || got != "" {
		return "", fmt.Errorf("get-meta after remove-meta: %q, %w", got, orNil(err))
	}
	return "", nil
}

func (v *probe) instance() (string, error) {
	return "", runtime.CheckInstance(v.ctx, v.Provider, probeSession, probeToken)
}

// nudge delivers a prompt and checks in the agent's ledger that it arrived once and unchanged.
func (v *probe) nudge() (string, error) {
	out, err := runtime.Deliver(v.ctx, v.Provider, probeSession, runtime.Delivery{ID: "gc-check", Content: runtime.TextContent(probePrompt)})
	if err == nil {
		err = runtime.NudgeError(out)
	}
	if err != nil {
		return "", err
	}
	if v.ledger() == nil {
		return "the outcome is " + string(out.State) + "; gc cannot see from here what the agent received", nil
	}
	count := func() (whole, all int) {
		for _, e := range v.ledger() {
			if e.Kind == runtimetest.LedgerPrompt {
				all++
				if e.Is(probePrompt) {
					whole++
				}
			}
		}
		return whole, all
	}
	v.delivered = v.until(func() bool { whole, _ := count(); return whole > 0 })
	if whole, all := count(); whole != 1 || all != 1 {
		return "", fmt.Errorf("the outcome is %s, and the agent received %d prompts, %d of them unchanged", out.State, all, whole)
	}
	return "the outcome is " + string(out.State), nil
}

// peek checks that Peek shows the agent's output, and that Peek of one line shows one line.
func (v *probe) peek() (string, error) {
	want := "a prompt of gc"
	if !v.delivered {
		want = ""
	}
	var text string
	var err error
	found := v.until(func() bool {
		text, err = v.Provider.Peek(probeSession, 0)
		return isMissingOperation(err) || err == nil && text != "" && strings.Contains(text, want)
	})
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", fmt.Errorf("peek shows %.100q, want %q in it", text, want)
	}
	short, err := v.Provider.Peek(probeSession, 1)
	if err == nil && strings.Contains(short, "\n") {
		err = fmt.Errorf("peek of one line shows %.100q", short)
	}
	return "", err
}

// activity checks that the time of the last activity is known, if the provider declares that it
// reports it.
func (v *probe) activity() (string, error) {
	if !v.Provider.Capabilities().CanReportActivity {
		return "", errors.ErrUnsupported
	}
	at, err := v.Provider.GetLastActivity(probeSession)
	if err == nil && at.IsZero() {
		err = errors.New("the script declares report-activity, but get-last-activity prints no time")
	}
	return "", err
}

// interrupt checks that the session still runs after an interrupt.
func (v *probe) interrupt() (string, error) {
	if err := v.Provider.Interrupt(probeSession); err != nil {
		return "", err
	}
	if !v.Provider.IsRunning(probeSession) {
		return "", errors.New("the interrupt stopped the session; it must only interrupt the agent's turn")
	}
	return "", nil
}

// copy checks that CopyTo copies a file into the working directory.
func (v *probe) copy() (string, error) {
	src := filepath.Join(v.Dir, "copied")
	if err := os.WriteFile(src, []byte("content"), 0o600); err != nil {
		return "", err
	}
	if err := v.Provider.CopyTo(probeSession, src, "into/copied"); err != nil {
		return "", err
	}
	got, err := os.ReadFile(filepath.Join(v.agent.Config.WorkDir, "into", "copied"))
	if err != nil || string(got) != "content" {
		return "", fmt.Errorf("copy-to succeeded, but the file is not in the working directory on this machine (%w)", orNil(err))
	}
	return "", nil
}

// attached checks that no person is reported as attached, if the provider declares that it reports it.
func (v *probe) attached() (string, error) {
	if !v.Provider.Capabilities().CanReportAttachment {
		return "", errors.ErrUnsupported
	}
	if v.Provider.IsAttached(probeSession) {
		return "", errors.New("a person is reported as attached")
	}
	return "", nil
}

// exec checks that Exec returns the output and the exit code of a command.
func (v *probe) exec() (string, error) {
	out, code, err := runtime.Exec(v.ctx, v.Provider, probeSession, []string{"sh", "-c", "echo 'it''s here'; exit 7"})
	if err == nil && (code != 7 || strings.TrimSpace(string(out)) != "its here") {
		err = fmt.Errorf("the output is %.60q and the exit code %d, want 7", out, code)
	}
	if err != nil {
		return "", err
	}
	if _, code, err := runtime.Exec(v.ctx, v.Provider, probeSession, []string{"sh", "-c", "exit 2"}); err != nil || code != 2 {
		return "", fmt.Errorf("the exit code 2 of a command becomes %d, %w", code, orNil(err))
	}
	return "", nil
}

func (v *probe) live() (string, error) {
	return "", v.Provider.RunLive(probeSession, runtime.Config{WorkDir: v.agent.Config.WorkDir, SessionLive: []string{"true"}})
}

// watch checks that the first event of Watch is a resync.
func (v *probe) watch() (string, error) {
	ctx, cancel := context.WithTimeout(v.ctx, v.Patience)
	defer cancel()
	events, err := runtime.Watch(ctx, v.Provider)
	if err != nil {
		return "", err
	}
	if e, ok := <-events; !ok || e.Kind != runtime.EventResync {
		return "", fmt.Errorf("the first event is %q, want a resync", e.Kind)
	}
	return "", nil
}

// fence checks that StopInstance with another instance's token does not stop the session.
func (v *probe) fence() (string, error) {
	err := runtime.StopInstance(v.ctx, v.Provider, probeSession, "gc-check-another")
	if !v.Provider.IsRunning(probeSession) {
		return "", fmt.Errorf("the session was stopped (%w)", orNil(err))
	}
	if errors.Is(err, runtime.ErrStaleInstance) {
		return "", nil
	}
	return "", orNil(err)
}

// stop stops the session and checks that the session and the agent's processes are gone.
func (v *probe) stop() (string, error) {
	var pids []int
	for _, e := range v.ledger() {
		if e.Kind == runtimetest.LedgerStart {
			pids = append(pids, e.Run)
		}
	}
	if err := v.Provider.Stop(probeSession); err != nil {
		return "", err
	}
	v.started = false
	if v.Provider.IsRunning(probeSession) {
		return "", errors.New("stop succeeded, but the session still runs")
	}
	for _, pid := range pids {
		if (runtimetest.Local{}).Alive(pid) {
			return "", fmt.Errorf("stop succeeded, but the agent's process %d still runs", pid)
		}
	}
	return "", nil
}

// nudgeAbsent checks that a prompt to a session that does not exist is not reported as delivered.
func (v *probe) nudgeAbsent() (string, error) {
	out, err := runtime.Deliver(v.ctx, v.Provider, probeNoSession, runtime.Delivery{Content: runtime.TextContent("x")})
	if err == nil && (out.State == runtime.OutcomeSubmitted || out.State == runtime.OutcomeUnconfirmed) {
		err = fmt.Errorf("the outcome is %s", out.State)
	}
	return "", err
}
