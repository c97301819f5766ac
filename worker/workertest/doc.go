// Package workertest checks that a worker of the Factory Worker API, a program in any
// language, keeps what it promises: it drives the program by a city that is made up for
// the purpose, over a real socket, and reports which promises it broke.
//
//	results, err := workertest.Check(ctx, workertest.Options{
//		Command: func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "./my-worker") },
//	})
//
// [CheckServer] does the same from the other side, with any city. `gc worker check --
// COMMAND` is [Check] from the command line. [City] alone serves tests that need a city
// and no judgement.
package workertest
