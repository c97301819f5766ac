package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/citydir"
)

// answerLimit is the maximum time for an agent CLI to start and to answer.
const answerLimit = 3 * time.Minute

// AskCLIs asks each agent CLI a question in a temporary city and reports whether it answers.
func (d *Doctor) AskCLIs(ctx context.Context, root string, report func(client.Finding)) error {
	x := &examination{Doctor: d, ctx: ctx, root: root, report: report}
	x.answers()
	return context.Cause(ctx)
}

// answers asks all agent CLIs their question in a temporary city, and removes the city.
func (x *examination) answers() {
	text, names, err := x.smokeConfig()
	if err != nil {
		x.problem("answer", err.Error(), "")
		return
	}
	if len(names) == 0 {
		x.warn("answer", "there is no agent CLI to ask", "install one; gc agent-cli list shows those that gc knows")
		return
	}
	dir, err := os.MkdirTemp(x.home(), ".gc-doctor-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		x.problem("answer", "cannot create a folder for the check: "+err.Error(), "make "+x.home()+" writable")
		return
	}
	err = runSmokeTest(x.ctx, smokeCity{
		Root: dir, TOML: text, Agents: names, Timeout: answerLimit, Version: x.Version,
		Run: x.RunController,
	}, x.reportAnswer)
	switch {
	case errors.Is(err, errLeftovers):
		x.problem("answer", err.Error(), "gc stop --city "+dir)
		return
	case x.ctx.Err() != nil: // the caller no longer waits
	case err != nil: // keep the folder for its logs
		x.problem("answer", err.Error(), "look at "+filepath.Join(dir, citydir.StateFolder, citydir.LogFolder))
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		x.warn("answer", err.Error(), "remove "+dir)
	}
}

// reportAnswer reports the result of one agent CLI.
func (x *examination) reportAnswer(a smokeResult) {
	if a.Err != nil {
		x.problem("answer."+a.Agent, a.Err.Error(), "start it by hand as this user and check whether it answers")
		return
	}
	x.ok("answer."+a.Agent, "it started and answered a question within %v", a.Took.Round(100*time.Millisecond))
}

// smokeConfig returns a city.toml for a temporary city, and the names of its agents: one for each agent CLI that the user's
// city uses or, without a city, that is installed.
func (x *examination) smokeConfig() (text []byte, names []string, err error) {
	if x.root != "" {
		path := filepath.Join(x.root, client.CityFile)
		if text, err = os.ReadFile(path); err != nil {
			return nil, nil, fmt.Errorf("cannot read which agent CLIs the city uses: %w", err)
		}
		return copySmokeConfig(text, x.root)
	}
	names = x.Loader.Machine().Names(x.ctx, agentcli.Builtin())
	if len(names) == 0 {
		return nil, nil, nil
	}
	text, err = newSmokeConfig(names)
	return text, names, err
}

// home returns the parent directory of the temporary city. It is the user's home directory, because
// some agent CLIs ignore hooks below a directory that other users can write to.
func (x *examination) home() string {
	return cmp.Or(x.Loader.Environ.Get("HOME"), citydir.PublicTempDir)
}
