package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/worker"
	"gascity/worker/workertest"
)

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func newCity(t *testing.T) *workertest.City {
	t.Helper()
	city, err := workertest.NewCity()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := city.Close(); err != nil {
			t.Error(err)
		}
	})
	return city
}

func await(t *testing.T, city *workertest.City, n int, word string) {
	t.Helper()
	if err := city.Await(within(t), func(words []workertest.Word) bool {
		said := 0
		for _, w := range words {
			if strings.HasPrefix(w.String(), word) {
				said++
			}
		}
		return said >= n
	}); err != nil {
		t.Fatalf("%q was not said %d times: %v", word, n, err)
	}
}

// TestMessagesGoOnWhereTheyWere: through streams that break and a city that is gone,
// each message is yielded once, and its last word is repeated where it comes again.
func TestMessagesGoOnWhereTheyWere(t *testing.T) {
	city := newCity(t)
	c := city.Client()
	defer c.Close()
	got := make(chan string, 100)
	ended := make(chan error, 1)
	go func() {
		for m, err := range c.Messages(within(t)) {
			if err != nil {
				ended <- err
				return
			}
			got <- m.ID
			if err := c.Ack(within(t), worker.Ack{ID: m.ID, State: worker.Consumed}); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	send := func(id string) {
		if err := city.Prompt(id, "x"); err != nil {
			t.Fatal(err)
		}
	}
	await(t, city, 1, "/stream 0")
	for n := range 3 {
		id := fmt.Sprint("p", n)
		send(id)
		await(t, city, 1, "/ack "+id)
		send(id) // again, as by a city that did not hear of it
		await(t, city, 2, "/ack "+id)
		switch n {
		case 0:
			city.Cut()
		case 1:
			if err := city.Down(); err != nil {
				t.Fatal(err)
			}
			if err := city.Up(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	city.End()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	close(got)
	var all []string
	for id := range got {
		all = append(all, id)
	}
	if want := []string{"p0", "p1", "p2"}; !slices.Equal(all, want) {
		t.Errorf("yielded %v, want %v", all, want)
	}
	if !slices.ContainsFunc(city.Words(), func(w workertest.Word) bool { return w.Path == "/stream" && w.Body["after"] != "0" }) {
		t.Error("it did not say what it has")
	}
}

// TestWhatIsToldIsRepeatedUntilTheCityHasIt.
func TestWhatIsToldIsRepeatedUntilTheCityHasIt(t *testing.T) {
	city := newCity(t)
	c := city.Client()
	defer c.Close()
	if err := city.Down(); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() { told <- c.Report(within(t), worker.Idle, worker.Detail{}) }()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Ack(short, worker.Ack{ID: "m", State: worker.Consumed}); err == nil {
		t.Error("a report without a receiver is a success")
	}
	if err := city.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-told; err != nil {
		t.Errorf("after the city was back: %v", err)
	}
	await(t, city, 1, "/lifecycle idle")
}

// TestAWorkerBeginsWithoutACity: while its city is being restarted, for however long, a worker
// that begins waits with its report and with its proof.
func TestAWorkerBeginsWithoutACity(t *testing.T) {
	city := newCity(t)
	c := city.Client()
	defer c.Close()
	there := c.Socket
	c.Socket = filepath.Join(t.TempDir(), "s")
	synctest.Test(t, func(t *testing.T) {
		defer c.Close()
		back := time.AfterFunc(20*time.Second, func() {
			if err := os.Symlink(there, c.Socket); err != nil {
				t.Error(err)
			}
		})
		defer back.Stop()
		if err := c.Prove(t.Context()); err != nil {
			t.Errorf("before the city was back: %v", err)
		}
		if err := c.Report(t.Context(), worker.Ready, worker.Detail{}); err != nil {
			t.Error(err)
		}
	})
	await(t, city, 1, "/authorize "+worker.Canary)
}

// TestAWorkerThatIsNotWantedEnds: it does not come again for ever.
func TestAWorkerThatIsNotWantedEnds(t *testing.T) {
	city := newCity(t)
	c := city.Client()
	c.Token = "another"
	defer c.Close()
	var last error
	for _, err := range c.Messages(within(t)) {
		last = err
	}
	if !errors.Is(last, worker.ErrUnauthorized) {
		t.Errorf("messages of a wrong token end with %v", last)
	}
	if err := c.Report(within(t), worker.Idle, worker.Detail{}); !errors.Is(err, worker.ErrUnauthorized) {
		t.Errorf("a report with a wrong token: %v", err)
	}
}

// TestANewTokenIsUsed: it is taken from the stream, acknowledged, and not shown.
func TestANewTokenIsUsed(t *testing.T) {
	tokens := make(chan string, 10)
	messages := []string{
		`id: 1` + "\n" + `event: identity` + "\n" + `data: {"seq":1,"id":"token-1","kind":"identity","data":{"run_id":"r","token":"new"}}` + "\n\n",
		`id: 2` + "\n" + `event: prompt` + "\n" + `data: {"seq":2,"id":"p","kind":"prompt","data":{"content":"x"}}` + "\n\n",
		"event: end\ndata: {}\n\n",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			for _, m := range messages {
				fmt.Fprint(w, m)
			}
			return
		}
		tokens <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	c := &worker.Client{URL: server.URL, Token: "old", RunID: "r"}
	defer c.Close()
	var kinds []worker.MessageKind
	for m, err := range c.Messages(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, m.Kind)
	}
	if got := <-tokens; got != "Bearer new" || len(kinds) != 1 || kinds[0] != worker.PromptMessage {
		t.Errorf("acknowledged with %q, yielded %v", got, kinds)
	}
	if shown := fmt.Sprintf("%v %+v", worker.Identity{Token: "canary"}, worker.Credentials{Value: "canary"}); strings.Contains(shown, "canary") {
		t.Errorf("a secret is shown: %s", shown)
	}
}

// TestEveryFaultIsANo: whatever happens to an authorization, it is not allowed, and the
// answer comes in time.
func TestEveryFaultIsANo(t *testing.T) {
	answer := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body) // the client may have gone
		}
	}
	yes := `{"allowed":true}`
	faults := map[string]http.HandlerFunc{
		"denied":                answer(200, "application/json", `{"allowed":false,"reason":"x"}`),
		"denied, without words": answer(200, "application/json", `{}`),
		"an unknown effect":     answer(200, "application/json", `{"allowed":true,"effect":"perhaps"}`),
		"an effect of deny":     answer(200, "application/json", `{"allowed":true,"effect":"deny"}`),
		"a text for a boolean":  answer(200, "application/json", `{"allowed":"true"}`),
		"garbage":               answer(200, "application/json", "\x00\xff"+yes),
		"half an answer":        answer(200, "application/json", yes[:len(yes)-2]),
		"two answers":           answer(200, "application/json", yes+yes),
		"a page":                answer(200, "text/html", "<html>"+yes),
		"nothing":               answer(200, "application/json", ""),
		"no content":            answer(204, "", ""),
		"a list":                answer(200, "application/json", "["+yes+"]"),
		"null":                  answer(200, "application/json", "null"),
		"forbidden":             answer(403, "application/json", yes),
		"a problem":             answer(410, "application/problem+json", `{"code":"fenced","status":410}`),
		"an odd problem":        answer(500, "application/problem+json", yes),
		"unavailable":           answer(503, "application/problem+json", `{"code":"unavailable","status":503}`),
		"sent elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/yes", http.StatusTemporaryRedirect)
		},
		"sent to a page": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/yes", http.StatusSeeOther) },
		"cut off":        func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"cut off within": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, yes) // as above
			panic(http.ErrAbortHandler)
		},
		"slow": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"slow within": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush() // as above
			<-r.Context().Done()
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.Handle("/authorize", drained(fault))
			mux.Handle("/yes", answer(200, "application/json", yes))
			server := httptest.NewServer(mux)
			defer server.Close()
			denied(t, &worker.Client{URL: server.URL, Token: "t", RunID: "r"})
		})
	}
	dir := t.TempDir()
	for name, path := range map[string]string{"no socket": filepath.Join(dir, "none"), "no folder": filepath.Join(dir, "no", "folder"), "a file": fileAt(t, dir), "a dead socket": deadSocket(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			denied(t, &worker.Client{Socket: path, Token: "t", RunID: "r"})
		})
	}
	t.Run("an input that is no JSON", func(t *testing.T) {
		c := newCity(t).Client()
		defer c.Close()
		if d, err := c.Authorize(within(t), worker.Call{Tool: "x", Input: []byte("{{{")}); d.Allowed || !errors.Is(err, worker.ErrInvalid) {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// drained reads the request first, so that a server notices that its client has gone.
func drained(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // as above
		next(w, r)
	})
}

func fileAt(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func deadSocket(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func denied(t *testing.T, c *worker.Client) {
	t.Helper()
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	d, err := c.Authorize(ctx, worker.Call{Tool: "Bash"})
	if d.Allowed || d.Reason == "" || d.Effect != worker.Deny {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestARestartIsNoDenial: an authorization that meets a city that is being restarted is
// asked again.
func TestARestartIsNoDenial(t *testing.T) {
	city := newCity(t)
	city.Decide = func(c worker.Call) worker.Decision { return worker.Decision{Allowed: c.Wait > 0} }
	if err := city.Down(); err != nil {
		t.Fatal(err)
	}
	c := city.Client()
	defer c.Close()
	decided := make(chan worker.Decision, 1)
	go func() {
		d, _ := c.Authorize(within(t), worker.Call{Tool: "Read"}) // the decision says it
		decided <- d
	}()
	if err := city.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := <-decided; !d.Allowed {
		t.Errorf("decided %+v", d)
	}
}
