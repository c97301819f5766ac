// Package elsewhere starts sessions of a conformance suite from another process: it runs the test
// binary of the driver again.
package elsewhere

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"gascity/runtime"
)

// argument is the first argument of a test binary that must start one session and then exit.
const argument = "runtimetest-elsewhere"

// startOrder is sent to the other process's standard input, startReply
// is read from its standard output.
type (
	startOrder struct {
		Dir, Name string
		Config    runtime.Config
	}
	startReply struct{ Kind, Text string }
)

// limit is the time limit of the start in the other process.
const limit = 2 * time.Minute

// sentinels are the sentinel errors that are passed between the processes.
var sentinels = map[string]error{
	"exists":       runtime.ErrSessionExists,
	"not-found":    runtime.ErrSessionNotFound,
	"initializing": runtime.ErrSessionInitializing,
	"died":         runtime.ErrSessionDiedDuringStartup,
	"invalid-name": runtime.ErrInvalidName,
	"unavailable":  runtime.ErrRuntimeUnavailable,
}

// Start implements runtimetest.Harness.Elsewhere for drivers whose TestMain calls [Main]. It runs
// the test binary again, which starts the session.
func Start(ctx context.Context, dir, name string, cfg runtime.Config) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	order, err := json.Marshal(startOrder{dir, name, cfg})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, argument)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(order), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot start %q in another process: %w", name, err)
	}
	var reply startReply
	if err := json.Unmarshal(out, &reply); err != nil {
		return fmt.Errorf("cannot read the reply of the other process: %w", err)
	}
	if reply.Text == "" {
		return nil
	}
	if sentinel, ok := sentinels[reply.Kind]; ok {
		return fmt.Errorf("%w (elsewhere: %s)", sentinel, reply.Text)
	}
	return errors.New("elsewhere: " + reply.Text)
}

// Main must be the first call of the TestMain of a driver that uses [Start]. In the other process
// it opens a provider over dir, starts the session, closes the provider if it can be closed, and exits. In any other process it
// returns at once.
func Main(open func(dir string) runtime.Provider) {
	if len(os.Args) < 2 || os.Args[1] != argument {
		return
	}
	var order startOrder
	if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
		fmt.Fprintln(os.Stderr, "cannot read the order:", err)
		os.Exit(2)
	}
	reply := startReply{}
	p := open(order.Dir)
	if err := obey(p, order); err != nil {
		reply = startReply{Kind: kindOf(err), Text: err.Error()}
	}
	if c, ok := p.(io.Closer); ok {
		if err := c.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "cannot close the provider:", err)
			os.Exit(2)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(reply); err != nil {
		os.Exit(2)
	}
	os.Exit(0)
}

func obey(p runtime.Provider, order startOrder) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit) //nolint:forbidigo // this is the main function of a process
	defer cancel()
	return p.Start(ctx, order.Name, order.Config)
}

// kindOf returns the name of the sentinel error that err matches; empty if it matches none.
func kindOf(err error) string {
	for kind, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return kind
		}
	}
	return ""
}
