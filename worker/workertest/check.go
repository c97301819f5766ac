package workertest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gascity/worker"
)

// Options tell how to come by a worker.
type Options struct {
	// Command makes the worker's command, not started. The environment that it needs is
	// added to its Env.
	Command func(ctx context.Context) *exec.Cmd
	// ToolPrompt is a prompt upon which the worker wants to use a tool; empty leaves out
	// the cases about authorization.
	ToolPrompt string
	// Only names the cases to run; empty are all.
	Only []string
	// Patience is how long a case waits for the worker; zero is 30 seconds.
	Patience time.Duration
}

// Result is what became of a case.
type Result struct {
	ID       string
	Sentence string
	Err      error // nil: the worker keeps it
	Skipped  bool
}

// test is one promise.
type test struct {
	id, sentence string
	tools        bool // it needs Options.ToolPrompt
	do           func(*run) error
}

// tests is the contract of a worker.
func tests() []test {
	return []test{
		{id: "started", sentence: "It reports started, then ready, and opens its stream.", do: func(r *run) error { return r.awaitAll("/lifecycle started", "/lifecycle ready", "/stream") }},
		{id: "prompts", sentence: "It takes prompts in order, each once: busy, submitted, idle, consumed.", do: prompts},
		{id: "repeated", sentence: "A message that comes twice is acted on once, and its last word is repeated.", do: repeated},
		{id: "reconnects", sentence: "It comes again after its stream broke, and nothing is lost or done twice.", do: reconnects},
		{id: "restarted", sentence: "It waits for a city that is gone for a while.", do: restarted},
		{id: "unknown", sentence: "A message of a kind that it does not know is refused, and it goes on.", do: unknown},
		{id: "asks", tools: true, sentence: "It asks before it uses a tool, and between busy and idle.", do: asks},
		{id: "ends", sentence: "It ends with its run.", do: ends},
	}
}

// Check runs the cases, each with a worker and a city of its own, at the same time. The
// results are in the order of the contract.
func Check(ctx context.Context, o Options) []Result {
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	cases := slices.DeleteFunc(tests(), func(c test) bool { return len(o.Only) > 0 && !slices.Contains(o.Only, c.id) })
	results := make([]Result, len(cases))
	var all sync.WaitGroup
	for i, c := range cases {
		results[i] = Result{ID: c.id, Sentence: c.sentence, Skipped: c.tools && o.ToolPrompt == ""}
		if !results[i].Skipped {
			all.Go(func() { results[i].Err = one(ctx, o, c) })
		}
	}
	all.Wait()
	return results
}

// run is a worker that runs.
type run struct {
	*City
	ctx   context.Context //nolint:containedctx // that of the case
	tool  string
	ended chan error // of its process
}

// one tries a case.
func one(ctx context.Context, o Options, c test) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Patience, fmt.Errorf("not within %s", o.Patience))
	defer cancel()
	city, err := NewCity()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, city.Close()) }()
	cmd := o.Command(ctx)
	if cmd.Env == nil {
		cmd.Env = cmd.Environ()
	}
	cmd.Env = append(cmd.Env, city.Env()...)
	whole(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	r := &run{City: city, ctx: ctx, tool: o.ToolPrompt, ended: make(chan error, 1)}
	done := make(chan struct{})
	go func() { // one waits for it below
		defer close(done)
		r.ended <- cmd.Wait()
	}()
	defer func() { cancel(); <-done; end(cmd) }()
	if err := r.awaitAll("/stream"); err != nil {
		return err
	}
	return c.do(r)
}

// whole makes a worker a process group of its own, which is ended as a whole: what a
// worker has started must not outlive it.
func whole(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.WaitDelay = leaveWithin
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { end(cmd); return nil }
	}
}

// leaveWithin bounds the wait for what holds a worker's output after its end.
const leaveWithin = 5 * time.Second

// end ends a worker's group. One that is gone already is as good.
func end(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// said counts the words that begin so.
func said(words []Word, prefix string) int {
	n := 0
	for _, w := range words {
		if s := w.String(); s == prefix || strings.HasPrefix(s, prefix+" ") {
			n++
		}
	}
	return n
}

// awaitAll waits until the worker has said each of these, in that order.
func (r *run) awaitAll(prefixes ...string) error {
	return r.Await(r.ctx, func(words []Word) bool {
		rest := prefixes
		for _, w := range words {
			if len(rest) > 0 && said([]Word{w}, rest[0]) > 0 {
				rest = rest[1:]
			}
		}
		return len(rest) == 0
	})
}

// turn sends a prompt and waits until it is consumed.
func (r *run) turn(id, content string) error {
	if err := r.Prompt(id, content); err != nil {
		return err
	}
	return r.awaitAll("/ack " + id + " consumed")
}

// once checks that each prompt was worked on once.
func (r *run) once(ids ...string) error {
	for _, id := range ids {
		n := 0
		for _, w := range r.Words() {
			metadata, _ := w.Body["metadata"].(map[string]any) // of another type it has no id
			if w.Path == "/lifecycle" && w.text("event") == "busy" && metadata["prompt_id"] == id {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("it was busy with prompt %s %d times, must be once; it said: %v", id, n, r.Words())
		}
	}
	return nil
}

func prompts(r *run) error {
	for _, id := range []string{"p1", "p2", "p3"} { // together: it takes one after the other
		if err := r.Prompt(id, "say \"hi\"\n — ünïcode "+id); err != nil {
			return err
		}
	}
	if err := r.awaitAll("/lifecycle busy", "/ack p1 submitted", "/lifecycle idle", "/ack p1 consumed", "/lifecycle busy", "/ack p2 submitted", "/lifecycle idle", "/ack p2 consumed", "/ack p3 consumed"); err != nil {
		return err
	}
	return r.once("p1", "p2", "p3")
}

func repeated(r *run) error {
	if err := r.turn("p1", "one"); err != nil {
		return err
	}
	was := said(r.Words(), "/ack p1 consumed")
	if err := r.Prompt("p1", "one"); err != nil {
		return err
	}
	if err := r.Await(r.ctx, func(words []Word) bool { return said(words, "/ack p1 consumed") > was }); err != nil {
		return fmt.Errorf("its last word is not repeated: %w", err)
	}
	if err := r.turn("p2", "two"); err != nil {
		return err
	}
	return r.once("p1", "p2")
}

func reconnects(r *run) error {
	var ids []string
	for i := range 3 {
		id := fmt.Sprint("p", i)
		ids = append(ids, id)
		streams := said(r.Words(), "/stream")
		if err := r.turn(id, id); err != nil {
			return err
		}
		r.Cut()
		if err := r.Await(r.ctx, func(words []Word) bool { return said(words, "/stream") > streams }); err != nil {
			return fmt.Errorf("it does not come again: %w", err)
		}
	}
	return r.once(ids...)
}

// away is how long the city is gone.
const away = 300 * time.Millisecond

func restarted(r *run) error {
	if err := r.turn("p1", "one"); err != nil {
		return err
	}
	if err := r.Down(); err != nil {
		return err
	}
	if err := r.Prompt("p2", "two"); err != nil {
		return err
	}
	timer := time.NewTimer(away)
	defer timer.Stop()
	select {
	case <-timer.C:
	case err := <-r.ended:
		r.ended <- err
		return fmt.Errorf("it ended when the city was gone: %w", err)
	}
	if err := r.Up(r.ctx); err != nil {
		return err
	}
	if err := r.awaitAll("/ack p2 consumed"); err != nil {
		return err
	}
	return r.once("p1", "p2")
}

func unknown(r *run) error {
	if err := r.Send("m1", "from the future", map[string]any{"x": 1}); err != nil {
		return err
	}
	if err := r.awaitAll("/ack m1 refused"); err != nil {
		return err
	}
	return r.turn("p1", "one")
}

func asks(r *run) error {
	if err := r.turn("p1", r.tool); err != nil {
		return err
	}
	if err := r.awaitAll("/lifecycle busy", "/authorize", "/lifecycle idle"); err != nil {
		return err
	}
	for _, w := range r.Words() {
		if w.Path == "/authorize" && w.text("tool") != worker.Canary && (w.text("tool") == "" || w.Body["input"] == nil) {
			return fmt.Errorf("it does not say which tool, or with which input: %v", w.Body)
		}
	}
	return nil
}

func ends(r *run) error {
	if err := r.turn("p1", "one"); err != nil {
		return err
	}
	r.End()
	select {
	case err := <-r.ended:
		r.ended <- err
		if err != nil {
			return fmt.Errorf("it ended with %w", err)
		}
		return nil
	case <-r.ctx.Done():
		return fmt.Errorf("it goes on: %w", context.Cause(r.ctx))
	}
}
