package app

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/proc/programpath"
	"gascity/provider/all"
)

// refusedModes returns a remark for each agent on this machine whose installed agent CLI does not
// list the agent's permission mode in its help text. An agent CLI that is not installed, does not
// answer or lists no modes gets none.
func (d *Daemon) refusedModes(ctx context.Context, city *config.City) []*config.Error {
	if city == nil {
		return nil
	}
	profiles, err := plan.Profiles(city, agentcli.Builtin())
	if err != nil {
		return nil // it is reported already
	}
	found := make([]*config.Error, len(city.Agents))
	var group sync.WaitGroup
	for i := range city.Agents {
		a := &city.Agents[i]
		p, ok := profiles.Lookup(cmp.Or(a.Provider, city.Workspace.Provider))
		mode := cmp.Or(a.PermissionMode, p.PermissionMode)
		if !ok || a.StartCommand != "" || len(p.PermissionModes[mode]) < 2 || !d.runsHere(city, a) {
			continue
		}
		group.Go(func() {
			path := cmp.Or(a.Env["PATH"], p.Env["PATH"], d.env.get("PATH"))
			file, err := programpath.Find(p.Command, city.Root, path)
			if err != nil {
				return
			}
			if why, proposal := p.RefusedMode(mode, d.helps.of(ctx, file, d.env.base(agentcli.Builtin()), path)); why != "" {
				found[i] = city.ErrorAt(a.Position("permission_mode"), "agent %s: %s %s", a.QualifiedName(), file, why)
				found[i].Hint = proposal
			}
		})
	}
	group.Wait()
	var remarks []*config.Error
	for _, e := range found {
		if e != nil {
			remarks = append(remarks, e)
		}
	}
	return remarks
}

// runsHere reports whether the agent's command line is run on this machine, in a terminal: the
// mode of an agent that speaks the Agent Client Protocol is set by the protocol.
func (d *Daemon) runsHere(city *config.City, a *config.Agent) bool {
	selection, _, err := city.RuntimeFor(a, d.env.runtimeOverride(), d.catalog())
	if err != nil {
		return false
	}
	driver, _, err := all.Find(selection)
	return err == nil && driver.Where == all.WhereLocal && !d.catalog().Protocol(selection)
}

const (
	helpLimit   = 5 * time.Second // for one program to print its help text
	helpMaxSize = 1 << 20
)

// helpTexts are the help texts of programs. Each program is asked once, as long as its file has
// the same size and time of change. It is safe for concurrent use.
type helpTexts struct {
	limit time.Duration // for one program; zero is helpLimit

	mu    sync.Mutex
	texts map[helpKey]func() string
}

type helpKey struct {
	file  string
	size  int64
	mtime time.Time
}

// of returns the help text of a program; empty if it does not print one within the limit.
func (h *helpTexts) of(ctx context.Context, file string, env []string, path string) string {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return ""
	}
	info, err := os.Stat(real)
	if err != nil {
		return ""
	}
	key := helpKey{real, info.Size(), info.ModTime()}
	h.mu.Lock()
	if h.texts == nil {
		h.texts = map[helpKey]func() string{}
	}
	text, ok := h.texts[key]
	if !ok {
		ctx := context.WithoutCancel(ctx) // others wait for the same answer
		text = sync.OnceValue(func() string {
			ctx, cancel := context.WithTimeout(ctx, cmp.Or(h.limit, helpLimit))
			defer cancel()
			return printedHelp(ctx, file, env, path)
		})
		h.texts[key] = text
	}
	h.mu.Unlock()
	return text()
}

// printedHelp runs a program for its help text, without a terminal.
func printedHelp(ctx context.Context, file string, env []string, path string) string {
	cmd := exec.CommandContext(ctx, file, "--help")
	cmd.Env = append(slices.Clone(env), "PATH="+path)
	cmd.Dir = "/"
	out := &boundedBuffer{}
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if cmd.Run() != nil {
		return ""
	}
	return out.String()
}

// boundedBuffer keeps the first bytes that are written to it.
type boundedBuffer struct{ bytes.Buffer }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, helpMaxSize-b.Len()))])
	return len(p), nil
}
