package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/retry"
	"gascity/internal/textfmt"
)

// smokeCity is the temporary city.
type smokeCity struct {
	Root   string // an empty, private directory; the caller removes it
	TOML   []byte
	Agents []string
	// Run runs the city's controller. It calls ready when the controller answers, and returns after
	// a request to stop the city or the end of ctx.
	Run func(ctx context.Context, root string, ready func()) error
	// Timeout is the maximum time for an agent to start and to answer.
	Timeout time.Duration
	Version string // of gc
}

// smokeResult is the result of the question to one agent.
type smokeResult struct {
	Agent string
	Took  time.Duration // time until the answer, including the agent's start
	Err   error         // nil: the answer was correct
}

// errLeftovers reports that processes of the temporary city may still run.
var errLeftovers = errors.New("processes that this check started may still run")

// smokeStopTimeout is the maximum time for the stop of the city, which also follows the end of ctx.
const smokeStopTimeout = 30 * time.Second

// smokePollInterval is the time between two reads of a screen.
const smokePollInterval = 100 * time.Millisecond

// runSmokeTest runs the city, asks all its agents at the same time, reports each result, and stops
// the city. It calls report from one goroutine at a time. It returns an error if the city could not
// be run, or [errLeftovers] if it could not be stopped.
func runSmokeTest(ctx context.Context, c smokeCity, report func(smokeResult)) error {
	if err := os.WriteFile(filepath.Join(c.Root, client.CityFile), c.TOML, 0o600); err != nil {
		return fmt.Errorf("cannot create the city of the check: %w", err)
	}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- c.Run(running, c.Root, sync.OnceFunc(func() { close(ready) })) }()
	select {
	case err := <-ended:
		return fmt.Errorf("the city of the check did not start: %w", err)
	case <-ctx.Done(): // no agent has started yet
		end()
		return errors.Join(context.Cause(ctx), <-ended)
	case <-ready:
	}
	api := &client.Client{Root: c.Root, Version: c.Version}
	defer api.Close()
	askAgents(ctx, c, api, report)
	patient, cancel := context.WithTimeout(running, smokeStopTimeout)
	defer cancel()
	census, err := api.StopCity(patient)
	if err == nil && !census.Clean {
		err = errors.New("some of its processes could not be stopped")
	}
	if err != nil {
		end() // cancel the controller, which did not stop
		return errors.Join(fmt.Errorf("%w in %s: %w", errLeftovers, c.Root, err), <-ended)
	}
	return <-ended
}

// askAgents asks all agents at the same time and reports each result.
func askAgents(ctx context.Context, c smokeCity, api *client.Client, report func(smokeResult)) {
	var wait sync.WaitGroup
	var reporting sync.Mutex
	for _, name := range c.Agents {
		wait.Go(func() {
			patient, cancel := context.WithTimeout(ctx, c.Timeout)
			defer cancel()
			took, err := askAgent(patient, api, name)
			reporting.Lock()
			defer reporting.Unlock()
			report(smokeResult{Agent: name, Took: took, Err: err})
		})
	}
	wait.Wait()
}

// newQuestion returns a question and its answer. The question does not contain the answer.
func newQuestion() (question, answer string) {
	one, other := strings.ToLower(rand.Text()[:6]), strings.ToLower(rand.Text()[:6])
	return fmt.Sprintf("Reply with the words %s and %s joined by a plus sign, without spaces, and nothing else.", one, other), one + "+" + other
}

// askAgent sends one agent the question and waits until it shows the answer, fails, or ctx
// ends. It returns the time that the agent needed.
func askAgent(ctx context.Context, api *client.Client, name string) (time.Duration, error) {
	question, answer := newQuestion()
	began := time.Now()
	r, err := api.Nudge(ctx, name, client.NudgeRequest{Text: question})
	if err != nil {
		return 0, err
	}
	var screen string
	for {
		if out, err := api.Peek(ctx, name, 0); err == nil {
			screen = out.Text
		}
		if strings.Contains(screen, answer) {
			return time.Since(began), nil
		}
		if why := failureReason(ctx, api, name); why != "" {
			return 0, answerError(why, screen)
		}
		if !retry.Sleep(ctx, smokePollInterval) {
			return 0, answerError(timeoutReason(ctx, api, name, r.ID), screen)
		}
	}
}

// failureReason returns why an agent cannot answer any more; empty: it still may.
func failureReason(ctx context.Context, api *client.Client, name string) string {
	status, err := api.Status(ctx)
	if err != nil {
		return ""
	}
	for _, a := range status.Agents {
		if a.Name == name && (a.State == client.StateFailed || a.State == client.StateQuarantined || a.State == client.StateLost) {
			return a.Reason
		}
	}
	return ""
}

// timeoutReason returns the state of an agent that did not answer before ctx ended.
func timeoutReason(ctx context.Context, api *client.Client, name, receipt string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	why := []string{"it did not answer in time"}
	if r, err := api.Receipt(ctx, receipt, ""); err == nil {
		why = append(why, r.Reason)
	}
	if status, err := api.Status(ctx); err == nil {
		for _, a := range status.Agents {
			if a.Name == name {
				why = append(why, "it is "+textfmt.Join(a.State, a.Activity.State))
			}
		}
	}
	return textfmt.Join(why...)
}

// answerError returns the error of an agent that did not answer, with the end of its screen.
func answerError(why, screen string) error {
	lines := strings.Split(strings.TrimSpace(screen), "\n")
	screen = strings.Join(lines[max(0, len(lines)-shownLines):], "\n")
	if screen == "" {
		return errors.New(why)
	}
	return fmt.Errorf("%s; it shows:\n%s", why, screen)
}

// shownLines is the number of lines of a screen in the error.
const shownLines = 12
