package daemon

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/premises"
	"gascity/internal/proc"
	"gascity/provider/all"
	"gascity/runtime"
)

// leftovers looks for sessions that nobody asked for, corpses, and processes of
// the city's agents that belong to no session.
func (x *examination) leftovers() {
	if x.control || x.r.city == nil {
		return // the controller deals with them
	}
	wanted := map[string]bool{}
	for i := range x.r.desired.Sessions {
		s := &x.r.desired.Sessions[i]
		wanted[s.Name] = !s.Suspended
	}
	var found []string
	tokens := map[string]bool{}
	for _, selection := range x.places() {
		for name, token := range x.sessions(selection) {
			tokens[token] = true
			if !wanted[name] {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	if len(found) > 0 {
		x.problem("sessions", "these run although nothing asks for them: "+strings.Join(found, ", "), "gc start ends them; gc stop ends everything")
	}
	orphans := x.orphans(tokens)
	if len(orphans) > 0 {
		x.problem("processes", fmt.Sprintf("these processes of former agents run without a session: %v", orphans), "look at them with ps; end them with kill")
	}
	if len(found)+len(orphans) == 0 {
		x.ok("sessions", "nothing is left over")
	}
}

// places are the providers that the city selects, and those where it may have left
// something.
func (x *examination) places() []string {
	used, err := usedSelections(x.root)
	if err != nil {
		x.warn("sessions", err.Error(), "make .gc readable for this user")
	}
	places := slices.Concat(x.selected, used)
	slices.Sort(places)
	return slices.Compact(places)
}

// sessions returns the instance tokens of what runs under a provider, by name.
func (x *examination) sessions(selection string) map[string]string {
	tokens := map[string]string{}
	p, err := x.open(x.root, selection, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil // the provider's finding says it
	}
	names, err := p.ListRunning("")
	if err != nil {
		x.problem("sessions", fmt.Sprintf("the sessions of %s cannot be listed: %v", selection, err), "look at .gc/log")
	}
	for _, name := range names {
		tokens[name] = ""
		if obs, err := runtime.Observe(x.ctx, p, name); err == nil {
			tokens[name] = obs.InstanceToken
		}
	}
	if err := all.Close(p); err != nil {
		x.warn("sessions", err.Error(), "")
	}
	return tokens
}

// orphans returns the processes that were started by an agent of this city whose
// session is not there any more. What this program itself descends from is
// none: it may have been called by an agent.
func (x *examination) orphans(tokens map[string]bool) []int {
	matches, err := proc.FindByEnv("GC_CITY_PATH", x.root)
	if err != nil && len(matches) == 0 {
		return nil
	}
	mine := ancestors()
	var out []int
	for _, m := range matches {
		token, ok, err := proc.EnvValue(m.PID, "GC_INSTANCE_TOKEN")
		if err == nil && ok && !tokens[token] && !mine[m.PID] {
			out = append(out, m.PID)
		}
	}
	slices.Sort(out)
	return out
}

func ancestors() map[int]bool {
	mine := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !mine[pid]; {
		mine[pid] = true
		info, err := proc.Stat(pid)
		if err != nil {
			break
		}
		pid = info.PPID
	}
	return mine
}

const (
	promptLimit = 20 * time.Second
	lookPause   = 25 * time.Millisecond
	echoReady   = "ready> "
)

// echoAgent answers each line that it gets.
const echoAgent = `printf 'ready> '; while IFS= read -r line; do printf 'answer: %s\nready> ' "$line"; done`

// prompt is the last check: a real agent on the default provider takes a prompt
// and answers, in a place of its own.
func (x *examination) prompt() {
	ctx, cancel := context.WithTimeout(x.ctx, promptLimit)
	defer cancel()
	selection := all.Drivers()[0].Name
	began := x.opts.Now()
	if err := x.tryPrompt(ctx, selection); err != nil {
		x.problem("prompt", fmt.Sprintf("a test agent on %s did not answer: %v", selection, err), "the checks above say what is missing; gc provider check "+selection+" says more")
		return
	}
	x.ok("prompt", "a test agent on %s took a prompt and answered within %v", selection, x.opts.Now().Sub(began).Round(time.Millisecond))
}

func (x *examination) tryPrompt(ctx context.Context, selection string) (err error) {
	dir, err := os.MkdirTemp(premises.PublicPlace, "gc-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the agent is stopped
	p, err := all.Open(selection, x.providerConfig(dir, filepath.Join(dir, "s"), slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	defer func() {
		if closed := all.Close(p); err == nil {
			err = closed
		}
	}()
	const name = "gc-doctor"
	cfg := runtime.Config{
		Command: echoAgent, WorkDir: dir, ReadyPromptPrefix: echoReady, ProviderName: agentcli.Generic,
		Env: map[string]string{"GC_INSTANCE_TOKEN": rand.Text()},
	}
	if err := p.Start(ctx, name, cfg); err != nil {
		return err
	}
	defer func() {
		if stopped := p.Stop(name); err == nil {
			err = stopped
		}
	}()
	word := "doctor-" + rand.Text()
	out, err := runtime.Deliver(ctx, p, name, runtime.Delivery{Content: runtime.TextContent(word), Confirm: promptLimit / 2})
	if err != nil {
		return err
	}
	if out.State != runtime.OutcomeSubmitted && out.State != runtime.OutcomeUnconfirmed {
		return fmt.Errorf("the prompt was %s: %s %s", out.State, out.Reason, out.Detail)
	}
	return awaitText(ctx, p, name, "answer: "+word)
}

// awaitText returns nil once the session shows the text.
func awaitText(ctx context.Context, p runtime.Provider, name, text string) error {
	looks := time.NewTicker(lookPause)
	defer looks.Stop()
	for {
		screen, err := p.Peek(name, 0)
		if err != nil {
			return err
		}
		if strings.Contains(screen, text) {
			return nil
		}
		select {
		case <-looks.C:
		case <-ctx.Done():
			return fmt.Errorf("it did not show its answer within %v; its screen is:\n%s", promptLimit, screen)
		}
	}
}
