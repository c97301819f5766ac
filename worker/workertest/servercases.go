package workertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gascity/worker"
)

// serverTests returns the rules for a city.
func serverTests() []serverTest {
	return []serverTest{
		{"token", "A request without the token of a running run is unauthorized, and a token is valid only for its run.", tokens},
		{"wire", "A body that is not JSON, is not an object of its type, or is too large, and an unknown path, are answered with a problem and its code.", wire},
		{"newer", "Unknown members and events are accepted.", newerWorker},
		{"canary", "The city denies a call of the tool gc.canary, which tests the guard, by a rule of that name.", provesCanary},
		{"prompt", "The stream delivers a prompt with its content, an id and a number.", prompted},
		{"again", "Each new reader gets exactly the messages that are not acknowledged, with their ids.", again},
		{"order", "Messages arrive in the order of their numbers.", ordered},
		{"context", "Sections have nonces, which are in their text, and arrive once.", contextDelivered},
		{"interrupt", "An interrupt is confirmed when the worker has confirmed it.", interrupts},
		{"identity", "The stream delivers an identity.", identifies},
		{"health", "A question about health is answered by the worker.", asksHealth},
		{"events", "All reports can be read again, in order, each once, page by page.", recorded},
		{"end", "The stream of a run reports its end, and after that the token is invalid.", over},
	}
}

const jsonKind = "application/json"

// withReason returns an error with the message, and with err if that is not nil.
func withReason(err error, format string, args ...any) error {
	return errors.Join(fmt.Errorf(format, args...), err)
}

// tokens tests the rule "token": a request without the token of a running run is unauthorized, and a
// token is valid only for its run.
func tokens(p *peer) error {
	other, err := p.server.Begin(p.ctx, p.name+"-other")
	if err != nil {
		return err
	}
	mine := fmt.Sprintf(`{"run_id":%q,"event":"idle"}`, p.run.ID)
	return errors.Join(
		p.refuses("unauthorized", "/lifecycle", jsonKind, "", mine),
		p.refuses("unauthorized", "/lifecycle", jsonKind, p.run.Token+"x", mine),
		p.refuses("forbidden", "/lifecycle", jsonKind, other.Token, mine),
		p.refuses("forbidden", "/authorize", jsonKind, other.Token, fmt.Sprintf(`{"run_id":%q,"tool":"Read"}`, p.run.ID)),
		p.refuses("forbidden", "/ack", jsonKind, other.Token, fmt.Sprintf(`{"run_id":%q,"id":"x","state":"consumed"}`, p.run.ID)),
	)
}

// wire tests the rule "wire": a body that is not JSON, is not an object of its type, or is too large,
// and an unknown path, are answered with a problem and its code.
func wire(p *peer) error {
	token := p.run.Token
	return errors.Join(
		p.refuses("invalid", "/lifecycle", jsonKind, token, `{"event":`),
		p.refuses("invalid", "/lifecycle", jsonKind, token, ``),
		p.refuses("invalid", "/lifecycle", jsonKind, token, `{"event":7}`),
		p.refuses("invalid", "/lifecycle", jsonKind, token, `{}`),
		p.refuses("invalid", "/lifecycle", "text/plain", token, `{"event":"idle"}`),
		p.refuses("invalid", "/ack", jsonKind, token, `{"id":"x","state":"unknown"}`),
		p.refuses("invalid", "/authorize", jsonKind, token, `{"input":{}}`),
		p.refuses("too_large", "/lifecycle", jsonKind, token, `{"event":"idle","x":"`+strings.Repeat("x", 1<<20)+`"}`),
		p.refuses("not_found", "/nowhere", jsonKind, token, `{}`),
	)
}

// newerWorker tests the rule "newer": unknown members and events are accepted.
func newerWorker(p *peer) error {
	for path, body := range map[string]string{
		"/lifecycle": `{"event":"unknown","later":{"a":[1]}}`, "/telemetry": `{"events":[{"type":"unknown","timestamp":"2026-01-01T00:00:00Z","later":1}]}`,
	} {
		if a, err := p.post(path, jsonKind, p.run.Token, body); err != nil || a.status != 200 {
			return withReason(err, "POST %s %s: the answer is %d %s", path, body, a.status, a.body)
		}
	}
	return nil
}

// provesCanary tests the rule "canary": the city denies a call of the tool gc.canary, which tests the guard, by a rule of that
// name.
func provesCanary(p *peer) error { return p.Prove(p.ctx) }

// sent sends the run a prompt, and waits until it arrives.
func (p *peer) sent(content string) (worker.Message, error) {
	if err := p.server.Prompt(p.ctx, p.name, content); err != nil {
		return worker.Message{}, err
	}
	m, err := p.next(worker.PromptMessage)
	if err != nil {
		return m, err
	}
	var prompt worker.Prompt
	if err := json.Unmarshal(m.Data, &prompt); err != nil || prompt.Content != content || m.ID == "" || m.Seq == 0 {
		return m, withReason(err, "the prompt %q arrived as %+v with data %s", content, m, m.Data)
	}
	return m, nil
}

// prompted tests the rule "prompt": the stream delivers a prompt with its content, an id and a number.
func prompted(p *peer) error {
	p.connect()
	m, err := p.sent("say \"hi\"\n — ünïcode")
	return errors.Join(err, p.ack(m, worker.Submitted), p.ack(m, worker.Consumed))
}

// again tests the rule "again": each new reader gets exactly the messages that are not acknowledged,
// with their ids.
func again(p *peer) error {
	p.connect()
	first, err := p.sent("one")
	if err != nil {
		return err
	}
	for range 2 {
		p.connect()
		m, err := p.next(worker.PromptMessage)
		if err != nil {
			return fmt.Errorf("a new reader gets no prompt: %w", err)
		}
		if m.ID != first.ID {
			return fmt.Errorf("the prompt arrives again with id %s, want %s", m.ID, first.ID)
		}
	}
	if err := errors.Join(p.ack(first, worker.Submitted), p.ack(first, worker.Consumed)); err != nil {
		return err
	}
	p.connect()
	second, err := p.sent("two") // if the first were sent again, it would arrive first
	return errors.Join(err, p.ack(second, worker.Consumed))
}

// ordered tests the rule "order": messages arrive in the order of their numbers.
func ordered(p *peer) error {
	p.connect()
	last := uint64(0)
	for i := range 5 {
		m, err := p.sent(fmt.Sprint("number ", i))
		if err != nil {
			return err
		}
		if m.Seq <= last {
			return fmt.Errorf("message %d arrives after message %d", m.Seq, last)
		}
		last = m.Seq
		if err := errors.Join(p.ack(m, worker.Submitted), p.ack(m, worker.Consumed)); err != nil {
			return err
		}
	}
	return nil
}

// contextDelivered tests the rule "context": sections have nonces, which are in their text, and arrive
// once.
func contextDelivered(p *peer) error {
	p.connect()
	if _, err := p.sent("one"); err != nil { // after this the stream is open
		return err
	}
	c := worker.Context{RunID: p.run.ID, Mode: worker.FullContext, Sections: []worker.Section{{Type: "role", Content: "a test"}, {Type: "work", Content: "to test"}}}
	if a, err := p.Context(p.ctx, c); err != nil || !a.Accepted {
		return withReason(err, "the answer to a context is %+v", a)
	}
	m, err := p.next(worker.ContextMessage)
	if err != nil {
		return err
	}
	var got worker.Context
	if err := json.Unmarshal(m.Data, &got); err != nil || len(got.Sections) != 2 {
		return withReason(err, "the sections arrived as %s", m.Data)
	}
	var nonces []string
	for _, s := range got.Sections {
		if s.Nonce == "" || !strings.Contains(s.Content, s.Nonce) {
			return fmt.Errorf("a section must have a nonce and contain it, or the worker does not trust the section; the nonce is %q, the content %q", s.Nonce, s.Content)
		}
		nonces = append(nonces, s.Nonce)
	}
	if err := p.ack(m, worker.Consumed, nonces...); err != nil {
		return err
	}
	a, err := p.Context(p.ctx, c)
	if slices.Sort(a.Skipped); err != nil || !slices.Equal(a.Skipped, []string{"role", "work"}) {
		return withReason(err, "the answer to the same context sent again is %+v", a)
	}
	return nil
}

// interrupts tests the rule "interrupt": an interrupt is confirmed when the worker has confirmed it.
func interrupts(p *peer) error {
	p.connect()
	if _, err := p.sent("one"); err != nil { // after this the stream is open
		return err
	}
	done := make(chan error, 1)
	go func() { // one waits for it below
		a, err := p.Interrupt(p.ctx, worker.Interrupt{RunID: p.run.ID, Reason: "a test"})
		if err == nil && !a.Confirmed {
			err = fmt.Errorf("the interrupt is not confirmed: %+v", a)
		}
		done <- err
	}()
	m, err := p.next(worker.InterruptMessage)
	if err == nil {
		err = errors.Join(p.Report(p.ctx, worker.Idle, worker.Detail{}), p.ack(m, worker.Consumed))
	}
	return errors.Join(err, <-done)
}

// identifies tests the rule "identity": the stream delivers an identity.
func identifies(p *peer) error {
	p.connect()
	if _, err := p.sent("one"); err != nil { // after this the stream is open
		return err
	}
	if a, err := p.Identity(p.ctx, worker.Identity{RunID: p.run.ID, Env: map[string]string{"CHECK": "1"}}); err != nil || !a.Accepted {
		return withReason(err, "the server accepted no identity; its answer is %+v", a)
	}
	m, err := p.next(worker.IdentityMessage)
	if err != nil {
		return err
	}
	var id worker.Identity
	if err := json.Unmarshal(m.Data, &id); err != nil || id.Env["CHECK"] != "1" {
		return withReason(err, "the identity arrived as %s", m.Data)
	}
	return p.ack(m, worker.Consumed)
}

// asksHealth tests the rule "health": a question about health is answered by the worker.
func asksHealth(p *peer) error {
	p.connect()
	if _, err := p.sent("one"); err != nil { // after this the stream is open
		return err
	}
	r, err := p.Health(p.ctx, p.run.ID)
	if err != nil {
		return err
	}
	if !r.Asked || r.Status != worker.Healthy || r.ContextUsage == nil || *r.ContextUsage != contextUsage {
		return fmt.Errorf("the answer to a health request is %+v", r)
	}
	return nil
}

// recorded tests the rule "events": all reports can be read again, in order, each once, page by page.
func recorded(p *peer) error {
	const reports = 30
	var want []string
	for i := range reports {
		event := worker.Busy
		if i%2 == 1 {
			event = worker.Idle
		}
		id := fmt.Sprint("e", i)
		want = append(want, id)
		if err := p.Report(p.ctx, event, worker.Detail{PromptID: id}); err != nil {
			return err
		}
	}
	found, err := p.recorded()
	if err == nil && !slices.Equal(found, want) {
		err = fmt.Errorf("the reports are recorded as %v", found)
	}
	return err
}

// recorded returns the prompts in the recorded reports.
func (p *peer) recorded() (found []string, err error) {
	for after := uint64(0); ; {
		page, err := p.Events(p.ctx, p.run.ID, after)
		if err != nil || len(page) == 0 {
			return found, err
		}
		for _, e := range page {
			if e.Seq <= after || e.RunID != p.run.ID {
				return nil, fmt.Errorf("the answer to a request for the events of run %q after %d has event %d of run %q", p.run.ID, after, e.Seq, e.RunID)
			}
			after = e.Seq
			var l worker.Lifecycle
			if json.Unmarshal(e.Data, &l) == nil && l.Metadata.PromptID != "" {
				found = append(found, l.Metadata.PromptID)
			}
		}
	}
}

// over tests the rule "end": the stream of a run reports its end, and after that the token is invalid.
func over(p *peer) error {
	p.connect()
	if m, err := p.sent("one"); err != nil {
		return err
	} else if err := p.ack(m, worker.Consumed); err != nil {
		return err
	}
	if err := p.server.End(p.ctx, p.name); err != nil {
		return err
	}
	select {
	case err := <-p.ended: // by its event, or by a refusal
		if err != nil && !errors.Is(err, worker.ErrFenced) && !errors.Is(err, worker.ErrUnauthorized) {
			return err
		}
	case <-p.ctx.Done():
		return errors.New("the stream does not end")
	}
	a, err := p.post("/lifecycle", jsonKind, p.run.Token, `{"event":"idle"}`)
	if err != nil || a.status != 401 && a.status != 410 {
		return withReason(err, "the answer to the token of an ended run is %d %s", a.status, a.body)
	}
	return nil
}
