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
		{id: "started", sentence: "It reports started, then ready, and opens its stream.", do: func(r *run) error { return r.awaitAll("/lifecycle started", "/lifecycle ready", streamPath) }},
		{id: "speaks", sentence: "All that it says is JSON, of its own run, with its token, and to paths that there are.", do: reportsTurn},
		{id: "states", sentence: "It is busy and idle in turns, and nothing before it is ready.", do: states},
		{id: "prompts", sentence: "It takes prompts in order, each once: busy, submitted, idle, consumed.", do: prompts},
		{id: "repeated", sentence: "A message that comes twice is acted on once, and its last word is repeated.", do: repeated},
		{id: "reconnects", sentence: "It comes again after its stream broke, and nothing is lost or done twice.", do: reconnects},
		{id: "gap", sentence: "It takes a gap in its stream for no message, and comes again when it was cut off as too slow.", do: gap},
		{id: "restarted", sentence: "It waits for a city that is gone for a while.", do: restarted},
		{id: "unknown", sentence: "A message of a kind that it does not know is refused, and it goes on.", do: unknown},
		{id: "newer", sentence: "Members, words and lines that it does not know do not hold it up.", do: newer},
		{id: "canary", sentence: "It proves that it asks: the canary, before its first turn.", do: canary},
		{id: "asks", tools: true, sentence: "It asks before it uses a tool, and between busy and idle.", do: asks},
		{id: "denied", tools: true, sentence: "A tool that was denied is not used, and the turn ends.", do: denied},
		{id: "allowed", tools: true, sentence: "A tool that was allowed is used.", do: allowed},
		{id: "fails-closed", tools: true, sentence: "While the city does not answer, or nonsense, no tool is used, and the turn ends.", do: failsClosed},
		{id: "interrupt", offer: worker.OfferInterrupt, sentence: "An interrupt ends the turn, is confirmed when that is so, and the next prompt is worked on.", do: interrupt},
		{id: "context", offer: worker.OfferContext, sentence: "Sections of context are taken once, and their nonces given back.", do: sections},
		{id: "rotation", offer: worker.OfferIdentity, sentence: "From its acknowledgement on it uses the new token, and nothing is lost by the change.", do: rotation},
		{id: "health", offer: worker.OfferHealth, sentence: "It answers a question about its health.", do: health},
		{id: "compact", offer: worker.OfferCompact, sentence: "It makes its context smaller when asked, and says when that is done.", do: compact},
		{id: "fenced", sentence: "It ends when the city will not have it any more.", do: fenced},
		{id: "ends", sentence: "It ends with its run, without an error.", do: ends},
	}
}

// turn sends a prompt and waits until it is consumed.
func (r *run) turn(id, content string) error {
	if err := r.Prompt(id, content); err != nil {
		return err
	}
	return r.awaitAll("/ack " + id + " consumed")
}

// once checks that the worker worked on each prompt exactly once.
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
			return fmt.Errorf("it was busy with prompt %s %d times, must be once; it said: %v", id, n, r.Words())
		}
	}
	return nil
}

func prompts(r *run) error {
	for _, id := range []string{"p1", "p2", "p3"} { // sent together: the worker must process one after the other
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
	was := countWords(r.Words(), "/ack p1 consumed")
	if err := r.Prompt("p1", "one"); err != nil {
		return err
	}
	if err := r.Await(r.ctx, func(words []Word) bool { return countWords(words, "/ack p1 consumed") > was }); err != nil {
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
		streams := countWords(r.Words(), "/stream")
		if err := r.turn(id, id); err != nil {
			return err
		}
		r.Cut()
		if err := r.Await(r.ctx, func(words []Word) bool { return countWords(words, "/stream") > streams }); err != nil {
			return fmt.Errorf("it does not come again: %w", err)
		}
	}
	return r.once(ids...)
}

// cityDowntime is how long the city does not answer.
const cityDowntime = 300 * time.Millisecond

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

// fenced breaks the stream, so that the worker learns from an answer that it was replaced.
func fenced(r *run) error {
	if err := r.turn("p1", "one"); err != nil {
		return err
	}
	r.Fence()
	select {
	case err := <-r.ended: // the exit status does not matter
		r.ended <- err
		return nil
	case <-r.ctx.Done():
		return fmt.Errorf("it goes on: %w", context.Cause(r.ctx))
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
			return fmt.Errorf("it said %v", w)
		case w.Path != streamPath && id != "" && id != r.City.run:
			return fmt.Errorf("it speaks for run %q, and is %q: %v", id, r.City.run, w)
		}
	}
	return nil
}

func states(r *run) error {
	for _, id := range []string{"p1", "p2"} {
		if err := r.turn(id, id); err != nil {
			return err
		}
	}
	was := worker.Transition("nothing")
	for _, w := range r.Words() {
		if w.Path != "/lifecycle" {
			continue
		}
		now := worker.Transition(w.text("event"))
		good := true
		switch now {
		case worker.Started:
			good = was == "nothing"
		case worker.Ready:
			good = was == worker.Started
		case worker.Busy:
			good = was == worker.Ready || was == worker.Idle
		case worker.Idle:
			good = was != "nothing" && was != worker.Started
		default:
		}
		if !good {
			return fmt.Errorf("it is %s after %s: %v", now, was, r.Words())
		}
		was = now
	}
	if was != worker.Idle {
		return fmt.Errorf("it is %s after its turns, must be idle", was)
	}
	return nil
}

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
			return fmt.Errorf("it acknowledges what is no message: %v", w.Body)
		}
	}
	streams := countWords(r.Words(), streamPath)
	r.Lag()
	if err := r.Await(r.ctx, func(words []Word) bool { return countWords(words, streamPath) > streams }); err != nil {
		return fmt.Errorf("it does not come again: %w", err)
	}
	if err := r.turn("p3", "three"); err != nil {
		return err
	}
	return r.once("p1", "p2", "p3")
}

func newer(r *run) error {
	r.Age()
	for _, id := range []string{"p1", "p2"} {
		prompt := map[string]any{
			"run_id": r.City.run, "content": id, "priority": "cosmic", "source": "telepathy", "ttl_seconds": 60, "later": []any{map[string]any{"a": nil}},
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
