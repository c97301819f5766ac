package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// recorder is a handler that remembers.
type recorder struct {
	mu    sync.Mutex
	notes []string
	stray []string
	ended chan string
}

func (r *recorder) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case "echo":
		return params, nil
	case "wait":
		<-ctx.Done()
		r.ended <- "cancelled"
		return nil, &Error{Code: CodeCancelled, Message: "cancelled"}
	}
	return nil, MethodNotFound(method)
}

func (r *recorder) Notification(method string, _ json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, method)
}

func (r *recorder) Stray(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stray = append(r.stray, line)
}

// wire is a connection whose other end is the test.
type wire struct {
	*Conn
	*recorder
	in  *io.PipeWriter
	out *lineReader
}

func connect(t *testing.T) *wire {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	r := &recorder{ended: make(chan string, 1)}
	w := &wire{NewConn(inR, outW, r), r, inW, newLineReader(outR, MaxLine)}
	served := make(chan error, 1)
	go func() { served <- w.Serve(t.Context()) }()
	t.Cleanup(func() {
		if err := errors.Join(inW.Close(), outR.Close()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *wire) writeLines(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(w.in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *wire) readLine(t *testing.T) string {
	t.Helper()
	line, err := w.out.next()
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// TestAnswersKeepTheirIDs checks that an answer has the ID of its request, as a number or a string.
func TestAnswersKeepTheirIDs(t *testing.T) {
	w := connect(t)
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"a-1","method":"echo","params":{"x":1}}`: `{"jsonrpc":"2.0","id":"a-1","result":{"x":1}}`,
		`{"id":7,"method":"echo","params":[2],"future":true}`:           `{"jsonrpc":"2.0","id":7,"result":[2]}`,
		`{"id":8,"method":"nothing"}`:                                   `{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"method not found: nothing"}}`,
		`[{"id":9,"method":"echo","params":3}]`:                         `{"jsonrpc":"2.0","id":9,"result":3}`,
	} {
		w.writeLines(t, in)
		if got := w.readLine(t); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// TestCallsGetTheirAnswers checks that each call gets its own answer, also if the answers arrive in
// another order.
func TestCallsGetTheirAnswers(t *testing.T) {
	w := connect(t)
	type result struct{ X int }
	got := make(chan error, 2)
	for range 2 {
		go func() {
			var r result
			err := w.Call(t.Context(), "m", struct{}{}, &r)
			if err == nil && r.X != 5 {
				err = errors.New("another result")
			}
			got <- err
		}()
	}
	w.readLine(t)
	w.readLine(t)
	w.writeLines(t, "not json", `{"method":"note"}`, `{"id":"1","result":{"x":5}}`, `{"id":77,"result":1}`, `{"id":2,"error":{"code":-32603,"message":"Internal error","data":{"d":1}}}`)
	first, second := <-got, <-got
	if (first == nil) == (second == nil) || !IsCode(errors.Join(first, second), CodeInternal) {
		t.Errorf("%v, %v, want one result and one error", first, second)
	}
	if len(w.notes) != 1 || len(w.stray) != 1 || w.stray[0] != "not json" {
		t.Errorf("notes %q, stray %q", w.notes, w.stray)
	}
}

// TestCancelledRequestEnds checks that the context of a request ends when the peer cancels it.
func TestCancelledRequestEnds(t *testing.T) {
	w := connect(t)
	w.writeLines(t, `{"id":"x","method":"wait"}`, `{"method":"$/cancel_request","params":{"requestId":"x"}}`)
	if got := w.readLine(t); !strings.Contains(got, "-32800") {
		t.Errorf("got %s", got)
	}
	<-w.recorder.ended
}

// TestEndFailsCalls checks that calls without an answer fail when the connection ends.
func TestEndFailsCalls(t *testing.T) {
	w := connect(t)
	heard := make(chan error, 1)
	go func() {
		_, err := w.out.next()
		heard <- err
	}()
	p, err := w.Start("m", nil)
	if err := errors.Join(err, <-heard); err != nil {
		t.Fatal(err)
	}
	if err := w.in.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Answered():
	case <-time.After(10 * time.Second):
		t.Fatal("the call did not end")
	}
	if err := p.Result(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := w.Start("m", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a call afterwards: %v", err)
	}
}

// TestLines checks the handling of empty, invalid, long and last lines.
func TestLines(t *testing.T) {
	in := newLineReader(strings.NewReader("ab\r\n"+strings.Repeat("x", 200<<10)+"\n\ncd"), 100<<10)
	var got []string
	for {
		line, err := in.next()
		if long, ok := errors.AsType[*LongLineError](err); ok {
			got = append(got, long.Begin[:2]+"...")
			if long.Bytes != 200<<10 {
				t.Errorf("%d bytes", long.Bytes)
			}
			continue
		}
		if err != nil {
			break
		}
		got = append(got, string(line))
	}
	if want := "ab|xx...||cd"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

// TestPermissionOptions checks how options of permission requests are decoded.
func TestPermissionOptions(t *testing.T) {
	var p PermissionParams
	raw := `{"sessionId":"s","toolCall":{"title":"T","content":[{"type":"content","content":{"type":"text","text":"x"}},5]},"options":[7,{"name":"n"},{"optionId":"a","kind":"allow_always","name":"A"},{"optionId":"b","kind":"allow_once","name":"B"}]}`
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		t.Fatal(err)
	}
	if o, ok := OptionOfKind(p.Options, AllowOnce); len(p.Options) != 2 || !ok || o.ID != "b" || p.Tool.Texts[0] != "x" {
		t.Errorf("%+v", p)
	}
	if _, ok := OptionOfKind(p.Options, RejectOnce); ok {
		t.Error("an option of a kind that is not there")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, `[{"id":"x","result":null}]`, `{"id":null,"error":{"code":1}}`, "{", "[]", "null", `{"method":"session/update","params":{"update":{"sessionUpdate":"plan","entries":7}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		all, err := parse(line)
		if err != nil {
			return
		}
		for _, m := range all {
			again, err := encode(m)
			if err != nil {
				t.Fatalf("%q cannot be written: %v", line, err)
			}
			if _, err := parse(again); err != nil {
				t.Fatalf("%q became %q: %v", line, again, err)
			}
			var u UpdateParams
			_ = json.Unmarshal(m.Params, &u) // must not panic
			var p PermissionParams
			_ = json.Unmarshal(m.Params, &p)
		}
	})
}
