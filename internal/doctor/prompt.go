package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity/internal/agent"
	"gascity/internal/agentcli"
	"gascity/internal/citydir"
	"gascity/internal/retry"
	"gascity/provider/all"
	"gascity/runtime"
)

// The maximum time for a test agent. On another host, gc's program or an image is copied first.
const (
	promptLimit       = 20 * time.Second
	promptLimitRemote = 3 * time.Minute
	pollInterval      = 25 * time.Millisecond
	echoReady         = "ready> "
)

// echoAgent is a shell script that answers each line that it reads.
const echoAgent = `printf 'ready> '; while IFS= read -r line; do printf 'answer: %s\nready> ' "$line"; done`

// prompt starts a test agent at each selected provider, in a temporary directory, and checks that
// it answers a prompt. It skips providers that need a protocol, routers, and providers that cannot
// be opened.
func (x *examination) prompt() {
	for _, selection := range x.selected {
		driver, _, err := all.Find(selection)
		if err != nil || driver.Protocol || driver.Route != nil || x.unopenable[selection] {
			continue
		}
		limit := promptLimit
		if driver.Where != all.WhereLocal {
			limit = promptLimitRemote
		}
		began := x.Loader.Now()
		ctx, cancel := context.WithTimeout(x.ctx, limit)
		err = x.tryPrompt(ctx, selection, driver.Where)
		cancel()
		if err != nil {
			x.problem("prompt."+selection, fmt.Sprintf("a test agent did not answer: %v", err), "gc provider check "+selection+" shows details")
			continue
		}
		x.ok("prompt."+selection, "a test agent accepted a prompt and answered within %v", x.Loader.Now().Sub(began).Round(time.Millisecond))
	}
}

// tryPrompt starts a test agent at a provider, sends it a prompt, and waits for the answer.
func (x *examination) tryPrompt(ctx context.Context, selection string, where all.Where) (err error) {
	dir, err := os.MkdirTemp(citydir.PublicTempDir, "gc-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the agent is stopped
	if selection, err = withPath(selection, x.root); err != nil {
		return err
	}
	providers := x.Loader.TrialConfig(x.root, dir)
	work := dir
	if where != all.WhereLocal {
		work = citydir.PublicTempDir // dir does not exist on the other host
		providers.Remote.ID = citydir.ID(filepath.Join(x.root, "doctor"))
	}
	p, err := x.Loader.OpenProvider(selection, providers)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, runtime.TeardownServer(p), all.Close(p)) }()
	name := "gc-doctor-" + strings.ToLower(rand.Text()[:8])
	cfg := runtime.Config{
		Command: echoAgent, WorkDir: work, ReadyPromptPrefix: echoReady, ProviderName: agentcli.Generic,
		Env: map[string]string{"GC_INSTANCE_TOKEN": agent.InstanceTokenPrefix + rand.Text()},
	}
	if !runtime.CapabilitiesFor(p, name).CanAttachTTY {
		cfg.Env["GC_STDIN"] = "lines"
	}
	if err := p.Start(ctx, name, cfg); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, p.Stop(name)) }()
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

// awaitText waits until the session shows the text. It returns an error with the screen if ctx ends
// first.
func awaitText(ctx context.Context, p runtime.Provider, name, text string) error {
	for {
		screen, err := p.Peek(name, 0)
		if err != nil {
			return err
		}
		if strings.Contains(screen, text) {
			return nil
		}
		if !retry.Sleep(ctx, pollInterval) {
			return fmt.Errorf("the test agent did not show its answer in time; its screen is:\n%s", screen)
		}
	}
}
