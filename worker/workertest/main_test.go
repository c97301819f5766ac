package workertest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"gascity/worker"
)

// The test binary is a bad worker, too.
func TestMain(m *testing.M) {
	if breaks := os.Getenv("WORKERTEST_BREAKS"); breaks != "" {
		if err := bad(context.Background(), breaks); err != nil { //nolint:forbidigo // this is a main
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// bad is a worker that breaks one promise.
func bad(ctx context.Context, breaks string) error {
	connect := func() *worker.Client {
		return &worker.Client{Socket: os.Getenv("GC_WORKER_SOCKET"), Token: os.Getenv("GC_WORKER_TOKEN"), RunID: os.Getenv("GC_RUN_ID")}
	}
	c := connect()
	if err := c.Report(ctx, worker.Started, worker.Detail{}); err != nil {
		return err
	}
	if err := c.Report(ctx, worker.Ready, worker.Detail{}); err != nil {
		return err
	}
	for {
		for m, err := range c.Messages(ctx) {
			if err != nil {
				return err
			}
			turns := 1
			if m.Kind != worker.PromptMessage && breaks != "takes" {
				if err := c.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Refused}); err != nil {
					return err
				}
				continue
			}
			if breaks == "twice" {
				turns = 2
			}
			for range turns {
				if err := turn(ctx, c, m); err != nil {
					return err
				}
			}
			if breaks == "forgets" { // what it has done
				c = connect()
				break
			}
			if breaks == "dies" {
				return nil
			}
		}
		if breaks != "forgets" && breaks != "lingers" {
			return nil
		}
	}
}

func turn(ctx context.Context, c *worker.Client, m worker.Message) error {
	for _, do := range []func() error{
		func() error { return c.Report(ctx, worker.Busy, worker.Detail{PromptID: m.ID}) },
		func() error { return c.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Submitted}) },
		func() error { return c.Report(ctx, worker.Idle, worker.Detail{PromptID: m.ID}) },
		func() error { return c.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Consumed}) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}
