package workertest

import (
	"fmt"
	"slices"

	"gascity/worker"
)

// done waits until the worker has acknowledged a message as consumed, and returns the request.
func (r *run) done(id string) (Word, error) {
	var last Word
	err := r.Await(r.ctx, func(words []Word) bool {
		for _, w := range words {
			if s := worker.Progress(w.text("state")); w.Path == "/ack" && w.text("id") == id && (s == worker.Consumed || s == worker.Refused || s == worker.Failed) {
				last = w
			}
		}
		return last.Path != ""
	})
	if err == nil && last.text("state") != string(worker.Consumed) {
		err = fmt.Errorf("the worker offers this, but answers %v", last.Body)
	}
	return last, err
}

// interrupt tests the rule "interrupt": an interrupt ends the turn; the worker confirms it afterwards
// and works on the next prompt.
func interrupt(r *run) error {
	if r.options.LongPrompt != "" {
		if err := r.Prompt("p1", r.options.LongPrompt); err != nil {
			return err
		}
		if err := r.awaitAll("/lifecycle busy"); err != nil {
			return err
		}
	}
	if err := r.Send("i1", worker.InterruptMessage, worker.Interrupt{RunID: r.City.run, Reason: "a test"}); err != nil {
		return err
	}
	if _, err := r.done("i1"); err != nil {
		return err
	}
	if r.options.LongPrompt != "" {
		if err := r.awaitAll("/lifecycle busy", "/lifecycle idle"); err != nil {
			return fmt.Errorf("the turn does not end: %w", err)
		}
	}
	return r.turn("p2", "two")
}

// sections tests the rule "context": the worker adds context sections once, and returns their nonces.
func sections(r *run) error {
	want := []string{"nonce-71", "nonce-72"}
	c := worker.Context{RunID: r.City.run, Mode: worker.FullContext, Sections: []worker.Section{
		{Type: "role", Content: "You are a test. [nonce-71]", Nonce: want[0]}, {Type: "unknown type", Content: "Some text. [nonce-72]", Nonce: want[1]},
	}}
	for range 2 { // send it twice, as if the city had lost the acknowledgment
		was := countWords(r.Words(), "/ack c1 consumed")
		if err := r.Send("c1", worker.ContextMessage, c); err != nil {
			return err
		}
		if err := r.Await(r.ctx, func(words []Word) bool {
			return countWords(words, "/ack c1 consumed") > was || countWords(words, "/ack c1 refused") > 0
		}); err != nil {
			return err
		}
		w, err := r.done("c1")
		if err != nil {
			return err
		}
		got := []string{}
		nonces, _ := w.Body["nonces"].([]any) // a value of another type has none
		for _, n := range nonces {
			got = append(got, fmt.Sprint(n))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("the worker returns the nonces %v, want %v", got, want)
		}
	}
	return r.turn("p1", "one")
}

// rotation tests the rule "rotation": the worker uses a new token as soon as it has acknowledged it;
// no message is lost by the change.
func rotation(r *run) error {
	for _, id := range []string{"1", "2"} {
		if err := r.turn("p"+id, id); err != nil {
			return err
		}
		if err := r.Rotate("t" + id); err != nil {
			return err
		}
		if _, err := r.done("t" + id); err != nil {
			return err
		}
		r.Cut() // the open stream has the old token
	}
	if err := r.turn("p3", "three"); err != nil {
		return err
	}
	for _, w := range r.Words() {
		if countWords([]Word{w}, "wrong") > 0 {
			return fmt.Errorf("the worker uses a token that is no longer valid: %v", w)
		}
	}
	return r.once("p1", "p2", "p3")
}

// health tests the rule "health": the worker answers the health request h1 with a call of /health that names h1.
func health(r *run) error {
	if err := r.Send("h1", worker.HealthMessage, struct{}{}); err != nil {
		return err
	}
	return r.awaitAll("/health h1")
}

// compact tests the rule "compact": the worker compacts its context when asked, and reports when that
// is done.
func compact(r *run) error {
	if err := r.turn("p1", "one"); err != nil {
		return err
	}
	if err := r.Send("m1", worker.CompactMessage, worker.Compact{RunID: r.City.run, Reason: "a test"}); err != nil {
		return err
	}
	if _, err := r.done("m1"); err != nil {
		return err
	}
	return r.turn("p2", "two")
}
