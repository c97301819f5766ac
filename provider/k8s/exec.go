package k8s

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"gascity/internal/driver/remote"
	"gascity/internal/proc"
	"gascity/runtime"
)

// executor returns an executor for a command in a container. It uses WebSocket, or SPDY if a proxy
// does not support WebSocket.
func (c *cluster) executor(pod, container string, streams remotecommand.StreamOptions, argv []string) (remotecommand.Executor, error) {
	line, err := c.open()
	if err != nil {
		return nil, err
	}
	query := url.Values{"container": {container}, "command": argv}
	for name, wanted := range map[string]bool{"stdin": streams.Stdin != nil, "stdout": streams.Stdout != nil, "stderr": streams.Stderr != nil, "tty": streams.Tty} {
		if wanted {
			query.Set(name, "true")
		}
	}
	address, err := line.address(query, "pods", pod, "exec")
	if err != nil {
		return nil, err
	}
	socket, err := remotecommand.NewWebSocketExecutor(line.config, "GET", address.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(line.config, "POST", address)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// stream runs a command in a container with the given streams and waits for its exit. A nonzero exit code is not an error.
func (c *cluster) stream(ctx context.Context, pod, container string, streams remotecommand.StreamOptions, argv []string) (code int, err error) {
	executor, err := c.executor(pod, container, streams, argv)
	if err != nil {
		return 0, err
	}
	err = executor.StreamWithContext(ctx, streams)
	if exit, ok := errors.AsType[utilexec.CodeExitError](err); ok {
		return exit.Code, nil
	}
	return 0, err
}

// run runs a command in a container, and returns the end of its output and its exit code. For a nonzero code the output
// includes the standard error.
func (c *cluster) run(ctx context.Context, pod, container string, in io.Reader, argv ...string) (output string, code int, err error) {
	var out, bad proc.Tail
	code, err = c.stream(ctx, pod, container, remotecommand.StreamOptions{Stdin: in, Stdout: &out, Stderr: &bad}, argv)
	switch {
	case err != nil:
		return out.String(), 0, fmt.Errorf("cannot run %s in the pod: %w", argv[0], cmp.Or(context.Cause(ctx), err))
	case code != 0:
		return out.String() + "\n" + bad.String(), code, nil
	}
	return out.String(), 0, nil
}

// Exec implements runtime.ExecProvider.
func (p *Provider) Exec(ctx context.Context, name string, argv []string) (output []byte, code int, err error) {
	const op = "exec in"
	if len(argv) == 0 {
		return nil, 0, &runtime.Error{Op: op, Session: name, Err: errors.New("the command is empty")}
	}
	if _, err := p.atContext(ctx, op, name); err != nil {
		return nil, 0, err
	}
	var out bytes.Buffer
	code, err = p.cluster.stream(ctx, podName(p.cfg.ID, name), containerAgent, remotecommand.StreamOptions{Stdout: &out, Stderr: io.Discard}, argv)
	if err != nil {
		return nil, 0, &runtime.Error{Op: op, Session: name, Err: errors.Join(context.Cause(ctx), err)}
	}
	return out.Bytes(), code, nil
}

// connection is an exec in a container. Its standard input and output are connected to the remote
// process.
type connection struct {
	*io.PipeReader // standard output of the process
	*io.PipeWriter // standard input of the process

	cancel context.CancelFunc
	stderr proc.Tail
	ended  chan struct{} // closed when the exec has ended
	err    error         // result of the exec, valid after ended is closed
}

// connect starts a command in a container and returns its connection. The connection continues
// after ctx ends.
func (c *cluster) connect(ctx context.Context, pod, container string, argv []string) (*connection, error) {
	input, writer := io.Pipe()
	reader, output := io.Pipe()
	conn := &connection{PipeReader: reader, PipeWriter: writer, ended: make(chan struct{})}
	streams := remotecommand.StreamOptions{Stdin: endless{input}, Stdout: output, Stderr: &conn.stderr}
	executor, err := c.executor(pod, container, streams, argv)
	if err != nil {
		return nil, err
	}
	ctx, conn.cancel = context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { reader.CloseWithError(io.ErrClosedPipe) })
	go func() {
		defer close(conn.ended)
		conn.err = executor.StreamWithContext(ctx, streams)
		output.CloseWithError(io.EOF)
		input.CloseWithError(io.ErrClosedPipe)
		stop()
	}()
	return conn, nil
}

// endless reports a closed pipe as end of file. Otherwise the library would log an error to
// standard error.
type endless struct{ *io.PipeReader }

func (e endless) Read(p []byte) (int, error) {
	n, err := e.PipeReader.Read(p)
	if errors.Is(err, io.ErrClosedPipe) {
		err = io.EOF
	}
	return n, err
}

// Close closes the connection. The remote process reads the end of its input.
func (c *connection) Close() error {
	c.PipeWriter.Close() //nolint:errcheck // never fails
	c.PipeReader.Close() //nolint:errcheck // never fails
	c.cancel()
	<-c.ended
	return nil
}

// failed closes the connection and returns the error of an attempt to reach the outpost, with what
// the process printed to standard error. cause is the error that the attempt returned. If no outpost
// answered because the exec itself failed, the error names that failure instead of cause.
func (c *connection) failed(cause error) error {
	c.Close() //nolint:errcheck // never fails
	stderr := c.stderr.String()
	if printed, ok := errors.AsType[*remote.NoOutpostError](cause); ok && c.err != nil && !errors.Is(c.err, context.Canceled) {
		return fmt.Errorf("%w: no outpost answers in the pod: %w; %s%s", runtime.ErrRuntimeUnavailable, c.err, printed.Printed, stderr)
	}
	return fmt.Errorf("%w; %s", cause, stderr)
}
