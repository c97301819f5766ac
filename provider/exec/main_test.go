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
	osexec "os/exec"
	"path/filepath"
	"sync"
	"testing"

	"gascity/internal/driver/script"
	"gascity/provider/exec"
	"gascity/runtime"
	"gascity/runtime/runtimetest/elsewhere"
)

// The names of testdata/script, which determine what it does.
const (
	asFake       = "script-of-fake"
	asSubprocess = "script-of-subprocess"
)

// The variables of the tests' programs.
const (
	envSocket  = "EXECTEST_SOCKET"
	envPlace   = "EXECTEST_PLACE"
	envProgram = "EXECTEST_PROGRAM" // where testdata/script was built
)

func TestMain(m *testing.M) {
	elsewhere.Main(func(dir string) runtime.Provider { return must(exec.Open(subprocessScript(dir))) })
	dir := must(os.MkdirTemp("", "gcx"))
	program := filepath.Join(dir, "script")
	build := osexec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./testdata/script")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build the session script: %v\n%s", err, out)
		os.Exit(1)
	}
	if err := os.Setenv(envProgram, program); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	os.Exit(code)
}

func must[X any](x X, err error) X {
	if err != nil {
		panic(err)
	}
	return x
}

// baseEnv returns what every program of the tests gets.
func baseEnv(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}, more...)
}

// link makes testdata/script a script of that name in dir.
func link(dir, name string) string {
	path := filepath.Join(dir, name)
	if err := os.Symlink(os.Getenv(envProgram), path); err != nil && !errors.Is(err, os.ErrExist) {
		panic(err)
	}
	return path
}

// subprocessScript returns the configuration of a script that serves provider/subprocess over the sessions in
// dir.
func subprocessScript(dir string) exec.Config {
	return exec.Config{
		Script: link(dir, asSubprocess), Dir: dir, NotesDir: filepath.Join(dir, "notes"),
		Env: baseEnv("HOME="+dir, envPlace+"="+dir),
	}
}

// ask is a request to the process of the tests, and frames are its response.
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

// host serves providers of this process to script processes.
type host struct {
	l    net.Listener
	ctx  context.Context //nolint:containedctx // the context of the listener
	stop context.CancelFunc
	wait sync.WaitGroup
}

// serve listens in dir for calls that p answers.
func serve(dir string, p runtime.Provider) *host {
	h := &host{l: must(new(net.ListenConfig).Listen(context.Background(), "unix", filepath.Join(dir, "socket")))} //nolint:forbidigo // as below
	h.ctx, h.stop = context.WithCancel(context.Background())                                                      //nolint:forbidigo // the worlds of all cases share a host
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
	stdin := readerOf(a.Stdin)
	if a.Args[0] == script.OpWatch {
		life, end := io.Pipe()
		context.AfterFunc(ctx, func() { end.Close() })
		stdin = life
	}
	code := script.Serve(ctx, p, script.Call{Args: a.Args, Stdin: stdin, Stdout: frames.out(), Stderr: frames.err()})
	frames.send(frame{Code: &code}) //nolint:errcheck // the script may have gone
	conn.Close()
	<-gone
}
