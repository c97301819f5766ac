package workertest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say how to start a worker.
type Options struct {
	// Command makes the worker's command, not started. The environment that it needs is
	// added to its Env.
	Command func(ctx context.Context) *exec.Cmd
	// ToolPrompt is a prompt upon which the worker wants to use a tool; empty leaves out
	// the cases about authorization. [FileMark] in it becomes the path of a file that is not
	// there, which the tool must make: it shows whether the tool was used.
	ToolPrompt string
	// LongPrompt is a prompt upon which it works until it is interrupted; empty tries an
	// interrupt between two turns only.
	LongPrompt string
	// Only names the cases to run; empty are all.
	Only []string
	// Patience is how long a case waits for the worker; zero is 30 seconds.
	Patience time.Duration
}

// FileMark stands for the path of a file in [Options.ToolPrompt].
const FileMark = "{file}"

// Result is the result of a case.
type Result struct {
	ID       string
	Sentence string
	Err      error // nil: the worker keeps it
	Skipped  bool
	Reason   string // why it was left out
	Took     time.Duration
}

// test is one promise.
type test struct {
	id, sentence string
	tools        bool   // it needs Options.ToolPrompt
	offer        string // it needs this ability
	do           func(*run) error
}

// skip is why a case cannot be tried.
type skip string

func (s skip) Error() string { return string(s) }

// Check runs the cases, a few at the same time, each with a worker and a city of its
// own. The results are in the order of the contract. An unknown name in Only is an error.
func Check(ctx context.Context, o Options) ([]Result, error) {
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	cases := tests()
	for _, id := range o.Only {
		if !slices.ContainsFunc(cases, func(c test) bool { return c.id == id }) {
			return nil, fmt.Errorf("there is no promise %q", id)
		}
	}
	cases = slices.DeleteFunc(cases, func(c test) bool { return len(o.Only) > 0 && !slices.Contains(o.Only, c.id) })
	results := make([]Result, len(cases))
	var all sync.WaitGroup
	places := make(chan struct{}, maxParallel)
	for i, c := range cases {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			results[i] = result(ctx, o, c)
		})
	}
	all.Wait()
	return results, ctx.Err()
}

// Promises returns the names of the cases, in the order of the contract.
func Promises() []string {
	var names []string
	for _, c := range tests() {
		names = append(names, c.id)
	}
	return names
}

// maxParallel is how many cases are tried at the same time.
const maxParallel = 4

func result(ctx context.Context, o Options, c test) Result {
	r := Result{ID: c.id, Sentence: c.sentence}
	began := time.Now()
	err := error(skip("it needs a prompt upon which the worker wants to use a tool"))
	if !c.tools || o.ToolPrompt != "" {
		err = one(ctx, o, c)
	}
	r.Took = time.Since(began)
	if why, left := errors.AsType[skip](err); left {
		r.Skipped, r.Reason = true, string(why)
		return r
	}
	r.Err = err
	return r
}

// run is a worker that runs.
type run struct {
	*City
	ctx     context.Context //nolint:containedctx // that of the case
	options Options
	file    string     // for the tool
	ended   chan error // of its process
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
	setProcessGroup(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	r := &run{City: city, ctx: ctx, options: o, file: filepath.Join(city.dir, "used"), ended: make(chan error, 1)}
	done := make(chan struct{})
	starting, tooSoon := context.WithCancelCause(ctx)
	go func() { // one waits for it below
		defer close(done)
		err := cmd.Wait()
		r.ended <- err
		tooSoon(fmt.Errorf("it ended before it opened its stream (%v)", cmd.ProcessState))
	}()
	defer func() { cancel(); <-done; end(cmd) }()
	if err := r.Await(starting, func(words []Word) bool { return countWords(words, streamPath) > 0 }); err != nil {
		return err
	}
	if c.offer != "" && !r.offers(c.offer) {
		return skip(fmt.Sprintf("it does not offer %q with started", c.offer))
	}
	return c.do(r)
}

// setProcessGroup makes a worker a process group of its own, which is ended as a whole: what a
// worker has started must not outlive it.
func setProcessGroup(cmd *exec.Cmd) {
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

// countWords counts the words that begin so.
func countWords(words []Word, prefix string) int {
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
			if len(rest) > 0 && countWords([]Word{w}, rest[0]) > 0 {
				rest = rest[1:]
			}
		}
		return len(rest) == 0
	})
}

// offers reports whether the worker has said that it can do something.
func (r *run) offers(ability string) bool {
	for _, w := range r.Words() {
		detail, _ := w.Body["metadata"].(map[string]any) // of another type it offers nothing
		offers, _ := detail["offers"].([]any)            // as above
		if w.Path == "/lifecycle" && slices.Contains(offers, any(ability)) {
			return true
		}
	}
	return false
}
