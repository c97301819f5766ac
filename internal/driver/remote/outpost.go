package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"gascity/internal/citydir"
	"gascity/internal/cleanup"
	"gascity/runtime"
)

const (
	uploadFolder  = "outpost" // folder of uploaded files, in the state folder of the outpost
	outpostSocket = "worker"  // socket of the worker API, in the folder of sockets
)

// Outpost is the remote end of a connection: a local provider for the sessions in a folder that is used like a city directory.
// All fields are required.
type Outpost struct {
	Folder  string // absolute; a later outpost finds the sessions in it again
	Version string // version of this program
	Program string // path of this program
	Open    func() (runtime.Provider, error)
	Close   func(p runtime.Provider) error
	// Wrap extends the provider for the calls of the local end. It installs the hooks of agent CLIs, whose files and program
	// must be on the machine of the agents.
	Wrap func(p runtime.Provider) runtime.Provider
}

// Serve serves the provider on standard input and output until the local end closes the connection.
func (o Outpost) Serve(ctx context.Context, stdin io.Reader, stdout io.WriteCloser) error {
	return o.withProvider(func(p runtime.Provider, sockets string) error {
		if err := Announce(stdout); err != nil {
			return err
		}
		return Serve(ctx, o.Wrap(p), stdio{stdin, stdout}, ServeOptions{
			Dir: filepath.Join(o.Folder, citydir.StateFolder, uploadFolder), Socket: filepath.Join(sockets, outpostSocket), Version: o.Version, Program: o.Program,
			Remove: func() error { return cleanup.ClearOutpost(o.Folder) },
		})
	})
}

// RunInit runs the first process of a pod. It reaps processes whose parents have exited. When ctx ends, it stops the sessions
// of the folder within grace and returns; then the pod stops.
func (o Outpost) RunInit(ctx context.Context, grace time.Duration) error {
	return o.withProvider(func(p runtime.Provider, _ string) error {
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGCHLD)
		defer signal.Stop(ended)
		for ctx.Err() == nil {
			for pid, err := 1, error(nil); pid > 0 && err == nil; {
				pid, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil) // this process starts no processes of its own, so it may reap all
			}
			select {
			case <-ended:
			case <-ctx.Done():
			}
		}
		return StopAll(context.WithoutCancel(ctx), p, grace)
	})
}

// Attach connects the terminal of this process to a session of the outpost.
func (o Outpost) Attach(ctx context.Context, name string, opts runtime.AttachOptions) error {
	return o.withProvider(func(p runtime.Provider, _ string) error { return runtime.AttachTerminal(ctx, p, name, opts) })
}

// withProvider locks the folder, opens the provider, calls do and closes the provider. sockets is the folder for the outpost's
// sockets, which the provider uses too. It is not the login session's runtime folder: many hosts remove that at the last logout,
// and agent sessions run longer.
func (o Outpost) withProvider(do func(p runtime.Provider, sockets string) error) (err error) {
	if !filepath.IsAbs(o.Folder) {
		return fmt.Errorf("the outpost's folder %q is not absolute", o.Folder)
	}
	leave, err := citydir.LockShared(o.Folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	sockets, err := citydir.RuntimeDir(o.Folder, "")
	if err != nil {
		return err
	}
	p, err := o.Open()
	if err != nil {
		return err
	}
	return errors.Join(do(p, sockets), o.Close(p))
}

// stdio combines a process's standard input and output into one connection.
type stdio struct {
	io.Reader
	io.WriteCloser
}
