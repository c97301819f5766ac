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

// Options configure how a worker is started and tested.
type Options struct {
	// Command returns the worker's command, not started. Check adds the necessary variables to its
	// Env.
	Command func(ctx context.Context) *exec.Cmd
	// ToolPrompt is a prompt after which the worker wants to use a tool. If it is empty, the cases
	// about authorization are skipped. [FileMark] in it is replaced by the path of a missing file,
	// which the tool must create; it shows whether the tool was used.
	ToolPrompt string
	// LongPrompt is a prompt on which the worker works until it is interrupted. If it is empty,
	// only an interrupt between two turns is tested.
	LongPrompt string
	// Only lists the names of the cases to run; empty means all.
	Only []string
	// Patience is how long a case waits for the worker; zero means 30 seconds.
	Patience time.Duration
}

// FileMark is the placeholder for the path of a file in [Options.ToolPrompt].
const FileMark = "{file}"

// Result is the result of a case.
type Result struct {
	ID       string
	Sentence string
	Err      error // nil if the worker follows the rule
	Skipped  bool
	Reason   string // why it was skipped
	Took     time.Duration
}

// test is one rule and the function that tests it.
type test struct {
	id, sentence string
	tools        bool   // whether it needs Options.ToolPrompt
	offer        string // ability that the worker must offer; empty means none
	do           func(*run) error
}

// skip is the reason why a case is skipped.
type skip string

func (s skip) Error() string { return string(s) }

// Check runs the cases, a few at the same time, each with its own worker and city. The results are
// in the order of the rules. An unknown name in Only is an error.
func Check(ctx context.Context, o Options) ([]Result, error) {
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	cases := tests()
	for _, id := range o.Only {
		if !slices.ContainsFunc(cases, func(c test) bool { return c.id == id }) {
			return nil, fmt.Errorf("unknown rule %q", id)
		}
	}
	cases = slices.DeleteFunc(cases, func(c test) bool { return len(o.Only) > 0 && !slices.Contains(o.Only, c.id) })
	results := make([]Result, len(cases))
	var all sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for i, c := range cases {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = result(ctx, o, c)
		})
	}
	all.Wait()
	return results, ctx.Err()
}

// Promises returns the names of the cases, in the order of the rules.
func Promises() []string {
	var names []string
	for _, c := range tests() {
		names = append(names, c.id)
	}
	return names
}

// maxParallel is the maximum number of cases that run at the same time.
const maxParallel = 4

// result runs a case, or skips it, and returns the result.
func result(ctx context.Context, o Options, c test) Result {
	r := Result{ID: c.id, Sentence: c.sentence}
	began := time.Now()
	err := error(skip("this rule needs a prompt that makes the worker use a tool"))
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

// run is a running worker.
type run struct {
	*City
	ctx     context.Context //nolint:containedctx // the ctx of the case
	options Options
	file    string     // path of the file that the tool creates
	ended   chan error // result of the worker's process
}

// one runs one test against a new worker process and a new simulated city. It returns nil if the worker passes, and why
// it fails or the test is skipped otherwise.
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
	starting, exitedEarly := context.WithCancelCause(ctx)
	go func() { // the function waits for it below
		defer close(done)
		err := cmd.Wait()
		r.ended <- err
		exitedEarly(fmt.Errorf("the worker exited before it opened its stream (%v)", cmd.ProcessState))
	}()
	defer func() { cancel(); <-done; end(cmd) }()
	if err := r.Await(starting, func(words []Word) bool { return countWords(words, streamPath) > 0 }); err != nil {
		return err
	}
	if c.offer != "" && !r.offers(c.offer) {
		return skip(fmt.Sprintf("the worker does not list %q among its offers when it reports started", c.offer))
	}
	return c.do(r)
}

// setProcessGroup puts a worker into its own process group, so that all processes that the worker
// starts can be killed with it.
func setProcessGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.WaitDelay = outputLimit
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { end(cmd); return nil }
	}
}

// outputLimit is the limit for waiting until a worker's output is closed after its exit.
const outputLimit = 5 * time.Second

// end kills a worker's process group. It does nothing if the group is gone.
func end(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// countWords counts the requests that begin with prefix.
func countWords(words []Word, prefix string) int {
	n := 0
	for _, w := range words {
		if s := w.String(); s == prefix || strings.HasPrefix(s, prefix+" ") {
			n++
		}
	}
	return n
}

// awaitAll waits until the worker has sent requests with these prefixes, in this order.
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

// offers reports whether the worker has offered the ability.
func (r *run) offers(ability string) bool {
	for _, w := range r.Words() {
		detail, _ := w.Body["metadata"].(map[string]any) // a value of another type offers nothing
		offers, _ := detail["offers"].([]any)            // as above
		if w.Path == "/lifecycle" && slices.Contains(offers, any(ability)) {
			return true
		}
	}
	return false
}
