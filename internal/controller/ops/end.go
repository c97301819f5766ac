package ops

import (
	"context"
	"errors"
	"time"

	"gascity/client"
	"gascity/internal/proc"
	"gascity/runtime"
)

// Stop ends one instance. Drivers that cannot distinguish instances end
// whatever has the name.
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

// Interrupt asks one instance to abandon its turn, like [Stop].
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

// boundaryTime bounds the wait for the end of an interrupted turn.
const boundaryTime = 3 * time.Second

// Abandon interrupts like [Interrupt], and waits a moment until the agent has said or
// shown that its turn has ended: a prompt that comes before may be taken for a part of
// it. ended is false without a sign of that.
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

// Tree returns the session's processes, as far as they run on this machine.
func Tree(seen *runtime.Observation) []proc.Info {
	if seen.PID <= 0 {
		return nil
	}
	if seen.StartTime > 0 {
		if alive, err := proc.Alive(proc.ID{PID: seen.PID, Start: seen.StartTime}); err != nil || !alive {
			return nil
		}
	}
	tree, err := proc.Tree(seen.PID)
	if err != nil {
		return nil // it ended meanwhile, or cannot be read: nothing to count
	}
	return tree
}

// Survivors returns who of the tree still lives.
func Survivors(tree []proc.Info) []int {
	var left []int
	for _, info := range tree {
		if alive, err := proc.Alive(info.ID); alive || err != nil {
			left = append(left, info.PID)
		}
	}
	return left
}

// Processes returns the session's processes as people see them.
func Processes(seen *runtime.Observation) []client.Process {
	var out []client.Process
	for _, info := range Tree(seen) {
		out = append(out, client.Process{PID: info.PID, PPID: info.PPID, Command: info.Comm, State: info.State.String()})
	}
	return out
}

// CloseServers ends what the sessions of each provider shared.
func CloseServers(providers []runtime.Provider) error {
	var errs []error
	for _, p := range providers {
		errs = append(errs, runtime.TeardownServer(p))
	}
	return errors.Join(errs...)
}
