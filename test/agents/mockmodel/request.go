package mockmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Request is one request as it came, and its outcome.
type Request struct {
	N       int     `json:"n"`      // from 1, in order of arrival
	Caller  string  `json:"caller"` // see [Server.URL]
	Dialect Dialect `json:"dialect"`
	Method  string  `json:"method"`
	Path    string  `json:"path"`

	Header http.Header `json:"-"`
	Body   []byte      `json:"body"`

	At    time.Time `json:"at"`
	Ended time.Time `json:"ended"` // zero while it is being answered

	Status  int  `json:"status"`
	Aborted bool `json:"aborted"` // the caller went away before the end

	Model   string `json:"model"`
	Session string `json:"session"` // the caller's own id of the conversation, if it sends one
	Main    bool   `json:"main"`    // it offers tools, and is no summary
	Summary bool   `json:"summary"` // of its own conversation, which became too long
	System  string `json:"-"`       // the instructions to the model
	// History is everything that the user said in this conversation, oldest
	// first; Fresh is how many of its last texts the model has not answered yet.
	History []string `json:"history"`
	Fresh   int      `json:"fresh"`
	Results []string `json:"results"` // of tools, since the newest prompt

	Answer string `json:"answer"`
	Calls  []Call `json:"calls"`
	Usage  Usage  `json:"usage"` // as reported: of an answer that was cut off, what had been reported by then
	// Response is the id of the answer, where the dialect has it at its beginning.
	Response string `json:"response"`

	prompts   []Prompt // that it was the first to hold, once settled
	described bool     // nothing that came before it is open any more
}

// Call is a tool call of an answer.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Usage are the numbers of tokens of one response. The parts of the input are
// disjoint.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
}

// Fine reports whether the request was answered in full.
func (r *Request) Fine() bool { return r.Status == http.StatusOK && !r.Aborted && !r.Ended.IsZero() }

func (s *Server) record(r *Request) *Request {
	s.change(func() {
		r.N = len(s.requests) + 1
		s.requests = append(s.requests, r)
	})
	return r
}

// change changes what is kept and wakes who waits for it.
func (s *Server) change(how func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how()
	close(s.changed)
	s.changed = make(chan struct{})
}

// describeLocked fills the request from the body. A text that several requests contain is stored once.
func (s *Server) describeLocked(r *Request, c conversation, header http.Header) {
	r.Model, r.Main, r.System = c.model, len(c.tools) > 0, c.system
	r.Session = c.session
	for _, name := range []string{"X-Claude-Code-Session-Id", "Session_id", "Session-Id", "X-Session-Affinity"} {
		if id := header.Get(name); id != "" && r.Session == "" {
			r.Session = id
		}
	}
	r.History, r.Fresh = c.userTexts()
	for i, text := range r.History {
		if known, ok := s.texts[text]; ok {
			r.History[i] = known
		} else {
			s.texts[text] = text
		}
	}
	r.Results = c.results()
	if n := len(r.History); r.Fresh > 0 && slices.ContainsFunc(summarises, func(words string) bool { return strings.HasPrefix(r.History[n-1], words) }) {
		r.Main, r.Summary = false, true
	}
	for at := len(r.History) - r.Fresh; at < len(r.History); at++ {
		if strings.HasPrefix(r.History[at], summarised) {
			r.Fresh = len(r.History) - 1 - at
		}
	}
}

// summarises begin the request for a summary of its own conversation: of Claude Code, with the
// tools of its main loop, and of Codex.
var summarises = []string{"CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.", "You are performing a CONTEXT CHECKPOINT COMPACTION."}

// summarised begins the summary that Codex puts in the place of its conversation, behind parts of
// what was said before: nothing up to it is said again.
const summarised = "Another language model started to solve this problem and produced a summary"

// Requests returns a copy of all requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Await waits until the requests are as the test wants them.
func (s *Server) Await(ctx context.Context, is func([]Request) bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		all := s.Requests()
		if is(all) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("after %d requests: %w", len(all), ctx.Err())
		}
	}
}

// AwaitPrompts waits until the caller has sent so many prompts, and returns them.
func (s *Server) AwaitPrompts(ctx context.Context, caller string, n int) ([]Prompt, error) {
	err := s.Await(ctx, func([]Request) bool { return len(s.Prompts(caller)) >= n })
	return s.Prompts(caller), err
}

// Prompt is something that a user said to an agent.
type Prompt struct {
	Text   string // without the agent's own wrapping
	Pasted bool   // the agent reported to the model that it was pasted
	First  int    // the number of the first request that held it
	At     time.Time
	Caller string
}

// Prompts returns what was said to the caller's agents, in order, each prompt
// once however often a request was retried; an empty caller is every one. A
// history that was answered in full before and comes again is the same prompt
// given twice.
func (s *Server) Prompts(caller string) []Prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Prompt
	known := map[string][]*Request{}
	open := map[string]bool{} // conversations with a request that is being answered
	for _, r := range s.requests {
		if !r.Main || caller != "" && r.Caller != caller {
			continue
		}
		key := r.Caller + "\n" + r.Session
		if !r.described {
			r.prompts, r.described = r.firstOf(known[key]), !open[key]
		}
		out = append(out, r.prompts...)
		known[key] = append(known[key], r)
		open[key] = open[key] || r.Ended.IsZero()
	}
	return out
}

// firstOf returns the prompts of a request that no earlier one of the conversation held.
func (r *Request) firstOf(earlier []*Request) (out []Prompt) {
	for _, text := range r.History[firstNewText(earlier, r):] {
		bare, pasted := unwrap(text)
		out = append(out, Prompt{Text: bare, Pasted: pasted, First: r.N, At: r.At, Caller: r.Caller})
	}
	return out
}

// firstNewText returns the index of the first text of the request's history that no earlier
// request of the conversation held.
func firstNewText(earlier []*Request, r *Request) int {
	seen := len(r.History) - r.Fresh
	for _, e := range earlier {
		if slices.Equal(e.History, r.History) && len(e.Results) == len(r.Results) && e.Fine() && len(r.Results) == 0 {
			seen = len(r.History) - r.Fresh // it was answered: this is another one
			continue
		}
		seen = max(seen, common(e.History, r.History))
	}
	return seen
}

func common(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// surfaced is what an agent puts around a prompt that it was given within a turn.
var surfaced = regexp.MustCompile(`(?s)^The user sent a new message while you were working:\n(.*?)\n\nThis is how Claude Code surfaces`)

// unwrap removes what an agent adds around a text that was pasted, or sent within a turn.
func unwrap(text string) (bare string, pasted bool) {
	if inner := surfaced.FindStringSubmatch(text); inner != nil {
		text = inner[1]
	}
	rest := text
	var out strings.Builder
	for {
		before, after, found := strings.Cut(rest, "<pasted_content")
		out.WriteString(before)
		if !found {
			if pasted {
				return strings.Trim(out.String(), "\n"), pasted
			}
			return text, false
		}
		_, inner, opened := strings.Cut(after, ">")
		inner, behind, closed := strings.Cut(inner, "</pasted_content")
		_, behind, shut := strings.Cut(behind, ">")
		if !opened || !closed || !shut {
			return text, pasted
		}
		out.WriteString(strings.TrimSuffix(strings.TrimPrefix(inner, "\n"), "\n"))
		rest, pasted = behind, true
	}
}
