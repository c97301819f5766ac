package runtimetest

import (
	"context"
	"sync"
	"time"
)

// Check runs every case and returns the results in the order of [Cases]. It is [Run] for programs:
// it does not use package testing and prints nothing. At most parallel cases run at a time; less
// than one means one. When ctx ends, the remaining cases fail. The error reports a mistake in the
// harness.
func Check(ctx context.Context, h Harness, parallel int) ([]Result, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	cases := Cases()
	results := make([]Result, len(cases))
	slots := make(chan struct{}, max(1, parallel))
	var wait sync.WaitGroup
	for i, c := range cases {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			results[i] = try(ctx, &h, c)
		})
	}
	wait.Wait()
	return results, nil
}

// Check runs the case, which may also be a case of the caller's own.
func (c Case) Check(ctx context.Context, h Harness) Result { return try(ctx, &h, c) }

// try runs one case in its own world and goroutine, because Fatalf ends the goroutine.
func try(ctx context.Context, h *Harness, c Case) Result {
	result := Result{ID: c.ID, Sentence: c.Sentence, Status: Passed}
	if reason, ok := h.Skip[c.ID]; ok {
		result.Status, result.Detail = Skipped, []string{reason}
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, max(caseTime, dozens*h.timeout()))
	defer cancel()
	began := time.Now()
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.removeDirs()
		defer r.recoverPanic()
		runCase(ctx, r, h, c)
	}()
	if !ended(ctx, done, h.timeout()) {
		r.Errorf("the case does not end: a call of the provider hangs")
	}
	result.Took = time.Since(began)
	result.Detail, result.Status = r.report()
	return result
}

// ended waits for the case, and after the end of ctx for its clean-up. It does not wait longer for
// a case that hangs in a method without ctx.
func ended(ctx context.Context, done <-chan struct{}, cleanUp time.Duration) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	case <-time.After(cleanUp):
		return false
	}
}

// runCase runs a case in a new world, or records why it is not applicable.
func runCase(ctx context.Context, r *recorder, h *Harness, c Case) {
	w, err := newWorld(ctx, r, h)
	if err != nil {
		r.Fatalf("cannot make a world: %v", err)
	}
	defer w.close()
	if need := w.missing(c.Needs); need != "" {
		r.notApplicable("needs " + string(need))
		return
	}
	c.Run(r, w)
	if err := context.Cause(ctx); err != nil {
		r.Errorf("the case did not end in time: %v", err)
	}
}
