package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"gascity/runtime"
)

// Call holds the arguments and streams of one call of a script.
type Call struct {
	Args  []string // after the program's name: operation, session, ...
	Stdin io.Reader
	// Size is the number of bytes of Stdin, as the sender announced it in [VariableSize]. If Stdin has a different size, it was
	// cut off or changed, and the call fails. Empty means not announced.
	Size   string
	Stdout io.Writer
	Stderr io.Writer
}

// VariableSize is the environment variable that announces the number of bytes of a script's standard input. Without it, input
// that was cut off because the sender crashed would look complete.
const VariableSize = "GC_EXEC_STDIN_BYTES"

// Serve makes a Go program a session script (see provider exec): it runs the operation that c names on p, and returns the exit
// code for the program. It cancels the call when ctx ends; the caller
// should end ctx on SIGTERM. The operation attach uses the terminal of the calling process.
func Serve(ctx context.Context, p runtime.Provider, c Call) (exitCode int) {
	if len(c.Args) == 0 {
		fmt.Fprintln(c.Stderr, "usage: <operation> <session> [args...]")
		return ExitMissing
	}
	s := &server{p: p, call: c}
	if len(c.Args) > 1 {
		s.name, s.args = c.Args[1], c.Args[2:]
	}
	do, ok := handlers()[c.Args[0]]
	if !ok {
		return ExitMissing
	}
	err := do(s, ctx)
	var code exitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, runtime.ErrExecUnsupported):
		fmt.Fprintln(c.Stderr, err)
		return ExitMissing
	default:
		io.WriteString(c.Stderr, Failure(err)) //nolint:errcheck,gosec // an error means that the caller has exited
		return ExitFailed
	}
}

// exitError is the exit code of a command that exec ran.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// server runs one call.
type server struct {
	p    runtime.Provider
	call Call
	name string
	args []string
}

// handlers returns the functions of the supported operations.
func handlers() map[string]func(*server, context.Context) error {
	return map[string]func(*server, context.Context) error{
		OpProtocol: (*server).protocol,
		OpStart: withDocument(func(s *server, ctx context.Context, doc Start) error {
			return s.p.Start(ctx, s.name, doc.Config())
		}),
		OpRunLive:      withDocument(func(s *server, _ context.Context, doc Start) error { return s.p.RunLive(s.name, doc.Config()) }),
		OpStop:         (*server).stop,
		OpInterrupt:    func(s *server, _ context.Context) error { return s.p.Interrupt(s.name) },
		OpStopInstance: withToken((*server).stopInstance),
		OpInterruptInstance: withToken(func(s *server, ctx context.Context, token string) error {
			return runtime.InterruptInstance(ctx, s.p, s.name, token)
		}),
		OpIsRunning:       (*server).isRunning,
		OpIsAttached:      func(s *server, _ context.Context) error { return s.print(s.p.IsAttached(s.name)) },
		OpProcessAlive:    (*server).processAlive,
		OpListRunning:     (*server).listRunning,
		OpGetLastActivity: (*server).lastActivity,
		OpObserve:         (*server).observe,
		OpObserveAll:      (*server).observeAll,
		OpAttach: func(s *server, ctx context.Context) error {
			return runtime.AttachTerminal(ctx, s.p, s.name, runtime.AttachOptions{})
		},
		OpNudge:   (*server).nudge,
		OpDeliver: (*server).deliver,
		OpSettle: withDocument(func(s *server, ctx context.Context, doc Delivery) error {
			return s.printOutcome(runtime.Settle(ctx, s.p, s.name, doc.Delivery()))
		}),
		OpSendKeys:        func(s *server, _ context.Context) error { return s.p.SendKeys(s.name, s.args...) },
		OpPeek:            (*server).peek,
		OpClearScrollback: func(s *server, _ context.Context) error { return s.p.ClearScrollback(s.name) },
		OpSetMeta:         withKey((*server).setMeta),
		OpGetMeta:         withKey((*server).getMeta),
		OpRemoveMeta:      withKey(func(s *server, key string) error { return s.p.RemoveMeta(s.name, key) }),
		OpCopyTo:          (*server).copyTo,
		OpExec:            (*server).exec,
		OpWatch:           (*server).watch,
	}
}

// withDocument returns the function of an operation that reads a document from standard input.
func withDocument[T any](do func(s *server, ctx context.Context, doc T) error) func(*server, context.Context) error {
	return func(s *server, ctx context.Context) error {
		var doc T
		if err := s.read(&doc); err != nil {
			return err
		}
		return do(s, ctx, doc)
	}
}

// withToken returns the function of an operation that reads the token of an instance from standard input.
func withToken(do func(s *server, ctx context.Context, token string) error) func(*server, context.Context) error {
	return func(s *server, ctx context.Context) error {
		data, err := s.input()
		if err != nil {
			return err
		}
		return do(s, ctx, strings.TrimSuffix(string(data), "\n"))
	}
}

// withKey returns the function of an operation whose first argument is a key of the metadata.
func withKey(do func(s *server, key string) error) func(*server, context.Context) error {
	return func(s *server, _ context.Context) error {
		key, err := s.argument("key")
		if err != nil {
			return err
		}
		return do(s, key)
	}
}

// protocol prints the handshake with the capabilities of p.
func (s *server) protocol(context.Context) error {
	facts := s.p.Capabilities()
	words := []Capability{CapSequence, CapRunLive}
	for _, row := range []struct {
		word Capability
		has  bool
	}{
		{CapAttachment, facts.CanReportAttachment},
		{CapActivity, facts.CanReportActivity},
		{CapTerminal, facts.CanAttachTTY},
		{CapWatch, has[runtime.Watcher](s.p)},
		{CapObserve, has[runtime.Observer](s.p)},
		{CapFence, has[runtime.Fencer](s.p)},
		{CapDeliver, has[runtime.Deliverer](s.p)},
		{CapSettle, has[runtime.Settler](s.p)},
		{CapExec, has[runtime.ExecProvider](s.p)},
	} {
		if row.has {
			words = append(words, row.word)
		}
	}
	return s.printJSON(Handshake{Version: Version, Capabilities: words})
}

// has reports whether the provider implements the extension interface T.
func has[T any](p runtime.Provider) bool {
	_, ok := runtime.As[T](p, "")
	return ok
}

// stop stops a session. The protocol has no operation that stops what sessions share, so if no session is left, their shared
// server is stopped too. The next start starts a new one.
func (s *server) stop(context.Context) error {
	if err := s.p.Stop(s.name); err != nil {
		return err
	}
	s.stopUnusedServer()
	return nil
}

// retirer is a provider whose sessions share a server process.
type retirer interface {
	// RetireServer stops the server if it has no session, neither a running one nor one whose agent has exited.
	RetireServer() error
}

// stopUnusedServer stops the server of the sessions if it has no session. An error is only printed; the stop of the session succeeds.
func (s *server) stopUnusedServer() {
	if p, ok := runtime.As[retirer](s.p, ""); ok {
		if err := p.RetireServer(); err != nil {
			fmt.Fprintln(s.call.Stderr, "the server of the sessions keeps running:", err)
		}
	}
}

// stopInstance stops the instance with the token.
func (s *server) stopInstance(ctx context.Context, token string) error {
	if err := runtime.StopInstance(ctx, s.p, s.name, token); err != nil {
		return err
	}
	s.stopUnusedServer()
	return nil
}

// nudge serves the operation nudge: it reads a text from standard input, delivers it as a prompt and prints the
// outcome. If the text is incomplete, nothing is delivered.
func (s *server) nudge(ctx context.Context) error {
	text, err := s.input()
	if err != nil {
		return refuseIncomplete(err)
	}
	return s.printOutcome(runtime.Deliver(ctx, s.p, s.name, runtime.Delivery{Content: runtime.TextContent(string(text))}))
}

// deliver serves the operation deliver: it reads a delivery as JSON, delivers the prompt and prints the outcome. If the
// input is incomplete, nothing is delivered.
func (s *server) deliver(ctx context.Context) error {
	var doc Delivery
	if err := s.read(&doc); err != nil {
		return refuseIncomplete(err)
	}
	return s.printOutcome(runtime.Deliver(ctx, s.p, s.name, doc.Delivery()))
}

// printOutcome prints an outcome, also if there is an error.
func (s *server) printOutcome(out runtime.Outcome, err error) error {
	if out.State == "" {
		return err
	}
	return errors.Join(s.printJSON(out), err)
}

// exec runs the command line on standard input in the session and prints its output.
func (s *server) exec(ctx context.Context) error {
	line, err := s.input()
	if err != nil {
		return err
	}
	output, code, err := runtime.Exec(ctx, s.p, s.name, []string{"/bin/sh", "-c", string(line)})
	if err != nil {
		return err
	}
	if _, err := s.call.Stdout.Write(output); err != nil {
		return err
	}
	if code != 0 {
		return exitError(code)
	}
	return nil
}

// watch prints events until ctx or the standard input ends. The reader of the events keeps standard input open; without events,
// a failed write would not show that the reader has gone.
func (s *server) watch(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // stops when the reader closes standard input
		io.Copy(io.Discard, s.call.Stdin) //nolint:errcheck,gosec // an error ends it too
		stop()
	}()
	events, err := runtime.Watch(ctx, s.p)
	if err != nil {
		return err
	}
	for e := range events {
		if err := s.printJSON(e); err != nil {
			return err
		}
	}
	return nil
}

// input reads all of standard input. It returns an error if the size is not the announced one.
func (s *server) input() ([]byte, error) {
	data, err := io.ReadAll(s.call.Stdin)
	if err == nil && s.call.Size != "" && s.call.Size != strconv.Itoa(len(data)) {
		err = fmt.Errorf("standard input was cut off: it has %d bytes, %s were announced", len(data), s.call.Size)
	}
	return data, err
}

// refuseIncomplete returns the refusal of a prompt that was not received completely.
func refuseIncomplete(err error) error {
	return fmt.Errorf("%w: %w", &runtime.RefusedError{Reason: runtime.RefusedUnready}, err)
}

// read decodes the JSON document on standard input. Empty input leaves doc unchanged.
func (s *server) read(doc any) error {
	data, err := s.input()
	if err != nil {
		return err
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return nil // all fields are optional
	}
	if err := json.Unmarshal(data, doc); err != nil {
		return fmt.Errorf("cannot read standard input: %w", err)
	}
	return nil
}

// printJSON prints a value as one line of JSON.
func (s *server) printJSON(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.call.Stdout.Write(append(data, '\n'))
	return err
}

func (s *server) print(v any) error {
	_, err := fmt.Fprintln(s.call.Stdout, v)
	return err
}

// argument returns the first argument after the session's name. what names it in the error.
func (s *server) argument(what string) (string, error) {
	if len(s.args) == 0 {
		return "", fmt.Errorf("%s needs <%s>", s.call.Args[0], what)
	}
	return s.args[0], nil
}

// formatTime returns a time in the format of the protocol; the zero time is an empty string.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
