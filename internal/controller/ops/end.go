package ops

import (
	"context"
	"errors"
	"time"

	"gascity/client"
	"gascity/internal/proc"
	"gascity/runtime"
)

// Stop stops one instance. A driver that cannot distinguish instances stops the session with that
// name.
func Stop(ctx context.Context, p runtime.Provider, name, token string) error {
	if token == "" {
		return p.Stop(name)
	}
	err := runtime.StopInstance(ctx, p, name, token)
	if errors.Is(err, errors.ErrUnsupported) {
		return p.Stop(name)
	}
	return err
}

// Interrupt asks one instance to abandon its turn. A driver that cannot distinguish instances
// interrupts the session with that name.
func Interrupt(ctx context.Context, p runtime.Provider, name, token string) error {
	if token == "" {
		return p.Interrupt(name)
	}
	err := runtime.InterruptInstance(ctx, p, name, token)
	if errors.Is(err, errors.ErrUnsupported) {
		return p.Interrupt(name)
	}
	return err
}

// boundaryTime is the maximum wait for the end of an interrupted turn.
const boundaryTime = 3 * time.Second

// Abandon interrupts the turn of one instance, like [Interrupt], and waits up to [boundaryTime] for
// the turn to end, because a prompt that is sent earlier could become part of that turn. ended is
// false if the end of the turn was not seen in time.
func Abandon(ctx context.Context, p runtime.Provider, name, token string) (ended bool, err error) {
	since := time.Now()
	if err := Interrupt(ctx, p, name, token); err != nil {
		return false, err
	}
	err = runtime.WaitForInterruptBoundary(ctx, p, name, since, boundaryTime)
	if errors.Is(err, errors.ErrUnsupported) {
		err = runtime.WaitForIdle(ctx, p, name, boundaryTime)
	}
	return err == nil, nil
}

// Tree returns the processes of the observed instance on this machine, parents before children; nil
// if there are none or they cannot be read. The observed process may be one of several, such as a
// terminal program beside its server: the tree begins with the leader of its POSIX session, if that
// process has the instance token.
func Tree(seen *runtime.Observation) []proc.Info {
	if seen.PID <= 0 {
		return nil
	}
	info, err := proc.Stat(seen.PID)
	if err != nil || info.Ended() || seen.StartTime > 0 && info.Start != seen.StartTime {
		return nil
	}
	root := info.PID
	if token, ok, err := proc.EnvValue(info.SID, proc.TokenKey); err == nil && ok && token != "" && token == seen.InstanceToken {
		root = info.SID
	}
	tree, err := proc.Tree(root)
	if err != nil {
		return nil // it has exited or cannot be read
	}
	return tree
}

// Survivors returns the PIDs of the processes in tree that still run. A process that cannot be
// checked counts as running.
func Survivors(tree []proc.Info) []int {
	var left []int
	for _, info := range tree {
		if alive, err := proc.Alive(info.ID); alive || err != nil {
			left = append(left, info.PID)
		}
	}
	return left
}

// Processes returns the session's processes in the form of the control API.
func Processes(seen *runtime.Observation) []client.Process {
	var out []client.Process
	for _, info := range Tree(seen) {
		out = append(out, client.Process{PID: info.PID, PPID: info.PPID, Command: info.Comm, State: info.State.String()})
	}
	return out
}

// CloseServers stops the server of each provider that has one.
func CloseServers(providers []runtime.Provider) error {
	var errs []error
	for _, p := range providers {
		errs = append(errs, runtime.TeardownServer(p))
	}
	return errors.Join(errs...)
}
