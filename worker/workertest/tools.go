package workertest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"gascity/worker"
)

// toolPrompt returns the prompt that makes the worker use a tool, or other if there is none.
func (r *run) toolPrompt(other string) string {
	if r.options.ToolPrompt == "" {
		return other
	}
	return strings.ReplaceAll(r.options.ToolPrompt, FileMark, r.file)
}

func (r *run) showsUse() bool { return strings.Contains(r.options.ToolPrompt, FileMark) }

// unused checks that no tool was used: the file does not exist, and no use is reported.
func (r *run) unused() error {
	switch _, err := os.Stat(r.file); {
	case err == nil:
		return errors.New("the worker used the tool: the file that the tool writes exists")
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	for _, w := range r.Words() {
		events, _ := w.Body["events"].([]any) // a value of another type has none
		for _, e := range events {
			event, _ := e.(map[string]any)            // as above
			calls, _ := event["tools_called"].([]any) // as above
			for _, c := range calls {
				if call, _ := c.(map[string]any); call["success"] == true { // as above
					return fmt.Errorf("the worker reports that it used the tool: %v", call)
				}
			}
		}
	}
	return nil
}

// canary tests the rule "canary": the worker asks for the canary tool before its first turn, which
// proves that it asks.
func canary(r *run) error {
	if err := r.turn("p1", "one"); err != nil {
		return err
	}
	for _, w := range r.Words() {
		switch {
		case countWords([]Word{w}, "/authorize "+worker.Canary) > 0:
			return nil
		case countWords([]Word{w}, "/lifecycle busy") > 0:
			return fmt.Errorf("the worker begins a turn before it has asked for the tool %s: a city with a guard sends it no prompts", worker.Canary)
		}
	}
	return errors.New("the worker never reported busy")
}

// asks tests the rule "asks": the worker asks before it uses a tool, between busy and idle.
func asks(r *run) error {
	if err := r.turn("p1", r.toolPrompt("")); err != nil {
		return err
	}
	asked, busy := false, false
	for _, w := range r.Words() {
		switch {
		case w.Path == "/lifecycle":
			busy = w.text("event") == string(worker.Busy)
		case w.Path != "/authorize" || w.text("tool") == worker.Canary:
		case w.text("tool") == "" || w.Body["input"] == nil:
			return fmt.Errorf("the worker's request to /authorize has no tool or no input: %v", w.Body)
		case !busy:
			return fmt.Errorf("the worker asks whether it may use a tool, outside of a turn: %v", w)
		default:
			asked = true
		}
	}
	if !asked {
		return fmt.Errorf("the worker does not ask before it uses a tool; its requests: %v", r.Words())
	}
	return nil
}

// denied tests the rule "denied": the worker does not use a denied tool, and the turn ends.
func denied(r *run) error {
	for _, id := range []string{"p1", "p2"} {
		if err := r.turn(id, r.toolPrompt("")); err != nil {
			return err
		}
	}
	return r.unused()
}

// allowed tests the rule "allowed": the worker uses an allowed tool.
func allowed(r *run) error {
	if !r.showsUse() {
		return skip("the tool prompt must contain " + FileMark + ", which shows whether the tool was used")
	}
	r.Allow()
	if err := r.turn("p1", r.toolPrompt("")); err != nil {
		return err
	}
	if _, err := os.Stat(r.file); err != nil {
		return fmt.Errorf("the worker did not use an allowed tool: %w", err)
	}
	return nil
}

// failsClosed tests the rule "fails-closed": if the city does not answer or sends garbage, the worker
// uses no tool, and the turn ends.
func failsClosed(r *run) error {
	if err := r.awaitAll("/lifecycle ready"); err != nil {
		return err
	}
	r.Allow() // if the fault does not apply, the tool is used and the case fails
	for i, fault := range []Fault{Broken, Failing, Garbled} {
		r.Fail("/authorize", fault)
		if err := r.turn(fmt.Sprint("p", i), r.toolPrompt("")); err != nil {
			return fmt.Errorf("%s: %w", [...]string{"after a broken connection", "after an internal error of the city", "after an answer of garbage"}[i], err)
		}
		if err := r.unused(); err != nil {
			return err
		}
	}
	r.Fail("/authorize", nil)
	return r.turn("p9", "one")
}
