package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"gascity/internal/driver/script"
	"gascity/internal/proc"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// Exec implements runtime.ExecProvider. The script decides whether the output includes the standard
// error of the command.
func (p *Provider) Exec(ctx context.Context, name string, argv []string) (output []byte, code int, err error) {
	if runtime.ValidateName(name) != nil {
		return nil, 0, &runtime.Error{Op: "exec in", Session: name, Err: runtime.ErrSessionNotFound}
	}
	words := make([]string, len(argv))
	for i, word := range argv {
		if strings.Contains(word, "\x00") {
			return nil, 0, &runtime.Error{Op: "exec in", Session: name, Err: errors.New("an argument contains a NUL byte")}
		}
		words[i] = textfmt.ShellWord(word)
	}
	return p.runLine(ctx, name, strings.Join(words, " ")+"\n", "exec in")
}

// CopyTo implements runtime.Stager.
func (p *Provider) CopyTo(name, src, relDst string) error {
	fail := func(err error) error { return &runtime.Error{Op: "copy to", Session: name, Err: err} }
	if relDst != "" && !filepath.IsLocal(relDst) {
		return fail(fmt.Errorf("%q leaves the working directory", relDst))
	}
	src, err := filepath.Abs(src)
	if err != nil {
		return fail(err)
	}
	if _, err := os.Stat(src); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return fail(err)
	}
	ctx, cancel := p.bounded()
	defer cancel()
	if p.checkExists(ctx, "copy to", name) != nil {
		return nil
	}
	_, err = p.call(ctx, request{op: script.OpCopyTo, name: name, args: []string{src, relDst}, verb: "copy to"})
	if runtime.IsSessionGone(err) {
		return nil
	}
	return err
}

// RunLive implements runtime.Stager. It uses the operation run-live, else exec. It fails if the
// script has neither.
func (p *Provider) RunLive(name string, cfg runtime.Config) error {
	ctx, cancel := p.bounded()
	defer cancel()
	if err := p.checkExists(ctx, "run session_live in", name); err != nil {
		return err
	}
	if !p.caps.Has(script.CapRunLive) {
		return p.runSessionLive(ctx, name, cfg)
	}
	data, err := json.Marshal(script.NewStart(cfg))
	if err != nil {
		return &runtime.Error{Op: "run session_live in", Session: name, Err: err}
	}
	_, err = p.call(ctx, request{op: script.OpRunLive, name: name, stdin: data, verb: "run session_live in"})
	return err
}

// runSessionLive runs the commands of session_live in the session's sandbox, one after the other.
func (p *Provider) runSessionLive(ctx context.Context, name string, cfg runtime.Config) error {
	var errs []error
	for _, command := range cfg.SessionLive {
		line := "GC_SESSION=" + textfmt.ShellWord(name) + "; export GC_SESSION\n"
		if cfg.WorkDir != "" {
			line += "cd " + textfmt.ShellWord(cfg.WorkDir) + " || exit 1\n"
		}
		out, code, err := p.runLine(ctx, name, line+command+"\n", "run session_live in")
		if err == nil && code != 0 {
			err = fmt.Errorf("command %q: exit code %d: %.300s", command, code, strings.TrimSpace(string(out)))
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return &runtime.Error{Op: "run session_live in", Session: name, Err: err}
	}
	return nil
}

// Attach implements runtime.Input. The script uses the terminal of this process.
func (p *Provider) Attach(name string) error {
	return p.AttachTerminal(context.Background(), name, runtime.AttachOptions{}) //nolint:forbidigo // the contract's method has no ctx
}

// AttachTerminal implements runtime.Attacher. It returns an error that matches
// errors.ErrUnsupported if an option is set, because a script has no options.
func (p *Provider) AttachTerminal(ctx context.Context, name string, opts runtime.AttachOptions) error {
	if opts.ReadOnly || len(opts.DetachKeys) > 0 {
		return &runtime.Error{Op: "attach to", Session: name, Err: errors.ErrUnsupported}
	}
	if err := p.checkExists(ctx, "attach to", name); err != nil {
		return err
	}
	cmd := osexec.CommandContext(ctx, p.path, script.OpAttach, name)
	cmd.Dir, cmd.Env = p.cfg.Dir, p.cfg.Env
	stderr := &proc.Tail{Most: stderrKept}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if !p.facts.CanAttachTTY {
		cmd.Stderr = stderr // the script probably prints that it cannot attach
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killGrace
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return &runtime.Error{Op: "attach to", Session: name, Err: fmt.Errorf("%w: %w", runtime.ErrRuntimeUnavailable, err)}
	}
	switch code := cmd.ProcessState.ExitCode(); {
	case ctx.Err() != nil:
		return &runtime.Error{Op: "attach to", Session: name, Err: context.Cause(ctx)}
	case code == script.ExitOK:
		return nil
	default:
		return &runtime.Error{Op: "attach to", Session: name, Err: p.exitError(script.OpAttach, processResult{code: code, stderr: string(stderr.Bytes())})}
	}
}
