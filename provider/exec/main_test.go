package exec_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"gascity/internal/script"
	"gascity/internal/shim"
	"gascity/provider/exec"
	"gascity/provider/subprocess"
	"gascity/runtime"
	"gascity/runtime/runtimetest/elsewhere"
)

// The test binary is the session script, too, under these names.
const (
	asFake       = "script-of-fake"       // forwards each call to a socket of the tests
	asSubprocess = "script-of-subprocess" // serves provider/subprocess itself
)

// The variables that a script of the tests finds in its environment.
const (
	envSocket = "EXECTEST_SOCKET"
	envPlace  = "EXECTEST_PLACE"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "shim" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) //nolint:forbidigo // this is a main
		err := shim.Run(ctx, os.Args[2], os.Stdin, os.Stdout)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	switch filepath.Base(os.Args[0]) {
	case asFake:
		os.Exit(forward(os.Getenv(envSocket)))
	case asSubprocess:
		os.Exit(serveSubprocess(os.Getenv(envPlace)))
	}
	elsewhere.Main(func(dir string) runtime.Provider { return must(exec.Open(subprocessScript(dir))) })
	os.Exit(m.Run())
}

func must[X any](x X, err error) X {
	if err != nil {
		panic(err)
	}
	return x
}

// baseEnv is what every program of the tests gets. The race detector's default is to
// wait for a second at the end.
func baseEnv(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0"}, more...)
}

// linkSelf makes the test binary a script of that name in dir.
func linkSelf(dir, name string) string {
	path := filepath.Join(dir, name)
	if err := os.Symlink(must(os.Executable()), path); err != nil && !errors.Is(err, os.ErrExist) {
		panic(err)
	}
	return path
}

// subprocessScript is the configuration of a script that serves provider/subprocess
// over the world in dir.
func subprocessScript(dir string) exec.Config {
	return exec.Config{
		Script: linkSelf(dir, asSubprocess), Dir: dir, NotesDir: filepath.Join(dir, "notes"),
		Env: baseEnv("HOME="+dir, envPlace+"="+dir),
	}
}

func serveSubprocess(dir string) int {
	p, err := subprocess.Open(subprocess.Config{
		Dir: filepath.Join(dir, "s"), LogDir: filepath.Join(dir, "log"), WorkDir: dir,
		Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"},
		Shim: []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", must(os.Executable()), "shim"},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) //nolint:forbidigo // this is a main
	defer stop()
	code := script.Serve(ctx, p, script.Call{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	if err := p.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// ask goes to the tests' process, frames come from it.
type (
	ask struct {
		Args  []string
		Stdin []byte
	}
	frame struct {
		Out, Err []byte
		Code     *int
	}
)

// forward is the script process of a provider that lives in the tests' process. Upon
// SIGTERM it asks for the end and waits for it.
func forward(socket string) int {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(ask{Args: os.Args[1:], Stdin: input}); err != nil {
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) //nolint:forbidigo // this is a main
	defer stop()
	go func() {
		<-ctx.Done()
		conn.(*net.UnixConn).CloseWrite() //nolint:errcheck // the end of the process follows
	}()
	for frames := json.NewDecoder(conn); ; {
		var f frame
		if err := frames.Decode(&f); err != nil {
			fmt.Fprintln(os.Stderr, "no answer:", err)
			return 1
		}
		os.Stdout.Write(f.Out)
		os.Stderr.Write(f.Err)
		if f.Code != nil {
			return *f.Code
		}
	}
}

// host serves providers of this process to script processes.
type host struct {
	l    net.Listener
	ctx  context.Context
	stop context.CancelFunc
	wait sync.WaitGroup
}

// serve listens in dir for calls that p answers.
func serve(dir string, p runtime.Provider) *host {
	h := &host{l: must(net.Listen("unix", filepath.Join(dir, "socket")))}
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.wait.Go(func() {
		for {
			conn, err := h.l.Accept()
			if err != nil {
				return
			}
			h.wait.Go(func() { h.answer(conn, p) })
		}
	})
	return h
}

func (h *host) close() {
	h.stop()
	h.l.Close()
	h.wait.Wait()
}

func (h *host) answer(conn net.Conn, p runtime.Provider) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	r := bufio.NewReader(conn)
	line, err := r.ReadBytes('\n')
	var a ask
	if err != nil || json.Unmarshal(line, &a) != nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r.ReadByte() //nolint:errcheck // the end of the connection
		cancel()
	}()
	frames := &framer{enc: json.NewEncoder(conn)}
	code := script.Serve(ctx, p, script.Call{Args: a.Args, Stdin: readerOf(a.Stdin), Stdout: frames.out(), Stderr: frames.err()})
	frames.send(frame{Code: &code})
	conn.Close()
	<-gone
}
