package k8s

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"syscall"
	"time"

	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"

	"gascity/runtime"
)

// attach connects the terminal of this process to the session in the pod.
func (p *Provider) attach(ctx context.Context, pod *corev1.Pod, name string, opts runtime.AttachOptions) error {
	fail := func(err error) error { return &runtime.Error{Op: "attach to", Session: name, Err: err} }
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return fail(errors.New("standard input and output are not a terminal"))
	}
	args := []string{"attach", outpostFolder(pod.Name), p.cfg.Place, name}
	if opts.ReadOnly {
		args = append(args, "--read-only")
	}
	for _, keys := range opts.DetachKeys {
		args = append(args, "--detach-keys", keys)
	}
	mark := path.Join(outpostFolder(pod.Name), "attached-"+rand.Text())
	argv := append([]string{"/bin/sh", "-c", `echo $$ >"$1" && shift && TERM=$0 exec "$@"`, cmp.Or(p.cfg.Terminal, "xterm"), mark}, p.program(pod, args...)...)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watcher, err := p.cluster.connect(ctx, pod.Name, containerAgent, []string{"/bin/sh", "-c", hangUp, mark})
	if err != nil {
		return fail(err)
	}
	defer watcher.dismiss()
	streams := remotecommand.StreamOptions{Stdin: os.Stdin, Stdout: os.Stdout, Tty: true, TerminalSizeQueue: newSizes(ctx, in)}
	state, err := term.MakeRaw(in)
	if err != nil {
		return fail(err)
	}
	code, err := p.cluster.stream(ctx, pod.Name, containerAgent, streams, argv)
	if err := term.Restore(in, state); err != nil {
		return fail(err)
	}
	if err != nil {
		return fail(fmt.Errorf("%w: %w", runtime.ErrRuntimeUnavailable, err))
	}
	if code != 0 {
		return fail(fmt.Errorf("attach in the pod exited with code %d", code))
	}
	return nil
}

// hangUp is a shell script that runs in the pod beside an attachment. When this process exits or
// the connection is lost, it sends SIGHUP to the attached process, as a closed terminal would.
// Without it, a process with a terminal in a pod would outlive its exec and count as attached
// without end.
const hangUp = `while read -r word; do [ "$word" != done ] || exec rm -f "$0"; done; read -r pid <"$0" && kill -HUP "$pid"; exec rm -f "$0"`

// dismiss notifies the hangUp script that the attachment has ended, waits at most 2 s for its exit
// and closes the connection.
func (c *connection) dismiss() {
	if _, err := io.WriteString(c, "done\n"); err == nil {
		select {
		case <-c.ended:
		case <-time.After(2 * time.Second):
		}
	}
	c.Close() //nolint:errcheck // never fails
}

// sizes reports the size of a terminal, first at once and then at each change.
type sizes struct {
	ctx     context.Context //nolint:containedctx // the library calls Next without a ctx
	fd      int
	changes chan os.Signal
}

// newSizes returns the queue of sizes of the terminal fd. It has one size at once, and another one after each change,
// until ctx ends.
func newSizes(ctx context.Context, fd int) *sizes {
	s := &sizes{ctx: ctx, fd: fd, changes: make(chan os.Signal, 1)}
	s.changes <- syscall.SIGWINCH // report the first size at once; before Notify, because a change could fill the channel
	signal.Notify(s.changes, syscall.SIGWINCH)
	context.AfterFunc(ctx, func() { signal.Stop(s.changes) })
	return s
}

// Next waits for a change and returns the new size. It returns nil when the context ends.
func (s *sizes) Next() *remotecommand.TerminalSize {
	for {
		select {
		case <-s.changes:
		case <-s.ctx.Done():
			return nil
		}
		if width, height, err := term.GetSize(s.fd); err == nil && width > 0 && height > 0 {
			return &remotecommand.TerminalSize{Width: uint16(width), Height: uint16(height)} //nolint:gosec // the size of a terminal fits
		}
	}
}
