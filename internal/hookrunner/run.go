package hookrunner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gascity/internal/agentcli/hooks"
	"gascity/worker"
)

// Call is one call of a hook.
type Call struct {
	// Args are those behind "gc hook run": --for NAME, --within DURATION, EVENT.
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Later has the same call made again with the given arguments by a process of its
	// own, without a wait: the agent CLI says that it is idle only when its hook has
	// ended. Nil: what would be done later is done at once.
	Later func(args []string, input []byte) error
}

const (
	// afterwards marks a call that does the rest of an event that was reported to the city.
	afterwards = "--afterwards"
	// afterwardsWithin is its deadline: no agent waits for it.
	afterwardsWithin = 10 * time.Second
)

// Called reports whether a command line is a hook's call, and returns its arguments.
func Called(args []string) ([]string, bool) {
	if len(args) >= 2 && args[0] == "hook" && args[1] == "run" && !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
		return args[2:], true
	}
	return nil, false
}

// maxInput is the most that an agent CLI may send to a hook.
const maxInput = 32 << 20

// hook is one call that is being answered.
type hook struct {
	Call
	cli      hooks.CLI
	event    hooks.Event
	in       hooks.Input
	raw      []byte // by the agent CLI, as it was read
	reported bool   // the event was reported to the city
	client   *worker.Client
	began    time.Time
}

// Run answers one call and returns its exit status: 2, with a reason on standard
// error, for a tool that must not run and for a decision that could not be made, also
// if not even the event is known; 0 otherwise. It ends with ctx or at its own
// deadline, whatever the agent CLI and the city do.
func Run(ctx context.Context, c Call) (status int) {
	h := &hook{Call: c, began: time.Now()}
	known := false
	defer func() {
		if p := recover(); p != nil {
			status = h.failed(known, fmt.Errorf("the hook failed: %v", p))
		}
	}()
	within, err := h.parse()
	if err != nil {
		return h.failed(false, err)
	}
	known = true
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := h.read(ctx); err != nil {
		return h.failed(known, err)
	}
	if h.client, err = clientOf(c.Getenv); err != nil {
		return h.failed(known, err)
	}
	defer h.client.Close()
	switch {
	case h.reported:
		err = h.reportAfterTurn(ctx)
	case h.event.Decides():
		return h.decide(ctx)
	default:
		err = h.reportEvent(ctx)
	}
	if err != nil {
		return h.failed(known, err)
	}
	return 0
}

// failed returns the status of a call that came to nothing.
func (h *hook) failed(known bool, err error) int {
	reason := fmt.Sprintf("gc: %s hook: %v", h.event.Name, err)
	if known && !h.event.Decides() {
		fmt.Fprintln(h.Stderr, reason)
		return 0 // an unreported event must not block the agent
	}
	return h.deny(reason)
}

func (h *hook) parse() (time.Duration, error) {
	var name, event string
	var within time.Duration
	args := h.Args
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == afterwards:
			h.reported = true
		case (arg == "--for" || arg == "--within") && len(args) == 0:
			return 0, fmt.Errorf("%s needs a value", arg)
		case arg == "--for":
			name, args = args[0], args[1:]
		case arg == "--within":
			d, err := time.ParseDuration(args[0])
			if err != nil || d <= 0 {
				return 0, fmt.Errorf("--within %s is not a valid duration", args[0])
			}
			within, args = d, args[1:]
		case event != "":
			return 0, fmt.Errorf("unexpected argument %q", arg)
		default:
			event = arg
		}
	}
	if name == "" {
		name = h.Getenv(VariableHooks)
	}
	cli, ok := hooks.Lookup(name)
	if !ok {
		return 0, fmt.Errorf("the hooks of %q are not known; say --for with one of %v", name, hooks.Names())
	}
	h.cli = cli
	if h.event, ok = cli.Event(event); !ok {
		return 0, fmt.Errorf("%s has no event %q that is known", name, event)
	}
	if h.reported && h.event.Decides() {
		return 0, fmt.Errorf("nothing is left of %s", event)
	}
	limit := h.event.Within()
	if h.reported {
		limit = afterwardsWithin
	}
	if within == 0 || within > limit {
		within = limit
	}
	return within, nil
}

// read reads the input from the agent CLI.
func (h *hook) read(ctx context.Context) error {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() { // it ends with the process at the latest: a read cannot be given up
		text, err := io.ReadAll(io.LimitReader(h.Stdin, maxInput+1))
		done <- result{text, err}
	}()
	var got result
	select {
	case got = <-done:
	case <-ctx.Done():
		return fmt.Errorf("the agent CLI did not finish its input: %w", ctx.Err())
	}
	if got.err != nil {
		return got.err
	}
	if len(got.text) > maxInput {
		return fmt.Errorf("the agent CLI sends more than %d bytes", maxInput)
	}
	h.raw = got.text
	in, err := hooks.ParseInput(got.text)
	if err == nil && in.Event != "" && in.Event != h.event.Name {
		err = fmt.Errorf("the agent CLI reports %q", in.Event)
	}
	h.in = in
	return err
}

var errNoCity = errors.New("GC_WORKER_SOCKET, GC_WORKER_TOKEN and GC_RUN_ID are not all set: it was not started by a city")

// clientOf finds the city in the agent's environment.
func clientOf(getenv func(string) string) (*worker.Client, error) {
	c := &worker.Client{Socket: getenv("GC_WORKER_SOCKET"), URL: getenv("GC_WORKER_URL"), Token: getenv("GC_WORKER_TOKEN"), RunID: getenv("GC_RUN_ID")}
	if c.Socket != "" {
		c.URL = ""
	}
	if c.Socket == "" && c.URL == "" || c.Token == "" || c.RunID == "" {
		return nil, errNoCity
	}
	return c, nil
}
