package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// AuthorizeWithin bounds a call of [Client.Authorize] that has no earlier end: it is
	// longer than a city asks a person. A hook gives it an earlier end, below the limit
	// of its model provider, after which that would let the tool run.
	AuthorizeWithin = 70 * time.Second

	// reachWithin bounds how long an authorization looks for a city that cannot be
	// reached: one that is being restarted is back by then.
	reachWithin = 3 * time.Second
)

// maxAnswer bounds one decoded answer.
const maxAnswer = 16 << 20

// Client speaks to a city, for a worker or for one who directs workers. Set the
// fields before the first use and do not change them afterwards; Token and one of
// Socket and URL are required. Methods may be called concurrently and end with
// ctx. An error of the city is a [*Problem].
//
// What a worker reports ([Client.Report], [Client.Ack], [Client.Telemetry],
// [Client.Interaction], [Client.ReportHealth], [Client.Prove]) is repeated until the city
// has it or ctx ends: a city may be restarted at any time. All of it may be repeated.
type Client struct {
	Socket string // the path of the city's socket
	URL    string // "http://127.0.0.1:PORT", where no socket can be had
	Token  string // the run's, from GC_WORKER_TOKEN
	RunID  string // from GC_RUN_ID; put into bodies that have none

	once  sync.Once
	http  *http.Client
	token atomic.Pointer[string] // the newest, once the city has sent one
	inbox inbox

	allowance atomic.Pointer[Allowance] // what counts while the city does not answer; nil: nothing
}

// Close closes idle connections. The client can be used again afterwards.
func (c *Client) Close() { c.transport().CloseIdleConnections() }

// Report reports a transition. Times and run are filled in.
func (c *Client) Report(ctx context.Context, event Transition, detail Detail) error {
	return c.ReportAt(ctx, event, time.Now(), detail)
}

// ReportAt reports a transition that happened at a time. The run is filled in.
func (c *Client) ReportAt(ctx context.Context, event Transition, at time.Time, detail Detail) error {
	body := Lifecycle{Event: event, RunID: c.RunID, Timestamp: at, Metadata: detail}
	_, err := sendReport[LifecycleAnswer](ctx, c, "/lifecycle", body)
	return err
}

// Authorize asks whether a tool may be used. The answer is no whenever there is an
// error, and Reason then says why; a caller that looks at Allowed alone is safe. It
// ends with ctx, and by [AuthorizeWithin]; the city gives up asking a person shortly
// before.
func (c *Client) Authorize(ctx context.Context, req Call) (Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, AuthorizeWithin)
	defer cancel()
	req.RunID = orElse(req.RunID, c.RunID)
	if end, ok := ctx.Deadline(); ok && req.Wait == 0 {
		req.Wait = max(1, Seconds(time.Until(end)/time.Second)-1)
	}
	known := c.allowance.Load()
	req.Allowance = known == nil || time.Until(known.Until) < AllowanceLife/2
	passes := known != nil && !req.Ask && time.Now().Before(known.Until) && known.RunID == req.RunID && known.Allows(req)
	asking := ctx
	if passes { // it is not worth a longer wait
		short, stop := context.WithTimeout(ctx, reachWithin)
		defer stop()
		asking = short
	}
	reach, stop := context.WithTimeout(ctx, reachWithin)
	defer stop()
	d, err := again(reach, func() (Decision, error) { return call[Decision](asking, c, http.MethodPost, "/authorize", req) })
	if err != nil && passes && unanswered(err) && !errors.Is(ctx.Err(), context.Canceled) && time.Now().Before(known.Until) {
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
		d.Effect, d.Reason = Deny, orElse(d.Reason, "the city does not allow it")
	}
	return d, nil
}

// RuleAllowance is the rule of a decision that the client has made by an [Allowance].
const RuleAllowance = "allowance"

// setAllowance keeps a allowance that counts. One that does not is as none.
func (c *Client) setAllowance(s *Allowance) {
	if s != nil && s.Check(c.credential(), c.RunID, time.Now()) == nil {
		c.allowance.Store(s)
	}
}

// unanswered reports whether an error says nothing about the call: the city was not
// reached, cannot decide, or sent an answer that is not understood. A refusal is
// none.
func unanswered(err error) bool {
	_, answered := errors.AsType[*Problem](err)
	return !answered || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrTimeout)
}

// Prove asks for the canary, as a worker does before its first prompt: it shows the city
// that the worker asks before it uses a tool. A city with a guard gives it no work
// otherwise. An error says that nothing is proved. No tool waits for the answer, so Prove waits longer
// than [Client.Authorize] for a city that cannot be reached: until ctx ends.
func (c *Client) Prove(ctx context.Context) error {
	d, err := again(ctx, func() (Decision, error) { return c.Authorize(ctx, Call{Tool: Canary}) })
	switch {
	case err != nil:
		return fmt.Errorf("the guard is not proved: %w", err)
	case d.Allowed || d.Rule != Canary:
		return fmt.Errorf("the guard is not proved: the city does not know the tool %s", Canary)
	}
	return nil
}

// Telemetry reports events. A repetition is harmless.
func (c *Client) Telemetry(ctx context.Context, events ...TelemetryEvent) (TelemetryAnswer, error) {
	return sendReport[TelemetryAnswer](ctx, c, "/telemetry", Telemetry{RunID: c.RunID, Events: events})
}

// Interaction reports a question, or its end, and returns the city's name for it.
func (c *Client) Interaction(ctx context.Context, q Interaction) (InteractionAnswer, error) {
	q.RunID = orElse(q.RunID, c.RunID)
	return sendReport[InteractionAnswer](ctx, c, "/interaction", q)
}

// ReportHealth answers a health message.
func (c *Client) ReportHealth(ctx context.Context, h Health) error {
	h.RunID = orElse(h.RunID, c.RunID)
	_, err := sendReport[struct{}](ctx, c, "/health", h)
	return err
}

// Ack acknowledges a message. If the message comes again, the last
// acknowledgement is repeated for it.
func (c *Client) Ack(ctx context.Context, a Ack) error {
	a.RunID = orElse(a.RunID, c.RunID)
	c.inbox.recordAck(a)
	_, err := sendReport[struct{}](ctx, c, "/ack", a)
	return err
}

// Prompt sends an agent a message. With wait, which is "submitted" or "consumed",
// it answers when it has come so far or has ended otherwise.
func (c *Client) Prompt(ctx context.Context, p Prompt, wait Progress) (PromptAnswer, error) {
	path := "/prompt"
	if wait != "" {
		path += "?wait=" + url.QueryEscape(string(wait))
	}
	return call[PromptAnswer](ctx, c, http.MethodPost, path, p)
}

// Context returns an agent sections of context.
func (c *Client) Context(ctx context.Context, sections Context) (ContextAnswer, error) {
	return call[ContextAnswer](ctx, c, http.MethodPost, "/context", sections)
}

// ClaimContext fetches, for an agent CLI's hook, the context that the agent is to
// receive at a beginning; no sections are nothing. A repetition with the same ID
// gets the same.
func (c *Client) ClaimContext(ctx context.Context, claim ContextClaim) (Context, error) {
	claim.RunID = orElse(claim.RunID, c.RunID)
	return sendReport[Context](ctx, c, "/context/claim", claim)
}

// Identity returns an agent its identity and credentials.
func (c *Client) Identity(ctx context.Context, id Identity) (IdentityAnswer, error) {
	return call[IdentityAnswer](ctx, c, http.MethodPost, "/identity", id)
}

// Interrupt ends an agent's turn, and answers when that is confirmed.
func (c *Client) Interrupt(ctx context.Context, i Interrupt) (InterruptAnswer, error) {
	return call[InterruptAnswer](ctx, c, http.MethodPost, "/interrupt", i)
}

// Health asks how a run is.
func (c *Client) Health(ctx context.Context, run string) (Health, error) {
	return call[Health](ctx, c, http.MethodGet, "/health?run_id="+url.QueryEscape(run), nil)
}

// Events returns what was recorded after the cursor, oldest first, at most 1,000 of them, of one run or,
// for a caller that may see them, of all.
func (c *Client) Events(ctx context.Context, run string, after uint64) ([]Event, error) {
	q := url.Values{"after": {fmt.Sprint(after)}}
	if run != "" {
		q.Set("run_id", run)
	}
	return call[[]Event](ctx, c, http.MethodGet, "/events?"+q.Encode(), nil)
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

func (c *Client) transport() *http.Client {
	c.once.Do(func() {
		t := &http.Transport{DisableCompression: true, MaxIdleConns: 4, MaxIdleConnsPerHost: 4}
		if c.Socket != "" {
			t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", c.Socket)
			}
		}
		// A city never sends anybody elsewhere: what does is no city.
		stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c.http = &http.Client{Transport: t, CheckRedirect: stay}
	})
	return c.http
}

// credential returns the token that holds now.
func (c *Client) credential() string {
	if t := c.token.Load(); t != nil {
		return *t
	}
	return c.Token
}

// sendReport sends a report until the city has it.
func sendReport[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return again(ctx, func() (T, error) { return call[T](ctx, c, http.MethodPost, path, body) })
}

// again does something until it succeeds, fails for a reason that stays, or ctx ends.
func again[T any](ctx context.Context, do func() (T, error)) (T, error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		answer, err := do()
		if err == nil || !isTransient(err) || !sleep(ctx, pause) {
			return answer, err
		}
	}
}

// isTransient reports whether an error may be gone the next time: the city is not there,
// or says so.
func isTransient(err error) bool {
	if errors.Is(err, ErrUnavailable) {
		return true
	}
	_, answered := errors.AsType[*Problem](err)
	return !answered && errors.Is(err, errUnreached)
}

var errUnreached = errors.New("the city does not answer")

// sleep waits; false if ctx ends first.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// call sends one request and decodes the answer; one without a body is T's zero.
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
		return answer, fmt.Errorf("%w: its answer to %s %s broke off: %w", errUnreached, method, path, err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		var none T
		return none, fmt.Errorf("cannot read the city's answer to %s %s: %w", method, path, err)
	}
	return answer, nil
}

// send returns the answer if it is a success; the caller closes its body.
func (c *Client) send(ctx context.Context, method, path string, body any, header map[string]string) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, orElse(c.URL, "http://city")+path, content)
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

// readProblem reads the error of an answer. One that is no problem document gets
// the code of its HTTP status.
func readProblem(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("%w: its error %d broke off: %w", errUnreached, res.StatusCode, err)
	}
	p := &Problem{}
	if json.Unmarshal(body, p) == nil && p.Code != "" {
		return p
	}
	p = &Problem{Title: http.StatusText(res.StatusCode), Status: res.StatusCode, Code: "internal"}
	p.Detail = fmt.Sprintf("the city answered %s: %.200s", res.Status, strings.TrimSpace(string(body)))
	for _, row := range Codes() {
		if row.Status == res.StatusCode {
			p.Code = row.Code
		}
	}
	p.Type = "urn:gascity:worker:" + p.Code
	return p
}

// final reports whether trying again cannot help.
func final(err error) bool {
	return errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrFenced) || errors.Is(err, ErrInvalid)
}
