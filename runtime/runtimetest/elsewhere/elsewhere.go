// Package elsewhere lets a conformance suite start sessions from another operating system
// process: the test binary of the driver, run again.
package elsewhere

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"gascity/runtime"
)

// argument is the first argument of a test binary that is to start one
// session and nothing else.
const argument = "runtimetest-elsewhere"

// startOrder goes to the other process's standard input, startReply
// comes from its standard output.
type (
	startOrder struct {
		Dir, Name string
		Config    runtime.Config
	}
	startReply struct{ Kind, Text string }
)

// limit bounds the start in the other process.
const limit = 2 * time.Minute

// sentinels are the errors that keep their identity across processes.
var sentinels = map[string]error{
	"exists":       runtime.ErrSessionExists,
	"not-found":    runtime.ErrSessionNotFound,
	"initializing": runtime.ErrSessionInitializing,
	"died":         runtime.ErrSessionDiedDuringStartup,
	"invalid-name": runtime.ErrInvalidName,
	"unavailable":  runtime.ErrRuntimeUnavailable,
}

// Start is a runtimetest.Harness.Elsewhere for drivers whose TestMain calls
// [Main]: it runs the test binary again and lets it start the session.
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
		return fmt.Errorf("cannot start %q elsewhere: %w", name, err)
	}
	var reply startReply
	if err := json.Unmarshal(out, &reply); err != nil {
		return fmt.Errorf("cannot understand the other process: %w", err)
	}
	if reply.Text == "" {
		return nil
	}
	if sentinel, ok := sentinels[reply.Kind]; ok {
		return fmt.Errorf("%w (elsewhere: %s)", sentinel, reply.Text)
	}
	return errors.New("elsewhere: " + reply.Text)
}

// Main is the first call of the TestMain of a driver that uses
// [Start]. In the other process it opens a provider over dir, starts
// the session and exits; everywhere else it returns at once.
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
	if err := obey(open(order.Dir), order); err != nil {
		reply = startReply{Kind: kindOf(err), Text: err.Error()}
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

func kindOf(err error) string {
	for kind, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return kind
		}
	}
	return ""
}
