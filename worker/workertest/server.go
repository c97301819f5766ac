package workertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/worker"
)

// Server is a city whose worker API [CheckServer] tests.
type Server struct {
	// Socket is the path of its socket.
	Socket string
	// Begin begins a run with an agent that sends no reports itself: the case is its worker. It is
	// called with a different name for each case, and twice for some cases.
	Begin func(ctx context.Context, name string) (Run, error)
	// Prompt sends the run of this name a prompt, and returns without waiting for its outcome.
	Prompt func(ctx context.Context, name, content string) error
	// End ends the run of this name.
	End func(ctx context.Context, name string) error
	// Only lists the ids of the rules to test; empty means all.
	Only []string
	// Patience is how long a case waits for the city; zero means 30 seconds.
	Patience time.Duration
}

// Run has the id and token of a run, as in its agent's environment.
type Run struct{ ID, Token string }

// CheckServer tests the rules for a city, one after the other: those about the wire format and
// about what the city stores for a run.
func CheckServer(ctx context.Context, s Server) []Result {
	if s.Patience <= 0 {
		s.Patience = 30 * time.Second
	}
	var out []Result
	for _, c := range serverTests() {
		if len(s.Only) > 0 && !slices.Contains(s.Only, c.id) {
			continue
		}
		began := time.Now()
		err := s.one(ctx, c)
		out = append(out, Result{ID: c.id, Sentence: c.sentence, Err: err, Took: time.Since(began)})
	}
	return out
}

type serverTest struct {
	id, sentence string
	do           func(*peer) error
}

// one runs one case as the worker of a new run.
func (s Server) one(ctx context.Context, c serverTest) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Patience, fmt.Errorf("not within %s", s.Patience))
	defer cancel()
	p := &peer{ctx: ctx, server: s, name: "check-" + c.id}
	var err error
	if p.run, err = s.Begin(ctx, p.name); err != nil {
		return fmt.Errorf("cannot begin a run: %w", err)
	}
	p.Client = p.client(p.run)
	defer p.Close()
	defer p.hangUp()
	if err := errors.Join(p.Report(ctx, worker.Started, worker.Detail{Agent: "check", Offers: []string{worker.OfferContext, worker.OfferInterrupt, worker.OfferHealth, worker.OfferIdentity}}), p.Report(ctx, worker.Ready, worker.Detail{})); err != nil {
		return fmt.Errorf("cannot send the first reports: %w", err)
	}
	err = c.do(p)
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// peer is the worker of a case.
type peer struct {
	*worker.Client

	ctx    context.Context //nolint:containedctx // that of the case
	server Server
	name   string
	run    Run

	reading sync.WaitGroup
	hang    func()
	got     chan worker.Message
	ended   chan error
}

func (p *peer) client(r Run) *worker.Client {
	return &worker.Client{Socket: p.server.Socket, Token: r.Token, RunID: r.ID}
}

// contextUsage is the worker's answer to health questions.
const contextUsage = 0.25

// connect opens the stream again, as a process that has received nothing.
func (p *peer) connect() {
	p.hangUp()
	ctx, cancel := context.WithCancel(p.ctx)
	c, got, ended := p.client(p.run), make(chan worker.Message, 64), make(chan error, 1)
	p.got, p.ended = got, ended
	p.reading.Go(func() {
		defer c.Close()
		for m, err := range c.Messages(ctx) {
			if usage := contextUsage; err == nil && m.Kind == worker.HealthMessage {
				err = c.ReportHealth(ctx, worker.Health{Status: worker.Healthy, CurrentState: "busy", Question: m.ID, ContextUsage: &usage})
			}
			if err != nil {
				ended <- err
				return
			}
			select {
			case got <- m:
			case <-ctx.Done():
			}
		}
		ended <- nil
	})
	p.hang = func() { cancel(); p.reading.Wait() }
}

func (p *peer) hangUp() {
	if p.hang != nil {
		p.hang()
	}
}

// next returns the next message of a kind and skips others.
func (p *peer) next(kind worker.MessageKind) (worker.Message, error) {
	for {
		select {
		case m := <-p.got:
			if m.Kind == kind {
				return m, nil
			}
		case <-p.ctx.Done():
			return worker.Message{}, fmt.Errorf("no message %q came", kind)
		}
	}
}

// ack acknowledges a message.
func (p *peer) ack(m worker.Message, state worker.Progress, nonces ...string) error {
	return p.Ack(p.ctx, worker.Ack{ID: m.ID, State: state, Nonces: nonces})
}

// answer is an HTTP response.
type answer struct {
	status int
	kind   string
	body   []byte
}

// post sends a body unchanged.
func (p *peer) post(path, kind, token, body string) (answer, error) {
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", p.server.Socket)
	}}
	defer t.CloseIdleConnections()
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, "http://city"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", kind)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := t.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return answer{res.StatusCode, res.Header.Get("Content-Type"), text}, errors.Join(err, res.Body.Close())
}

// refuses checks that the answer to a body is a problem with this code, and that it does not
// contain the token.
func (p *peer) refuses(code, path, kind, token, body string) error {
	a, err := p.post(path, kind, token, body)
	if err != nil {
		return err
	}
	var problem worker.Problem
	if err := json.Unmarshal(a.body, &problem); err != nil || problem.Code != code || problem.Status != a.status || a.kind != "application/problem+json" {
		return fmt.Errorf("POST %s %.60s is answered %d %s %.200s, must be a problem %q", path, body, a.status, a.kind, a.body, code)
	}
	if token != "" && strings.Contains(string(a.body), token) {
		return errors.New("a problem reveals the token")
	}
	return nil
}
