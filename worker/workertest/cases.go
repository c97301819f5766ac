package workertest

import (
	"context"
	"fmt"
	"time"

	"gascity/worker"
)

// tests returns the rules for a worker.
func tests() []test {
	return []test{
		{id: "started", sentence: "The worker reports started, then ready, and opens its stream.", do: func(r *run) error { return r.awaitAll("/lifecycle started", "/lifecycle ready", streamPath) }},
		{id: "speaks", sentence: "Every request is JSON, names the worker's own run, has its token and goes to a path that exists.", do: reportsTurn},
		{id: "states", sentence: "The worker reports busy and idle alternately, and neither of them before ready.", do: states},
		{id: "prompts", sentence: "The worker works on prompts in order, each once, and reports busy, submitted, idle, consumed.", do: prompts},
		{id: "repeated", sentence: "The worker acts once on a message that arrives twice, and repeats its last acknowledgment.", do: repeated},
		{id: "reconnects", sentence: "The worker reconnects when its stream breaks; no message is lost or handled twice.", do: reconnects},
		{id: "gap", sentence: "A gap event is not a message; the worker reconnects when the city closed its stream as too slow.", do: gap},
		{id: "restarted", sentence: "The worker waits while the city is down for a short time.", do: restarted},
		{id: "unknown", sentence: "The worker refuses a message of an unknown kind, and continues.", do: unknown},
		{id: "newer", sentence: "Unknown members, values and stream lines do not stop the worker.", do: newer},
		{id: "canary", sentence: "The worker asks for the canary tool before its first turn, which proves that it asks.", do: canary},
		{id: "asks", tools: true, sentence: "The worker asks before it uses a tool, between busy and idle.", do: asks},
		{id: "denied", tools: true, sentence: "The worker does not use a denied tool, and the turn ends.", do: denied},
		{id: "allowed", tools: true, sentence: "The worker uses an allowed tool.", do: allowed},
		{id: "fails-closed", tools: true, sentence: "If the city does not answer or sends garbage, the worker uses no tool, and the turn ends.", do: failsClosed},
		{id: "interrupt", offer: worker.OfferInterrupt, sentence: "An interrupt ends the turn; the worker confirms it afterwards and works on the next prompt.", do: interrupt},
		{id: "context", offer: worker.OfferContext, sentence: "The worker adds context sections once, and returns their nonces.", do: sections},
		{id: "rotation", offer: worker.OfferIdentity, sentence: "The worker uses a new token as soon as it has acknowledged it; no message is lost by the change.", do: rotation},
		{id: "health", offer: worker.OfferHealth, sentence: "The worker answers a health request.", do: health},
		{id: "compact", offer: worker.OfferCompact, sentence: "The worker compacts its context when asked, and reports when that is done.", do: compact},
		{id: "fenced", sentence: "The worker exits when the city answers that another instance has replaced it.", do: fenced},
		{id: "ends", sentence: "The worker exits with status 0 when its run ends.", do: ends},
	}
}

// turn sends a prompt and waits until it is consumed.
func (r *run) turn(id, content string) error {
	if err := r.Prompt(id, content); err != nil {
		return err
	}
	return r.awaitAll("/ack " + id + " consumed")
}

// once checks that the worker reported busy exactly once for each prompt.
func (r *run) once(ids ...string) error {
	for _, id := range ids {
		n := 0
		for _, w := range r.Words() {
			metadata, _ := w.Body["metadata"].(map[string]any) // a value of another type has no id
			if w.Path == "/lifecycle" && w.text("event") == "busy" && metadata["prompt_id"] == id {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("the worker was busy with prompt %s %d times, want once; its requests: %v", id, n, r.Words())
		}
	}
	return nil
}

// prompts tests the rule "prompts": the worker works on prompts in order, each once, and reports busy,
// submitted, idle, consumed.
func prompts(r *run) error {
	// The prompts are sent together, and the worker must process them one after the other. The check of p1 and p2 includes all
	// reports, the check of p3 only the last one.
	for _, id := range []string{"p1", "p2", "p3"} {
		if err := r.Prompt(id, "say \"hi\"\n — ünïcode "+id); err != nil {
			return err
		}
	}
	if err := r.awaitAll("/lifecycle busy", "/ack p1 submitted", "/lifecycle idle", "/ack p1 consumed", "/lifecycle busy", "/ack p2 submitted", "/lifecycle idle", "/ack p2 consumed", "/ack p3 consumed"); err != nil {
		return err
	}
	return r.once("p1", "p2", "p3")
}

// repeated tests the rule "repeated": the worker acts once on a message that arrives twice, and
// repeats its last acknowledgment.
func repeated(r *run) error {
	if err := r.turn("p1", "one"); err != nil {
		return err
	}
	was := countWords(r.Words(), "/ack p1 consumed")
	if err := r.Prompt("p1", "one"); err != nil {
		return err
	}
	if err := r.Await(r.ctx, func(words []Word) bool { return countWords(words, "/ack p1 consumed") > was }); err != nil {
		return fmt.Errorf("the worker does not repeat its last acknowledgment: %w", err)
	}
	if err := r.turn("p2", "two"); err != nil {
		return err
	}
	return r.once("p1", "p2")
}

// reconnects tests the rule "reconnects": the worker reconnects when its stream breaks; no message is
// lost or handled twice.
func reconnects(r *run) error {
	var ids []string
	for i := range 3 {
		id := fmt.Sprint("p", i)
		ids = append(ids, id)
		streams := countWords(r.Words(), "/stream")
		if err := r.turn(id, id); err != nil {
			return err
		}
		r.Cut()
		if err := r.Await(r.ctx, func(words []Word) bool { return countWords(words, "/stream") > streams }); err != nil {
			return fmt.Errorf("the worker does not reconnect: %w", err)
		}
	}
	return r.once(ids...)
}

// cityDowntime is how long the city does not answer.
const cityDowntime = 300 * time.Millisecond

// restarted tests the rule "restarted": the worker waits while the city is down for a short time.
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
	timer := time.NewTimer(cityDowntime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case err := <-r.ended:
		r.ended <- err
		return fmt.Errorf("the worker exited while the city was down: %w", err)
	}
	if err := r.Up(r.ctx); err != nil {
		return err
	}
	if err := r.awaitAll("/ack p2 consumed"); err != nil {
		return err
	}
	return r.once("p1", "p2")
}

// unknown tests the rule "unknown": the worker refuses a message of an unknown kind, and continues.
func unknown(r *run) error {
	if err := r.Send("m1", "unknown kind", map[string]any{"x": 1}); err != nil {
		return err
	}
	if err := r.awaitAll("/ack m1 refused"); err != nil {
		return err
	}
	return r.turn("p1", "one")
}

// ends tests the rule "ends": the worker exits with status 0 when its run ends.
func ends(r *run) error {
	if err := r.turn("p1", "one"); err != nil {
		return err
	}
	r.End()
	select {
	case err := <-r.ended:
		r.ended <- err
		if err != nil {
			return fmt.Errorf("the worker exited with an error: %w", err)
		}
		return nil
	case <-r.ctx.Done():
		return fmt.Errorf("the worker does not exit: %w", context.Cause(r.ctx))
	}
}

// fenced tests the rule "fenced": the worker exits when the city answers that another instance has
// replaced it. Fence breaks the stream, and the worker gets that answer when it connects again.
func fenced(r *run) error {
	if err := r.turn("p1", "one"); err != nil {
		return err
	}
	r.Fence()
	select {
	case err := <-r.ended: // the exit status does not matter
		r.ended <- err // for the caller, which reads it too
		return nil
	case <-r.ctx.Done():
		return fmt.Errorf("the worker does not exit: %w", context.Cause(r.ctx))
	}
}

// reportsTurn checks all reports of a turn, with a tool or without one.
func reportsTurn(r *run) error {
	if err := r.turn("p1", r.toolPrompt("one")); err != nil {
		return err
	}
	for _, w := range r.Words() {
		switch id := w.text("run_id"); {
		case countWords([]Word{w}, "invalid") > 0, countWords([]Word{w}, "wrong") > 0:
			return fmt.Errorf("invalid request: %v", w)
		case w.Path != streamPath && id != "" && id != r.City.run:
			return fmt.Errorf("a request names run %q, want %q: %v", id, r.City.run, w)
		}
	}
	return nil
}

// states tests the rule "states": the worker reports busy and idle alternately, and neither of them
// before ready.
func states(r *run) error {
	for _, id := range []string{"p1", "p2"} {
		if err := r.turn(id, id); err != nil {
			return err
		}
	}
	was := worker.Transition("no report")
	for _, w := range r.Words() {
		if w.Path != "/lifecycle" {
			continue
		}
		now := worker.Transition(w.text("event"))
		good := true
		switch now {
		case worker.Started:
			good = was == "no report"
		case worker.Ready:
			good = was == worker.Started
		case worker.Busy:
			good = was == worker.Ready || was == worker.Idle
		case worker.Idle:
			good = was != "no report" && was != worker.Started
		default:
		}
		if !good {
			return fmt.Errorf("the worker reports %s after %s: %v", now, was, r.Words())
		}
		was = now
	}
	if was != worker.Idle {
		return fmt.Errorf("the worker reports %s after its turns, want idle", was)
	}
	return nil
}

// gap tests the rule "gap": a gap event is not a message; the worker reconnects when the city closed
// its stream as too slow.
func gap(r *run) error {
	if err := r.turn("p1", "one"); err != nil {
		return err
	}
	r.Gap()
	if err := r.turn("p2", "two"); err != nil {
		return err
	}
	for _, w := range r.Words() {
		if w.Path == "/ack" && w.text("id") == "" {
			return fmt.Errorf("the worker acknowledges something that is not a message: %v", w.Body)
		}
	}
	streams := countWords(r.Words(), streamPath)
	r.Lag()
	if err := r.Await(r.ctx, func(words []Word) bool { return countWords(words, streamPath) > streams }); err != nil {
		return fmt.Errorf("the worker does not reconnect: %w", err)
	}
	if err := r.turn("p3", "three"); err != nil {
		return err
	}
	return r.once("p1", "p2", "p3")
}

// newer tests the rule "newer": unknown members, values and stream lines do not stop the worker.
func newer(r *run) error {
	r.Age()
	for _, id := range []string{"p1", "p2"} {
		prompt := map[string]any{
			"run_id": r.City.run, "content": id, "priority": "unknown", "source": "unknown", "ttl_seconds": 60, "later": []any{map[string]any{"a": nil}},
		}
		if err := r.Send(id, worker.PromptMessage, prompt); err != nil {
			return err
		}
		if err := r.awaitAll("/ack " + id + " consumed"); err != nil {
			return err
		}
	}
	return r.once("p1", "p2")
}
