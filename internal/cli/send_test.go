package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
)

// answers is a controller that gives one answer after the other, the last one for
// ever, and remembers the keys that it was asked with. An answer is a receipt's id,
// or "" to break the connection, or the error to give.
type answers struct {
	list []any
	keys []string
}

func (a *answers) dial(context.Context) (net.Conn, error) {
	next := a.list[0]
	if len(a.list) > 1 {
		a.list = a.list[1:]
	}
	if err, failed := next.(error); failed && errors.Is(err, client.ErrNoController) {
		return nil, &client.NoControllerError{City: "/town"}
	}
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		req, err := http.ReadRequest(bufio.NewReader(theirs))
		if err != nil {
			return
		}
		var asked client.NudgeRequest
		if req.Method == http.MethodPost {
			if err := json.NewDecoder(req.Body).Decode(&asked); err != nil {
				return
			}
			a.keys = append(a.keys, asked.Key)
		}
		if next == "" {
			return
		}
		status, value := http.StatusOK, any(client.Receipt{ID: fmt.Sprint(next)})
		if err, failed := next.(error); failed {
			p := client.ProblemOf(err)
			status, value = p.Status, p
		}
		body, _ := json.Marshal(value) // it always can
		_, _ = fmt.Fprintf(theirs, "HTTP/1.1 %d x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
		_, _ = io.Copy(io.Discard, theirs)
	}()
	return ours, nil
}

// TestAPromptSurvivesAHandover: the controller ends, is away, and the next one
// answers; and a lasting failure is reported soon.
func TestAPromptSurvivesAHandover(t *testing.T) {
	busy := fmt.Errorf("%w: the controller ends", client.ErrUnavailable)
	for name, test := range map[string]struct {
		list  []any
		want  error
		words string
		asks  int // at least
		limit time.Duration
	}{
		"at once":               {[]any{"r1"}, nil, "", 1, 0},
		"handover":              {[]any{busy, busy, client.ErrNoController, client.ErrNoController, "r1"}, nil, "", 3, time.Second},
		"killed":                {[]any{"", client.ErrNoController, busy, "r1"}, nil, "", 3, time.Second},
		"never any":             {[]any{client.ErrNoController}, client.ErrNoController, "", 0, 0},
		"ends for good":         {[]any{busy, client.ErrNoController}, client.ErrTimeout, "--key k", 1, saveTimeout},
		"its store is broken":   {[]any{busy}, client.ErrUnavailable, "the controller ends", 20, saveTimeout},
		"killed, then broken":   {[]any{"", busy}, client.ErrTimeout, "--key k", 20, sendTimeout},
		"refused by the second": {[]any{busy, fmt.Errorf("%w: it is suspended", client.ErrRefused)}, client.ErrRefused, "suspended", 2, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{list: test.list}
				c := &client.Client{Root: "/town", Dial: a.dial}
				defer c.Close()
				began := time.Now()
				r, err := sendPrompt(t.Context(), c, "a", client.NudgeRequest{Text: "x", Key: "k"})
				took := time.Since(began)
				switch {
				case test.want == nil && (err != nil || r.ID != "r1"):
					t.Errorf("the receipt is %q, %v", r.ID, err)
				case test.want != nil && (!errors.Is(err, test.want) || !strings.Contains(err.Error(), test.words)):
					t.Errorf("it failed with %v, want %v with %q", err, test.want, test.words)
				}
				if took > test.limit {
					t.Errorf("it took %v, want at most %v", took, test.limit)
				}
				if len(a.keys) < test.asks || strings.Trim(strings.Join(a.keys, ""), "k") != "" {
					t.Errorf("it was asked with the keys %q, want k %d times", a.keys, test.asks)
				}
			})
		})
	}
}

// TestAWaitSurvivesAHandover has the controller that ends answer once more before it is away.
func TestAWaitSurvivesAHandover(t *testing.T) {
	busy := fmt.Errorf("%w: the controller ends", client.ErrUnavailable)
	for name, list := range map[string][]any{
		"at once":               {"w1"},
		"handover":              {busy, client.ErrNoController, "status", "w1"},
		"answers while it ends": {busy, "status", client.ErrNoController, client.ErrNoController, "status", "w1"},
		"killed":                {"", client.ErrNoController, "status", "w1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &client.Client{Root: "/town", Dial: (&answers{list: list}).dial}
				defer c.Close()
				w, err := awaitCondition(t.Context(), c, client.WaitRequest{Target: "a", For: client.WaitIdle})
				if err != nil || w.ID != "w1" {
					t.Errorf("the wait is %q, %v", w.ID, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := &client.Client{Root: "/town", Dial: (&answers{list: []any{client.ErrNoController}}).dial}
		defer c.Close()
		if _, err := awaitCondition(t.Context(), c, client.WaitRequest{Target: "a", For: client.WaitIdle}); !errors.Is(err, client.ErrNoController) {
			t.Errorf("without a controller it is %v", err)
		}
	})
}
