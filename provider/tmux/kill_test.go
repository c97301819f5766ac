package tmux_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/provider/tmux"
	"gascity/runtime"
)

// delivererMain delivers the text in a file, in a separate process.
func delivererMain(dir, name, id, file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 1
	}
	p, err := tmux.Open(config(dir))
	if err != nil {
		return 1
	}
	if _, err = p.Deliver(context.Background(), name, runtime.Delivery{ID: id, Content: runtime.TextContent(string(text))}); err != nil { //nolint:forbidigo // this is a main
		return 1
	}
	return 0
}

// kill has another process deliver the text and kills it at a random moment.
func (a *agent) kill(id, text string) {
	a.t.Helper()
	file := filepath.Join(a.dir, a.name+".text")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		a.t.Fatal(err)
	}
	cmd := exec.Command(self, "deliver", a.dir, a.name, id, file) // it is killed
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	<-time.After(time.Duration(10+rand.IntN(250)) * time.Millisecond)
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // killed
}

// recovers determines the outcome as the next deliverer does, and delivers again if that is allowed. It returns
// the outcome of the prompt.
func (a *agent) recovers(id, text string) runtime.OutcomeState {
	a.t.Helper()
	d := runtime.Delivery{ID: id, Content: runtime.TextContent(text)}
	out, err := runtime.Settle(a.t.Context(), a.Provider, a.name, d)
	if err != nil {
		a.t.Fatal(err)
	}
	for end := time.Now().Add(2 * limit); out.State == runtime.OutcomeRefused && time.Now().Before(end); {
		if out, err = a.Deliver(a.t.Context(), a.name, d); err != nil {
			a.t.Fatal(err)
		}
		if out.State == runtime.OutcomeUnconfirmed {
			if out, err = runtime.Settle(a.t.Context(), a.Provider, a.name, d); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	if out.State != runtime.OutcomeSubmitted {
		a.t.Logf("%s of %d bytes: %+v", id, len(text), out)
	}
	return out.State
}

// textsOf returns texts of several sizes, by name.
func textsOf(name string) []string {
	lines := strings.Repeat("a line of a long prompt, 0123456789\n", 10_000)
	var texts []string
	for _, n := range []int{20, 300, 5_000, 60_000} {
		texts = append(texts, name+" "+strings.ReplaceAll(lines, "\n", " ")[:n]+"$")
	}
	return append(texts, name+"\nof three\nlines", name+"\n"+lines[:2_000]+"$")
}

// Processes that deliver are killed at random moments. No prompt is lost, repeated, cut or joined with another
// one, and the next deliverer knows the outcome of each.
func TestDelivererIsKilled(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]string{"good": "--think 5ms", "slow": "--think 5ms --slow-read 20ms", "ignores the first Enter": "--think 5ms --ignore-first-enter"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTestCity(t).start("s", "", flags)
			var sent []string
			for n := range 10 {
				texts := textsOf(fmt.Sprintf("<killed %d>", n))
				text, id := texts[n%len(texts)], fmt.Sprint(n)
				if name == "slow" && len(text) > 10_000 {
					text = texts[0]
				}
				a.kill(id, text)
				if state := a.recovers(id, text); state != runtime.OutcomeSubmitted {
					t.Errorf("%d is %s", n, state)
				}
				sent = append(sent, text)
			}
			a.wantPrompts(sent...)
		})
	}
}
