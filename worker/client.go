package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"gascity/internal/httpwire"
)

const (
	// AuthorizeWithin is the limit of [Client.Authorize]. It is longer than the time that a city
	// waits for a person. A hook must use a shorter limit, below that of its agent CLI, which would
	// otherwise let the tool run.
	AuthorizeWithin = 70 * time.Second

	// reachWithin is how long an authorization tries to reach the city. A city that restarts
	// answers again in this time.
	reachWithin = 3 * time.Second
)

// maxAnswer is the maximum size of one decoded response, in bytes.
const maxAnswer = 16 << 20

// Client sends requests to a city, for a worker or for a program that directs workers. Set the
// fields before the first use and do not change them afterwards. Token and one of Socket and URL
// are required. Methods may be called concurrently and return when ctx ends. An error of the city
// is a [*Problem].
//
// Reports of a worker ([Client.Report], [Client.Ack], [Client.Telemetry], [Client.Interaction],
// [Client.ReportHealth], [Client.Prove]) are sent again until the city has received them or ctx
// ends, because a city may restart at any time. A repeated report is harmless.
type Client struct {
	Socket string // path of the city's socket
	URL    string // "http://127.0.0.1:PORT", if no socket is available
	Token  string // token of the run, from GC_WORKER_TOKEN
	RunID  string // id of the run, from GC_RUN_ID; used in requests without one

	once  sync.Once
	http  *http.Client
	token atomic.Pointer[string] // the newest token that the city has sent, or nil
	inbox inbox

	allowance atomic.Pointer[Allowance] // the valid allowance for when the city does not answer, or nil
}

// Close closes idle connections. The client can be used again afterwards.
func (c *Client) Close() { c.transport().CloseIdleConnections() }

// Report reports a transition that happens now. It sets the run.
func (c *Client) Report(ctx context.Context, event Transition, detail Detail) error {
	return c.ReportAt(ctx, event, time.Now(), detail)
}

// ReportAt reports a transition that happened at the given time. It sets the run.
func (c *Client) ReportAt(ctx context.Context, event Transition, at time.Time, detail Detail) error {
	body := Lifecycle{Event: event, RunID: c.RunID, Timestamp: at, Metadata: detail}
	_, err := sendReport[LifecycleAnswer](ctx, c, "/lifecycle", body)
	return err
}

// Authorize asks whether a tool may be used. After any error the decision is a denial with a
// Reason, so a caller may look at Allowed only. It returns when ctx ends, and after
// [AuthorizeWithin] at the latest. The city stops waiting for a person shortly before.
func (c *Client) Authorize(ctx context.Context, req Call) (Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, AuthorizeWithin)
	defer cancel()
	req.RunID = cmp.Or(req.RunID, c.RunID)
	if end, ok := ctx.Deadline(); ok && req.Wait == 0 {
		req.Wait = max(1, Seconds(time.Until(end)/time.Second)-1)
	}
	known := c.allowance.Load()
	req.Allowance = known == nil || time.Until(known.Until) < AllowanceLife/2
	permitted := known != nil && !req.Ask && time.Now().Before(known.Until) && known.RunID == req.RunID && known.Allows(req)
	asking := ctx
	if permitted { // with an allowance, a longer wait is not useful
		short, stop := context.WithTimeout(ctx, reachWithin)
		defer stop()
		asking = short
	}
	reach, stop := context.WithTimeout(ctx, reachWithin)
	defer stop()
	d, err := again(reach, func() (Decision, error) { return call[Decision](asking, c, http.MethodPost, "/authorize", req) })
	if err != nil && permitted && unanswered(err) && !errors.Is(ctx.Err(), context.Canceled) && time.Now().Before(known.Until) {
		return Decision{Allowed: true, Effect: Allow, Rule: RuleAllowance, Reason: "the city does not answer; this tool only reads: " + err.Error()}, nil
	}
	if err != nil {
		return Decision{Effect: Deny, Reason: "not authorized, because the city gave no answer: " + err.Error()}, err
	}
	c.setAllowance(d.Allowance)
	if d.Effect != "" && d.Effect != Allow {
		d.Allowed = false
	}
	if !d.Allowed {
		d.Effect, d.Reason = Deny, cmp.Or(d.Reason, "the city does not allow it")
	}
	return d, nil
}

// RuleAllowance is the rule of a decision that the client made with an [Allowance].
const RuleAllowance = "allowance"

// setAllowance stores a valid allowance and ignores any other.
func (c *Client) setAllowance(s *Allowance) {
	if s != nil && s.Check(c.credential(), c.RunID, time.Now()) == nil {
		c.allowance.Store(s)
	}
}

// unanswered reports whether the city made no decision: it was not reached, was unavailable, or
// sent an answer that cannot be decoded. A refusal is a decision.
func unanswered(err error) bool {
	_, answered := errors.AsType[*Problem](err)
	return !answered || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrTimeout)
}

// Prove sends the canary call, as a worker must do before its first prompt. It shows the city that
// the worker asks before it uses a tool; without it a city with a guard gives the worker no work.
// An error means that nothing is proved. No tool waits for the answer, so Prove tries to reach the
// city until ctx ends, longer than [Client.Authorize].
func (c *Client) Prove(ctx context.Context) error {
	d, err := again(ctx, func() (Decision, error) { return c.Authorize(ctx, Call{Tool: Canary}) })
	switch {
	case err != nil:
		return fmt.Errorf("cannot prove the guard: %w", err)
	case d.Allowed || d.Rule != Canary:
		return fmt.Errorf("cannot prove the guard: the city does not know the tool %s", Canary)
	}
	return nil
}

// Telemetry reports events. A repetition is harmless.
func (c *Client) Telemetry(ctx context.Context, events ...TelemetryEvent) (TelemetryAnswer, error) {
	return sendReport[TelemetryAnswer](ctx, c, "/telemetry", Telemetry{RunID: c.RunID, Events: events})
}

// Interaction reports a question or its end, and returns the city's id for it.
func (c *Client) Interaction(ctx context.Context, q Interaction) (InteractionAnswer, error) {
	q.RunID = cmp.Or(q.RunID, c.RunID)
	return sendReport[InteractionAnswer](ctx, c, "/interaction", q)
}

// ReportHealth answers a health message.
func (c *Client) ReportHealth(ctx context.Context, h Health) error {
	h.RunID = cmp.Or(h.RunID, c.RunID)
	_, err := sendReport[struct{}](ctx, c, "/health", h)
	return err
}

// Ack acknowledges a message. If the message arrives again, the client repeats the last
// acknowledgment.
func (c *Client) Ack(ctx context.Context, a Ack) error {
	a.RunID = cmp.Or(a.RunID, c.RunID)
	c.inbox.recordAck(a)
	_, err := sendReport[struct{}](ctx, c, "/ack", a)
	return err
}

// Prompt sends a prompt to an agent. If wait is "submitted" or "consumed", it returns when the
// prompt has this state or has ended with another one.
func (c *Client) Prompt(ctx context.Context, p Prompt, wait Progress) (PromptAnswer, error) {
	path := "/prompt"
	if wait != "" {
		path += "?wait=" + url.QueryEscape(string(wait))
	}
	return call[PromptAnswer](ctx, c, http.MethodPost, path, p)
}

// Context sends sections of context to an agent.
func (c *Client) Context(ctx context.Context, sections Context) (ContextAnswer, error) {
	return call[ContextAnswer](ctx, c, http.MethodPost, "/context", sections)
}

// ClaimContext returns, for an agent CLI's hook, the context that the agent must receive now, at
// the beginning of a conversation or after a compaction. It may have no sections. A repetition with
// the same ID returns the same.
func (c *Client) ClaimContext(ctx context.Context, claim ContextClaim) (Context, error) {
	claim.RunID = cmp.Or(claim.RunID, c.RunID)
	return sendReport[Context](ctx, c, "/context/claim", claim)
}

// Identity sends identity and credentials to an agent.
func (c *Client) Identity(ctx context.Context, id Identity) (IdentityAnswer, error) {
	return call[IdentityAnswer](ctx, c, http.MethodPost, "/identity", id)
}

// Interrupt ends an agent's turn, and returns when the end is confirmed.
func (c *Client) Interrupt(ctx context.Context, i Interrupt) (InterruptAnswer, error) {
	return call[InterruptAnswer](ctx, c, http.MethodPost, "/interrupt", i)
}

// Health returns the condition of a run.
func (c *Client) Health(ctx context.Context, run string) (Health, error) {
	return call[Health](ctx, c, http.MethodGet, "/health?run_id="+url.QueryEscape(run), nil)
}

// Events returns at most 1,000 recorded events after the cursor, oldest first. If run is empty, it
// returns the events of all runs that the caller may see.
func (c *Client) Events(ctx context.Context, run string, after uint64) ([]Event, error) {
	q := url.Values{"after": {fmt.Sprint(after)}}
	if run != "" {
		q.Set("run_id", run)
	}
	return call[[]Event](ctx, c, http.MethodGet, "/events?"+q.Encode(), nil)
}

// transport returns the HTTP client, which connects to the city's Unix socket if one is set. The first call creates it.
// Redirects are not followed.
func (c *Client) transport() *http.Client {
	c.once.Do(func() {
		t := &http.Transport{DisableCompression: true, MaxIdleConns: 4, MaxIdleConnsPerHost: 4}
		if c.Socket != "" {
			t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", c.Socket)
			}
		}
		// A city never redirects. A server that redirects is not a city.
		refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c.http = &http.Client{Transport: t, CheckRedirect: refuse}
	})
	return c.http
}

// credential returns the current token.
func (c *Client) credential() string {
	if t := c.token.Load(); t != nil {
		return *t
	}
	return c.Token
}

// sendReport sends a report until the city has received it or ctx ends.
func sendReport[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return again(ctx, func() (T, error) { return call[T](ctx, c, http.MethodPost, path, body) })
}

// again calls do, with growing pauses, until it succeeds, fails with an error that a repetition cannot change, or ctx ends.
// It returns the result of the last call.
func again[T any](ctx context.Context, do func() (T, error)) (T, error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		answer, err := do()
		if err == nil || !isTransient(err) || !httpwire.Pause(ctx, pause) {
			return answer, err
		}
	}
}

// isTransient reports whether a request may succeed later: the city did not answer, or was
// unavailable.
func isTransient(err error) bool {
	if errors.Is(err, ErrUnavailable) {
		return true
	}
	_, answered := errors.AsType[*Problem](err)
	return !answered && errors.Is(err, errUnreached)
}

var errUnreached = errors.New("the city does not answer")

// call sends one request and decodes the response. A response without a body is T's zero value.
func call[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var answer T
	res, err := c.send(ctx, method, path, body, nil)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		return answer, nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return answer, fmt.Errorf("%w: its answer to %s %s is incomplete: %w", errUnreached, method, path, err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		var none T
		return none, fmt.Errorf("cannot read the city's answer to %s %s: %w", method, path, err)
	}
	return answer, nil
}

// send sends a request and returns the response if it is a success. The caller must close its body.
func (c *Client) send(ctx context.Context, method, path string, body any, header map[string]string) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, cmp.Or(c.URL, "http://city")+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.credential())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := c.transport().Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreached, err)
	}
	if res.StatusCode >= http.StatusOK && res.StatusCode < http.StatusMultipleChoices {
		return res, nil
	}
	defer res.Body.Close()
	return nil, readProblem(res)
}

// final reports whether another attempt cannot help.
func final(err error) bool {
	return errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrFenced) || errors.Is(err, ErrInvalid)
}
