package main

import (
	"context"

	"gascity/internal/cli"
	"gascity/internal/server/workerapi"
	"gascity/worker/workertest"
)

// workers implements [cli.Workers] with the tests of package workertest.
type workers struct{}

func (workers) WorkerPromises() []string { return workertest.Promises() }

// CheckWorker implements [cli.Workers] with package workertest.
func (workers) CheckWorker(ctx context.Context, o cli.WorkerCheck, report func(cli.CheckResult)) error {
	results, err := workertest.Check(ctx, workertest.Options(o))
	if err != nil {
		return err
	}
	for _, r := range results {
		report(resultOf(r))
	}
	return nil
}

// WorkerAPI returns the OpenAPI document of the worker API.
func (workers) WorkerAPI() ([]byte, error) { return workerapi.Description() }

// resultOf converts the result of one test of a worker for the command line.
func resultOf(r workertest.Result) cli.CheckResult {
	out := cli.CheckResult{ID: r.ID, Sentence: r.Sentence, Result: cli.CheckPass, Detail: r.Reason, Took: r.Took}
	switch {
	case r.Skipped:
		out.Result = cli.CheckSkip
	case r.Err != nil:
		out.Result, out.Detail = cli.CheckFail, r.Err.Error()
	}
	return out
}
