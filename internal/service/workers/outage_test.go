package workers_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/internal/service/workers"
	"gascity/worker"
)

// outage is a state of the city's socket.
type outage struct {
	name string
	// answer serves the socket. Nil means that nothing listens, although the file may exist.
	answer  http.HandlerFunc
	missing bool   // the socket
	token   string // empty is the run's
	reads   bool   // whether a tool that only reads is allowed
}

func outages(slow <-chan struct{}) []outage {
	return []outage{
		{name: "controller dead", reads: true},
		{name: "socket missing", missing: true, reads: true},
		{name: "slow", reads: true, answer: func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-slow:
			case <-r.Context().Done():
			}
		}},
		{name: "garbage", reads: true, answer: func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"allowed":tru`)) }}, //nolint:errcheck // the client waits for it
		{name: "cut off", reads: true, answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{name: "allowed and denied", answer: func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"allowed":true,"effect":"deny"}`)) }}, //nolint:errcheck // as above
		{name: "empty", answer: func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{}`)) }},                                            //nolint:errcheck // as above
		{name: "ending", reads: true, answer: problem(worker.ErrUnavailable)},
		{name: "disk full", reads: true, answer: problem(worker.ErrUnavailable)},
		{name: "wrong token", answer: problem(worker.ErrUnauthorized), token: "wrong"},
		{name: "fenced", answer: problem(worker.ErrFenced)},
		{name: "forbidden", answer: problem(worker.ErrForbidden)},
	}
}

func problem(err error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		p := worker.ProblemOf(err)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(p.Status)
		json.NewEncoder(w).Encode(p) //nolint:errcheck,errchkjson // the client waits for it
	}
}

// TestNoOutageAllows is the fault matrix. A worker with an allowance and a worker without one ask
// about a guarded tool, a tool that only reads, and a tool that reads a secret, while the city
// fails. Only reading is allowed, and only with an allowance.
func TestNoOutageAllows(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	t.Cleanup(func() { close(slow) })
	for _, fault := range outages(slow) {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			r := guarded(t, func(o *workers.Options) {
				o.Readers = func(session.Snapshot) (tools, except []string) {
					return []string{"Read", "LS"}, []string{".env", ".ssh"}
				}
			})
			env := r.start("s", "one")
			with, without := clientOf(env), clientOf(env)
			r.must(with.Prove(r.within()))
			r.now().kill()
			for _, c := range []*worker.Client{with, without} {
				c.Close()
				c.Socket = fault.serve(t)
				if fault.token != "" {
					c.Token = fault.token
				}
			}
			for _, ask := range []struct {
				name  string
				call  worker.Call
				reads bool
			}{
				{"guarded", worker.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}, false},
				{"unknown", worker.Call{Tool: "read"}, false},
				{"safe", worker.Call{Tool: "Read", Input: []byte(`{"file_path":"/w/main.go"}`)}, true},
				{"to be asked about", worker.Call{Tool: "Read", Ask: true, Input: []byte(`{"file_path":"/w/main.go"}`)}, false},
				{"secret", worker.Call{Tool: "Read", Input: []byte(`{"file_path":"/w/\u002eENV"}`)}, false},
				{"pattern", worker.Call{Tool: "Read", Input: []byte(`{"file_path":"/w/.e?v"}`)}, false},
				{"beside secrets", worker.Call{Tool: "Read", Input: []byte(`{"file_path":"id"}`), Context: map[string]string{"cwd": "/home/u/.ssh"}}, false},
			} {
				for name, c := range map[string]*worker.Client{"with": with, "without": without} {
					within := patience // a response must arrive even on a busy machine
					if fault.reads {
						within = 200 * time.Millisecond
					}
					ctx, cancel := context.WithTimeout(t.Context(), within)
					d, err := c.Authorize(ctx, ask.call)
					cancel()
					if want := ask.reads && fault.reads && name == "with"; d.Allowed != want || (d.Effect == worker.Allow) != want || want && d.Rule != worker.RuleAllowance {
						t.Errorf("%s an allowance, %s: %+v, %v; want allowed: %t", name, ask.name, d, err, want)
					}
				}
			}
		})
	}
}

// serve opens the socket with a fault and returns its path.
func (f outage) serve(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gco") //nolint:usetesting // a socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "s")
	if f.missing {
		return path
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if f.answer == nil {
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false) // as after the kill of a controller
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	server := &http.Server{Handler: f.answer, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		err := server.Close()
		if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return path
}

// TestAllowanceIsValidForItsRunAndTime checks that an allowance is not valid for another run,
// for a changed call, or after its end.
func TestAllowanceIsValidForItsRunAndTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	good := worker.Allowance{RunID: "run-1", Until: now.Add(time.Minute), Tools: []string{"Read"}, Except: []string{".env"}}.Sign("token")
	if err := good.Check("token", "run-1", now); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	var again worker.Allowance
	if err := errors.Join(json.Unmarshal(text, &again), again.Check("token", "run-1", now)); err != nil {
		t.Error("after a journey:", err)
	}
	change := func(edit func(*worker.Allowance)) worker.Allowance {
		s := good
		edit(&s)
		return s
	}
	for name, c := range map[string]struct {
		allowance  worker.Allowance
		token, run string
		at         time.Time
	}{
		"another token":  {good, "other", "run-1", now},
		"no token":       {good.Sign(""), "", "run-1", now},
		"another run":    {good, "token", "run-2", now},
		"over":           {good, "token", "run-1", now.Add(time.Minute)},
		"too far":        {good, "token", "run-1", now.Add(-time.Hour)},
		"more tools":     {change(func(s *worker.Allowance) { s.Tools = []string{"Read", "Bash"} }), "token", "run-1", now},
		"moved a word":   {change(func(s *worker.Allowance) { s.Tools, s.Except = []string{"Read", ".env"}, nil }), "token", "run-1", now},
		"longer":         {change(func(s *worker.Allowance) { s.Until = now.Add(5 * time.Minute) }), "token", "run-1", now},
		"no signature":   {change(func(s *worker.Allowance) { s.MAC = "" }), "token", "run-1", now},
		"the zero value": {worker.Allowance{}, "token", "run-1", now},
	} {
		if err := c.allowance.Check(c.token, c.run, c.at); !errors.Is(err, worker.ErrAllowance) {
			t.Errorf("%s: it counts (%v)", name, err)
		}
	}
}

// TestInvalidVerdictIsADenial checks that an invalid verdict is a denial.
func TestInvalidVerdictIsADenial(t *testing.T) {
	t.Parallel()
	r := guarded(t, func(o *workers.Options) {
		o.Judge = func(session.Snapshot, worker.Call) guard.Verdict { return guard.Verdict{} }
	})
	d, err := clientOf(r.start("s", "one")).Authorize(r.within(), worker.Call{Tool: "Read"})
	if err != nil || d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}
