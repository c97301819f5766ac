// Package workertest tests whether a worker of the Factory Worker API, a program in any
// language, follows the rules of the API. It runs the program with a simulated city over
// a real socket, and reports which rules the program broke.
//
//	results, err := workertest.Check(ctx, workertest.Options{
//		Command: func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "./my-worker") },
//	})
//
// [CheckServer] tests any city from the worker's side. `gc worker check --
// COMMAND` is [Check] from the command line. [City] can be used alone in tests that need a
// simulated city.
package workertest
