// Command script is the session script of the conformance tests, under two names: one
// forwards each call to a socket of the tests, the other serves provider/subprocess
// itself. It is the shim of that, too. It is built without the race detector, whose
// programs start slowly.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"gascity/internal/driver/script"
	"gascity/internal/shim"
	"gascity/provider/subprocess"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	code, err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(ctx context.Context) (int, error) {
	if len(os.Args) == 3 && os.Args[1] == "shim" {
		if err := shim.Run(ctx, os.Args[2], os.Stdin, os.Stdout); err != nil {
			return 1, err
		}
		return 0, nil
	}
	if filepath.Base(os.Args[0]) == "script-of-subprocess" {
		return serve(ctx, os.Getenv("EXECTEST_PLACE"))
	}
	return forward(ctx, os.Getenv("EXECTEST_SOCKET"))
}

func serve(ctx context.Context, dir string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	p, err := subprocess.Open(subprocess.Config{
		Dir: filepath.Join(dir, "s"), LogDir: filepath.Join(dir, "log"), WorkDir: dir,
		Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"},
		Shim: []string{self, "shim"},
	})
	if err != nil {
		return 1, err
	}
	code := script.Serve(ctx, p, script.Call{Args: os.Args[1:], Stdin: os.Stdin, Size: os.Getenv(script.VariableSize), Stdout: os.Stdout, Stderr: os.Stderr})
	return code, p.Close()
}

// forward sends a call to the process of the test. On SIGTERM it asks that process to end the call, and waits.
func forward(ctx context.Context, socket string) (int, error) {
	var input []byte
	if os.Args[1] == script.OpWatch { // its input is a life line
		life, stop := context.WithCancel(ctx)
		ctx = life
		go func() {
			defer stop()
			io.Copy(io.Discard, os.Stdin) //nolint:errcheck // however it ends
		}()
	} else {
		var err error
		if input, err = io.ReadAll(os.Stdin); err != nil {
			return 1, err
		}
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return 1, err
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(map[string]any{"Args": os.Args[1:], "Stdin": input}); err != nil {
		return 1, err
	}
	context.AfterFunc(ctx, func() {
		conn.(*net.UnixConn).CloseWrite() //nolint:errcheck // the end of the process follows
	})
	for frames := json.NewDecoder(conn); ; {
		var f struct {
			Out, Err []byte
			Code     *int
		}
		if err := frames.Decode(&f); err != nil {
			return 1, fmt.Errorf("no answer: %w", err)
		}
		os.Stdout.Write(f.Out) //nolint:errcheck // the reader has gone
		os.Stderr.Write(f.Err) //nolint:errcheck // the reader has gone
		if f.Code != nil {
			return *f.Code, nil
		}
	}
}
