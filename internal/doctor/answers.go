package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/citydir"
	"gascity/internal/doctor/smoketest"
)

// answerLimit is how long an agent CLI may take to start and to answer.
const answerLimit = 3 * time.Minute

// AskCLIs has each agent CLI answer a question, in a city that is made for it.
func (d *Doctor) AskCLIs(ctx context.Context, root string, report func(Finding)) error {
	x := &examination{Doctor: d, ctx: ctx, root: root, report: report}
	x.answers()
	return context.Cause(ctx)
}

func (x *examination) answers() {
	text, names, err := x.trialCity()
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
		x.problem("answer", "cannot make a folder for the trial: "+err.Error(), "make "+x.home()+" writable")
		return
	}
	err = smoketest.RunTrial(x.ctx, smoketest.City{
		Root: dir, TOML: text, Agents: names, Timeout: answerLimit, Version: x.Version,
		Run: x.RunController,
	}, x.answer)
	switch {
	case errors.Is(err, smoketest.ErrLeftovers):
		x.problem("answer", err.Error(), "gc stop --city "+dir)
		return
	case x.ctx.Err() != nil: // the caller does not wait for it any more
	case err != nil: // the folder says more
		x.problem("answer", err.Error(), "look at "+filepath.Join(dir, citydir.StateFolder, citydir.LogFolder))
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		x.warn("answer", err.Error(), "remove "+dir)
	}
}

func (x *examination) answer(a smoketest.Result) {
	if a.Err != nil {
		x.problem("answer."+a.Agent, a.Err.Error(), "start it by hand as this user, and see whether it answers")
		return
	}
	x.ok("answer."+a.Agent, "it was started and answered a question within %v", a.Took.Round(100*time.Millisecond))
}

// trialCity returns the city.toml of the trial and its agents: of the CLIs that the city
// uses, without a city of those that are installed.
func (x *examination) trialCity() (text []byte, names []string, err error) {
	if x.root != "" {
		path := filepath.Join(x.root, client.CityFile)
		if text, err = os.ReadFile(path); err != nil {
			return nil, nil, fmt.Errorf("cannot read which agent CLIs the city uses: %w", err)
		}
		return smoketest.ConfigFrom(text, x.root)
	}
	names = x.Loader.Machine().Names(x.ctx, agentcli.Builtin())
	if len(names) == 0 {
		return nil, nil, nil
	}
	text, err = smoketest.ConfigForCLIs(names)
	return text, names, err
}

// home returns where the trial's folder goes: no other user can write above it, or some agent CLIs
// do not accept their hooks.
func (x *examination) home() string {
	if dir := x.Loader.Environ.Get("HOME"); dir != "" {
		return dir
	}
	return citydir.PublicTempDir
}
