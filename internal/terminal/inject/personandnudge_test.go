package inject

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
	"gascity/test/terminal"
)

// TestTypistAndNudges lets a person type with random timing into the input box
// that nudges go to. Our Enter never submits a byte of theirs, no byte of theirs
// is lost, and no prompt is taken twice.
func TestTypistAndNudges(t *testing.T) {
	for _, style := range []string{"rules", "open", "line"} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/%d", style, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { typistRound(t, style, rand.New(rand.NewPCG(seed, 1))) })
			})
		}
	}
}

func typistRound(t *testing.T, style string, random *rand.Rand) {
	pause := func(limit time.Duration) { time.Sleep(time.Duration(random.Int64N(int64(limit)))) }
	f := terminal.Face{Style: style, Echo: 30 * time.Millisecond}
	agent := terminal.NewAgent(f)
	var ours, theirs []string // what each Enter submitted
	var input sync.Mutex
	program := agent.T.Program
	deliver := func(p []byte, person bool) {
		input.Lock()
		defer input.Unlock()
		program(p)
		for _, text := range agent.DrainPrompts() {
			if person {
				theirs = append(theirs, text)
			} else {
				ours = append(ours, text)
			}
		}
	}
	agent.T.Program = func(p []byte) { deliver(p, false) }
	var typed []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 8 {
			pause(8 * time.Second)
			line := fmt.Sprintf("human%02d", n)
			for key := range strings.SplitSeq(line, "") {
				agent.T.Set(func(fr *screen.Frame) { fr.LastHuman, fr.Attached = time.Now(), 1 })
				deliver([]byte(key), true)
				pause(300 * time.Millisecond)
			}
			agent.T.Set(func(fr *screen.Frame) { fr.LastHuman = time.Now() })
			deliver([]byte("\r"), true)
			typed = append(typed, line)
		}
	}()
	prompts := nudgeUntil(t, agent, f.Rules(t), done)
	all := regexp.MustCompile(`<nudge\d+>`).ReplaceAllString(strings.Join(theirs, ""), "")
	for _, line := range typed {
		if strings.Count(all, line) != 1 {
			t.Errorf("%s, as typed, is not in %q", line, theirs)
		}
	}
	for _, text := range ours {
		if !slices.Contains(prompts, text) {
			t.Errorf("our Enter submitted %q", text)
		}
	}
	slices.Sort(ours)
	if len(slices.Compact(slices.Clone(ours))) != len(ours) {
		t.Errorf("a prompt was taken twice: %q", ours)
	}
	time.Sleep(10 * time.Second)
}

// nudgeUntil delivers prompts, each until it is no longer refused.
func nudgeUntil(t *testing.T, agent *terminal.Agent, rules screen.Rules, done <-chan struct{}) (prompts []string) {
	submitted := 0
	for n := 0; ; n++ {
		text := fmt.Sprintf("<nudge%03d>", n)
		prompts = append(prompts, text)
		for {
			select {
			case <-done:
				if submitted == 0 {
					t.Error("no nudge got through")
				}
				return prompts
			case <-time.After(100 * time.Millisecond):
			}
			got, err := Type(t.Context(), agent.T, Prompt{Text: text, Confirm: time.Second}, rules)
			if err != nil {
				t.Error(err)
				return prompts
			}
			if got.State == runtime.OutcomeSubmitted {
				submitted++
			}
			if got.State != runtime.OutcomeRefused {
				break
			}
		}
	}
}
