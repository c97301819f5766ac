package k8s

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"gascity/internal/driver/remote"
	"gascity/runtime"
)

// podConn is the connection to one pod's outpost.
type podConn struct {
	uid    types.UID
	client podClient
	follow sync.Once
	token  string // token of the last instance that was observed in the pod; guarded by Provider.mu
}

// podClient is a client of the outpost in a pod.
type podClient interface {
	runtime.Provider
	runtime.Observer
	runtime.Watcher
	runtime.Fencer
	Connect(ctx context.Context) error
	Close() error
}

func (w *podConn) close() {
	w.client.Close() //nolint:errcheck // never fails
}

// connTo returns the connection to the pod. It closes a connection to a previous pod of the
// session.
func (p *Provider) connTo(name string, pod *corev1.Pod) *podConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.conns[name]
	if w != nil && w.uid == pod.UID {
		return w
	}
	if w != nil {
		p.closeConnLocked(w)
	}
	w = &podConn{uid: pod.UID, client: p.openClient(name, pod)}
	if p.closed {
		p.closeConnLocked(w)
		return w
	}
	p.conns[name] = w
	return w
}

// recordInstance stores the token of the instance that runs in a pod. It ignores an empty token.
func (p *Provider) recordInstance(w *podConn, token string) {
	if token == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w.token = token
}

// lastInstance returns the token of the last instance in a pod that cannot be reached any more. It
// returns "" if this process never read it.
func (p *Provider) lastInstance(name string, uid types.UID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.conns[name]; w != nil && w.uid == uid {
		return w.token
	}
	return ""
}

func (p *Provider) closeConnLocked(w *podConn) { p.work.Go(w.close) }

// closeConn closes the connection to a pod that does not exist any more.
func (p *Provider) closeConn(name string, uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.conns[name]; w != nil && w.uid == uid {
		delete(p.conns, name)
		p.closeConnLocked(w)
	}
}

// options returns the options of the remote driver for the gc in a pod.
func (p *Provider) options(name string, pod *corev1.Pod) remote.Options {
	return remote.Options{
		Where: "pod " + pod.Name, Socket: p.cfg.Worker, Capabilities: capabilities,
		Dial: func(ctx context.Context) (io.ReadWriteCloser, error) { return p.dial(ctx, name, pod) },
		Attach: func(ctx context.Context, name string, opts runtime.AttachOptions) error {
			return p.attach(ctx, pod, name, opts)
		},
	}
}

// dial starts an outpost in the pod and connects to it.
func (p *Provider) dial(ctx context.Context, name string, pod *corev1.Pod) (io.ReadWriteCloser, error) {
	if now, err := p.view.pod(name); err == nil && (now == nil || now.UID != pod.UID) {
		return nil, errors.New("the pod is gone")
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	conn, err := p.cluster.connect(ctx, pod.Name, containerAgent, p.program(pod, "serve", outpostFolder(pod.Name), p.cfg.Place))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.PipeReader.CloseWithError(context.Cause(ctx)) })
	err = remote.Await(conn)
	if !stop() {
		conn.Close() //nolint:errcheck // never fails
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, conn.failed(err)
	}
	return conn, nil
}

// program returns the command line that runs gc in the pod with args.
func (p *Provider) program(pod *corev1.Pod, args ...string) []string {
	file := "gc"
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == containerProgram {
			file = programPath
		}
	}
	return append([]string{file, "outpost"}, args...)
}

// programReady is printed in the pod when the program is complete.
const programReady = "gc-is-complete"

// uploadProgram copies gc's program into the pod. The file gets its final name when it is complete;
// the init container waits for that name.
func (p *Provider) uploadProgram(ctx context.Context, pod *corev1.Pod) error {
	output, code, err := p.cluster.run(ctx, pod.Name, containerProgram, nil, "/bin/sh", "-c", "uname -sm")
	if err != nil {
		return err
	}
	file := p.cfg.Program
	if code == 0 {
		if file, err = remote.FindProgram("the node", remote.SystemOf(output), file, p.cfg.Programs); err != nil {
			return fmt.Errorf("%w: %w, or use an image that contains gc (prebaked)", ErrCannotRun, err)
		}
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	line := fmt.Sprintf(`set -e; umask 077; mkdir -p %[1]s; part=%[1]s/part-$$; cat >"$part"; [ "$(wc -c <"$part")" -eq %[2]d ] || { rm -f "$part"; echo "the copy of the program is incomplete" >&2; exit 1; }; `+
		`chmod 755 "$part"; echo %[4]s; mv "$part" %[3]s`, path.Dir(programPath), info.Size(), programPath, programReady)
	output, code, err = p.cluster.run(ctx, pod.Name, containerProgram, in, "/bin/sh", "-c", line)
	if strings.Contains(output, programReady) {
		return nil // the container exits when the program has its final name, and this command with it
	}
	if err != nil {
		return fmt.Errorf("cannot copy gc into the pod: %w", err)
	}
	if code != 0 {
		return fmt.Errorf("%w: cannot copy gc into the pod: %s", ErrCannotRun, output)
	}
	return nil
}
