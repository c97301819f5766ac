package cli

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
)

// Workers tries programs that speak for agents.
type Workers interface {
	// WorkerPromises are the names of what a worker promises, in the order of the contract.
	WorkerPromises() []string
	// CheckWorker tries the promises and reports each result, in that order. An error
	// means that they could not be tried; a broken promise is none.
	CheckWorker(ctx context.Context, o WorkerCheck, report func(CheckResult)) error
	// WorkerAPI returns the OpenAPI document of the worker API.
	WorkerAPI() ([]byte, error)
}

// WorkerCheck says what to try, and with which worker.
type WorkerCheck struct {
	Command    func(ctx context.Context) *exec.Cmd // the worker, not started; its environment is added
	ToolPrompt string                              // a prompt upon which it uses a tool; empty: what concerns tools is left out
	LongPrompt string                              // a prompt upon which it works until it is interrupted; may be empty
	Only       []string                            // the promises to try; empty: all
	Patience   time.Duration                       // how long a promise waits for the worker; zero: 30 s
}

func workerCommand(a *app) *cobra.Command {
	return cmdenv.Group("worker", "Test a worker program; print the worker API", `A worker is a program that speaks the worker API: it reports for an agent, accepts its prompts and asks
before it uses a tool. No controller is needed for these commands.`, workerCheckCommand(a), workerOpenAPICommand(a))
}

func workerOpenAPICommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{ // it prints JSON always
		Use:   "openapi",
		Short: "Print the worker API as OpenAPI",
		Long: `Prints the OpenAPI 3.1 document of the worker API. A controller serves the same one at GET /openapi.json
of the worker socket.`,
		Example: "  gc worker openapi > worker-openapi.json",
		Args:    cmdenv.Between(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if a.workers == nil {
				return errors.New("this program was built without the worker API")
			}
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
	var known []string
	if a.workers != nil {
		known = a.workers.WorkerPromises()
	}
	var all, quiet bool
	cmd := &cobra.Command{
		Use:   "check [flags] -- COMMAND [ARGUMENT]...",
		Short: "Test a worker program against the worker API",
		Long: `Starts the command once for each test, with GC_WORKER_SOCKET, GC_WORKER_TOKEN and GC_RUN_ID of a test
city on a private socket, drives it, and reports which tests it passes: pass, fail, or skip with the
reason. Capabilities that the worker does not announce with "started" are skipped, and tools without
--tool-prompt. Exit status 1 if a test fails.`,
		Example: `gc worker check -- python3 worker.py
gc worker check --tool-prompt 'run: touch {file}' --long-prompt 'run: sleep 1000' -- ./my-worker --quiet
gc worker check --only prompts,restarted --json -- ./my-worker`,
		Args: cmdenv.Between(1, maxScriptArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.workers == nil {
				return errors.New("this program was built without the check of workers")
			}
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
			return check.sum()
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // programs and files
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // the rest is the worker's
	flags.BoolVarP(&all, "verbose", "v", false, "show the promises that it keeps too")
	flags.BoolVarP(&quiet, "quiet", "q", false, "do not show what the worker writes on its standard error")
	flags.StringVar(&o.ToolPrompt, "tool-prompt", "", "a `prompt` that makes it use a tool; {file} is a path that the tool must make")
	flags.StringVar(&o.LongPrompt, "long-prompt", "", "a `prompt` that makes it work until it is interrupted")
	flags.StringSliceVar(&o.Only, "only", nil, "try these `promises` alone")
	flags.DurationVar(&o.Patience, "patience", 30*time.Second, "how long a promise waits for the worker")
	cmdenv.Words(cmd, "only", known...)
	return a.AddJSONFlag(cmd)
}

// program returns where to look for a program that is named by a path.
func (a *app) program(name string) string {
	if c := exec.Command(name); c.Path == name { //nolint:noctx // it is not started
		return a.Path(name)
	}
	return name
}
