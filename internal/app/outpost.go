package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"gascity/internal/citydir"
	"gascity/internal/cleanup"
	"gascity/internal/driver/remote"
	"gascity/provider/all"
	"gascity/runtime"
)

const (
	outpostFolder = "outpost" // of what is carried over to an outpost, in its state folder
	outpostSocket = "worker"  // of its worker API, in the folder of its sockets
)

// ServeOutpost serves a local provider on standard input and output, until the near end
// closes them. The folder takes the place of a city's: sessions are found in it again.
func (d *Daemon) ServeOutpost(ctx context.Context, folder, selection string) (err error) {
	p, leave, err := d.openOutpost(folder, selection)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	sockets, err := outpostSockets(folder)
	if err != nil {
		return errors.Join(err, all.Close(p))
	}
	if err := remote.Announce(d.opts.Stdout); err != nil {
		return errors.Join(err, all.Close(p))
	}
	err = remote.Serve(ctx, p, stdio{d.opts.Stdin, d.opts.Stdout}, remote.ServeOptions{
		Dir: filepath.Join(folder, citydir.StateFolder, outpostFolder), Socket: filepath.Join(sockets, outpostSocket), Version: d.opts.Version,
		Remove: func() error { return cleanup.ClearOutpost(folder) },
	})
	return errors.Join(err, all.Close(p))
}

// RunOutpostInit is the first process of a pod. It takes in what others leave behind, and
// ends the sessions of the folder, within grace, when ctx ends; with it goes the pod.
func (d *Daemon) RunOutpostInit(ctx context.Context, folder, selection string, grace time.Duration) (err error) {
	p, leave, err := d.openOutpost(folder, selection)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for ctx.Err() == nil {
		for pid, err := 1, error(nil); pid > 0 && err == nil; {
			pid, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil) // it starts no process itself
		}
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
	return errors.Join(remote.StopAll(context.WithoutCancel(ctx), p, grace), all.Close(p))
}

// AttachOutpost connects the terminal of this process to a session of an outpost.
func (d *Daemon) AttachOutpost(ctx context.Context, folder, selection, name string, opts runtime.AttachOptions) (err error) {
	p, leave, err := d.openOutpost(folder, selection)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	return errors.Join(runtime.AttachTerminal(ctx, p, name, opts), all.Close(p))
}

// openOutpost opens the provider of an outpost; who has closed it leaves.
func (d *Daemon) openOutpost(folder, selection string) (p runtime.Provider, leave func() error, err error) {
	if !filepath.IsAbs(folder) {
		return nil, nil, fmt.Errorf("the outpost's folder %q is not absolute", folder)
	}
	if leave, err = citydir.LockShared(folder); err != nil {
		return nil, nil, err
	}
	_, err = outpostSockets(folder) // the process that opens it finds the choice
	if err == nil {
		p, err = d.config.Open(folder, selection, slog.New(slog.DiscardHandler))
	}
	if err != nil {
		return nil, nil, errors.Join(err, leave())
	}
	return p, leave, nil
}

// outpostSockets is the folder of an outpost's sockets. That of the login is not used: many
// hosts remove it at the last logout, and sessions live longer than a connection.
func outpostSockets(folder string) (string, error) { return citydir.RuntimeDir(folder, "") }

// stdio is a process's standard input and output as one connection.
type stdio struct {
	io.Reader
	io.WriteCloser
}
