package hookrunner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gascity/internal/agentcli"
	"gascity/worker"
)

// Call is one call of a hook by an agent CLI: the arguments and files of the process.
type Call struct {
	// Args are the arguments after "gc hook run": --for NAME, --within DURATION, EVENT.
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Later starts a separate process that makes the same call with the given arguments and input,
	// and does not wait for it. The agent CLI is only idle after its hook has exited. Nil: the rest
	// is done in this process.
	Later func(args []string, input []byte) error
}

const (
	// afterwards marks the call that does the remaining work of an event that was already reported
	// to the city.
	afterwards = "--afterwards"
	// afterwardsWithin is the deadline of that call, for which no agent waits.
	afterwardsWithin = 10 * time.Second
)

// Called reports whether args, the arguments of gc, are the call of a hook, and returns the
// arguments after "hook run".
func Called(args []string) ([]string, bool) {
	if len(args) >= 2 && args[0] == "hook" && args[1] == "run" && !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
		return args[2:], true
	}
	return nil, false
}

// maxInput is the maximum size in bytes of an agent CLI's input to a hook.
const maxInput = 32 << 20

// hook is a call of a hook while it runs.
type hook struct {
	Call
	cli      agentcli.Hooks
	event    agentcli.HookEvent
	in       agentcli.HookInput
	raw      []byte // the unparsed input from the agent CLI
	dir      string // the directory of the hooks' own files; empty: none
	reported bool   // the event was already reported to the city
	client   *worker.Client
	began    time.Time
}

// Run handles one call of a hook and returns the exit status of the process. The status is 2, with
// a reason on standard error, if the agent must not use the tool, if the decision about a tool
// failed, or if the event is unknown. Otherwise it is 0. Run returns when ctx ends or the hook's
// own time is over, even if the agent CLI or the city does not answer.
func Run(ctx context.Context, c Call) (status int) {
	h := &hook{Call: c, dir: c.Getenv(VariableFolder), began: time.Now()}
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
	if h.client = agentcli.CityClient(c.Getenv); h.client == nil {
		return h.failed(known, errNoCity)
	}
	defer h.client.Close()
	h.forgetRequest()
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

// failed writes the error of a call and returns its exit status: 2, which blocks a tool, if the
// event decides about one or is unknown (known is false), otherwise 0.
func (h *hook) failed(known bool, err error) int {
	reason := fmt.Sprintf("gc: %s hook: %v", h.event.Name, err)
	if known && !h.event.Decides() {
		fmt.Fprintln(h.Stderr, reason)
		return 0 // an unreported event must not block the agent
	}
	return h.deny(reason)
}

// parse parses the arguments and returns how long the call may take.
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
	cli, ok := agentcli.LookupHooks(name)
	if !ok {
		return 0, fmt.Errorf("gc does not know the hooks of %q; use --for with one of %v", name, agentcli.HookNames())
	}
	h.cli = cli
	if h.event, ok = cli.Event(event); !ok {
		return 0, fmt.Errorf("gc does not know the event %q of %s", event, name)
	}
	if h.reported && h.event.Decides() {
		return 0, fmt.Errorf("the event %s has no remaining work", event)
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

// read reads the JSON that the agent CLI sends to the hook, and parses it.
func (h *hook) read(ctx context.Context) error {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() { // a read cannot be canceled; this goroutine ends with the process
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
	in, err := agentcli.ParseHookInput(got.text)
	if err == nil && in.Event != "" && in.Event != h.event.Name {
		err = fmt.Errorf("the agent CLI reports %q", in.Event)
	}
	h.in = in
	return err
}

var errNoCity = errors.New("GC_WORKER_SOCKET, GC_WORKER_TOKEN and GC_RUN_ID are not all set: the agent was not started by a city")
