package cli

import (
	"context"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
)

// Workers tests worker programs.
type Workers interface {
	// WorkerPromises returns the names of the tests for worker programs, in their order.
	WorkerPromises() []string
	// CheckWorker runs the tests and reports each result, in that order. A failed test is
	// a result; an error means that the tests could not be run.
	CheckWorker(ctx context.Context, o WorkerCheck, report func(CheckResult)) error
	// WorkerAPI returns the OpenAPI document of the worker API.
	WorkerAPI() ([]byte, error)
}

// WorkerCheck holds the options of [Workers.CheckWorker].
type WorkerCheck struct {
	Command    func(ctx context.Context) *exec.Cmd // returns the worker's command, not started; the check adds variables to its environment
	ToolPrompt string                              // a prompt that makes the worker use a tool; empty: tests of tools are skipped
	LongPrompt string                              // a prompt that makes the worker work until it is interrupted; may be empty
	Only       []string                            // the tests to run; empty: all
	Patience   time.Duration                       // how long a test waits for the worker; zero: 30 s
}

func workerCommand(a *app) *cobra.Command {
	return cmdenv.Group("worker", "Test a worker program; print the worker API", `A worker is a program that speaks the worker API: it reports for an agent, accepts its prompts and asks
for permission before it uses a tool. No controller is needed for these commands.`, workerCheckCommand(a), workerOpenAPICommand(a))
}

func workerOpenAPICommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{ // the output is JSON with and without --json
		Use:   "openapi",
		Short: "Print the worker API as OpenAPI",
		Long: `Prints the OpenAPI 3.1 document of the worker API. A controller serves the same one at GET /openapi.json
of the worker socket.`,
		Example: "  gc worker openapi > worker-openapi.json",
		RunE: func(*cobra.Command, []string) error {
			text, err := a.workers.WorkerAPI()
			if err == nil {
				_, err = a.Stdout.Write(text)
			}
			return err
		},
	})
}

func workerCheckCommand(a *app) *cobra.Command {
	var o WorkerCheck
	known := a.workers.WorkerPromises()
	var all, quiet bool
	cmd := &cobra.Command{
		Use:   "check [flags] -- COMMAND [ARGUMENT]...",
		Short: "Test a worker program against the worker API",
		Long: `Starts the command once for each test, with GC_WORKER_SOCKET, GC_WORKER_TOKEN and GC_RUN_ID of a test
city on a private socket, sends it messages as a city does, and reports the result of each test: pass,
fail, or skip with the reason. It skips the tests of abilities that the worker does not announce with
"started", and, without --tool-prompt, the tests of tools. Exit status 1 if a test fails.`,
		Example: `gc worker check -- python3 worker.py
gc worker check --tool-prompt 'run: touch {file}' --long-prompt 'run: sleep 1000' -- ./my-worker --quiet
gc worker check --only prompts,restarted --json -- ./my-worker`,
		Args: cmdenv.Between(1, maxScriptArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Command = func(ctx context.Context) *exec.Cmd {
				c := exec.CommandContext(ctx, args[0], args[1:]...)
				c.Dir = a.Dir
				if !quiet {
					c.Stderr = a.Stderr
				}
				return c
			}
			if _, err := exec.LookPath(a.program(args[0])); err != nil {
				return err
			}
			for _, id := range o.Only {
				if err := cmdenv.OneOf(cmd, "only", id, known...); err != nil {
					return err
				}
			}
			check := &check{app: a, all: all}
			if err := a.workers.CheckWorker(cmd.Context(), o, check.report); err != nil {
				return err
			}
			return check.finish()
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // programs and files
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // the remaining arguments are those of the worker
	flags.BoolVarP(&all, "verbose", "v", false, "also show the tests that pass")
	flags.BoolVarP(&quiet, "quiet", "q", false, "do not show the worker's standard error")
	flags.StringVar(&o.ToolPrompt, "tool-prompt", "", "a `prompt` that makes the worker use a tool; {file} is a path that the tool must create")
	flags.StringVar(&o.LongPrompt, "long-prompt", "", "a `prompt` that makes the worker work until it is interrupted")
	flags.StringSliceVar(&o.Only, "only", nil, "run only these `tests`")
	flags.DurationVar(&o.Patience, "patience", 30*time.Second, "how long a test waits for the worker")
	cmdenv.Words(cmd, "only", known...)
	return a.AddJSONFlag(cmd)
}

// program returns the absolute path for a program that is named by a path; another name is returned
// unchanged, to be found in PATH.
func (a *app) program(name string) string {
	if c := exec.Command(name); c.Path == name { //nolint:noctx // it is not started
		return a.Path(name)
	}
	return name
}
