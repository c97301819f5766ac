package hookrunner_test

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"testing"

	"gascity/internal/hookrunner"
)

// asHook makes the test binary the program that a hook calls.
const asHook = "GC_TEST_AS_HOOK"

func TestMain(m *testing.M) {
	if os.Getenv(asHook) == "" {
		os.Exit(m.Run())
	}
	args, called := hookrunner.Called(os.Args[1:])
	if !called {
		os.Exit(99)
	}
	if pid := os.Getenv("GC_TEST_STAND_STILL"); pid != "" { // until it is killed
		if err := os.WriteFile(pid, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			os.Exit(98)
		}
		forever := make(chan os.Signal, 1)
		signal.Notify(forever, os.Interrupt)
		<-forever
	}
	os.Exit(answer(args))
}

func answer(args []string) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // it is the program
	defer cancel()
	return hookrunner.Run(ctx, hookrunner.Call{Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv})
}
