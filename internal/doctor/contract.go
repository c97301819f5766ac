package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/acp/bridge"
	"gascity/internal/agentcli"
	"gascity/internal/citydir"
	"gascity/internal/driver/script"
	"gascity/internal/fakeagent"
	"gascity/provider/all"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// The results of a [CheckResult].
const (
	CheckPass = "pass"
	CheckFail = "fail"
	CheckSkip = "skip"
)

// CheckResult is the result of one conformance case, or of one operation.
type CheckResult struct {
	ID       string // "start.duplicate"
	Sentence string // the requirement of the contract
	Result   string
	Detail   string // why it failed or was skipped
	Took     time.Duration
}

// CheckProvider runs conformance cases on a provider in a temporary directory and reports each
// result. Their agents are this program, which acts as the fake agent when it is called by that
// name. patterns select the cases; none selects all.
func (d *Doctor) CheckProvider(ctx context.Context, root, selection string, patterns []string, report func(CheckResult)) error {
	cases, err := pickCases(patterns)
	if err != nil {
		return fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	t, err := d.newTrial(root, selection)
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.dir) //nolint:errcheck // nothing runs in it any more
	first, err := t.open(t.dir)
	if err != nil {
		return err
	}
	adapt(&t.agent, first)
	err = shares(ctx, first, t.selection, t.dir)
	if err = errors.Join(err, all.Close(first)); err != nil {
		return err
	}
	open := func(test runtimetest.T, dir string) runtime.Provider {
		p, err := t.open(dir)
		if err != nil {
			test.Fatalf("cannot open the provider: %v", err)
		}
		return p
	}
	h := runtimetest.Harness{New: open, Reopen: open, Agent: t.agent.Agent}
	if strings.Contains(t.selection, ":") {
		h.Patience = scriptPatience
	}
	return runCases(ctx, h, cases, func(r runtimetest.Result) { report(checkResult(r)) })
}

// trial is a temporary directory in which a runtime provider is tested.
type trial struct {
	doctor    *Doctor
	root      string // of the city; may be empty
	selection string // the provider, with an absolute path
	dir       string // the caller removes it
	agent     runtimetest.Program
}

// newTrial creates a directory with the fake agent for the test of a provider. Without a selection it is the default provider.
func (d *Doctor) newTrial(root, selection string) (*trial, error) {
	selection, err := withPath(cmp.Or(selection, all.Drivers()[0].Name), root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(citydir.PublicTempDir, "gc-check-")
	if err != nil {
		return nil, fmt.Errorf("cannot create a directory for the check: %w", err)
	}
	program := runtimetest.Program{Path: filepath.Join(dir, fakeagent.Name)}
	if err := os.Symlink(d.Loader.Executable, program.Path); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot create the fake agent: %w", err), os.RemoveAll(dir))
	}
	return &trial{doctor: d, root: root, selection: selection, dir: dir, agent: program}, nil
}

// open opens the provider with its state in a directory.
func (t *trial) open(dir string) (runtime.Provider, error) {
	return t.doctor.Loader.OpenProvider(t.selection, t.doctor.Loader.TrialConfig(t.root, dir))
}

// scriptPatience is how long a case waits for a script, because each of its operations runs several
// programs.
const scriptPatience = 2 * time.Minute

// adapt configures the fake agent for the provider: with a screen like that of a known agent CLI,
// with the Agent Client Protocol, or with prompts on its standard input. For a router it uses the
// provider of a session without special requirements.
func adapt(program *runtimetest.Program, p runtime.Provider) {
	if typesPrompts(p) {
		family := imitated(agentcli.Builtin())
		program.Edit = func(cfg *runtime.Config, b runtimetest.Behaviour) {
			cfg.ProviderName = family
			cfg.EmitsPermissionWarning = b.Dialog
		}
		return
	}
	if _, ok := runtime.As[runtime.InteractionProvider](p, ""); ok { // no terminal, but questions: it uses the protocol
		program.Flags = []string{"--acp"}
		program.Edit = func(cfg *runtime.Config, _ runtimetest.Behaviour) { cfg.ReadyPromptPrefix = bridge.ReadyPrefix }
		return
	}
	program.Flags = []string{"--plain", "--framed"}
	program.Edit = func(cfg *runtime.Config, _ runtimetest.Behaviour) {
		cfg.ReadyPromptPrefix = "fakeagent ready"
		cfg.Env = map[string]string{"GC_STDIN": "framed"}
	}
}

// typesPrompts reports whether a provider types prompts into a terminal: it has terminals, or it is a script without its own start
// sequence, also if the script does not declare that a person can attach.
func typesPrompts(p runtime.Provider) bool {
	s, ok := p.(scripted)
	return runtime.CapabilitiesFor(p, "gc-check").CanAttachTTY || ok && !s.Handshake().Has(script.CapSequence)
}

// imitated returns the name of the agent CLI that the fake agent imitates: one with known dialogs
// and the same mark before its input box.
func imitated(profiles *agentcli.Set) string {
	for _, name := range profiles.Names() {
		if p, ok := profiles.Lookup(name); ok && len(p.Dialogs) > 0 && strings.HasPrefix(p.ReadyPromptPrefix, "❯") {
			return name
		}
	}
	return agentcli.Generic
}

// checkResult converts the result of a conformance case for the command line. For a case that lacks something it needs,
// the detail says what is missing.
func checkResult(r runtimetest.Result) CheckResult {
	out := CheckResult{ID: r.ID, Sentence: r.Sentence, Result: CheckFail, Took: r.Took.Round(time.Millisecond), Detail: strings.Join(r.Detail, "\n")}
	switch r.Status {
	case runtimetest.Passed:
		out.Result = CheckPass
	case runtimetest.Failed:
	default:
		out.Result = CheckSkip
		if need, ok := strings.CutPrefix(out.Detail, "needs "); ok {
			out.Detail = without(runtimetest.Need(need))
		}
	}
	return out
}

// without returns the reason, for people, why a case was skipped: the provider does not have what the case needs.
func without(need runtimetest.Need) string {
	switch need {
	case runtimetest.NeedActivity, runtimetest.NeedAttachment:
		return "the provider does not report " + string(need)
	case runtimetest.NeedTerminal:
		return "the provider has no terminals"
	case runtimetest.NeedReopen, runtimetest.NeedElsewhere:
		return "it needs another process, which this command does not start; the provider's own tests do"
	default:
		return fmt.Sprintf("the provider does not have the extension %q", string(need))
	}
}
