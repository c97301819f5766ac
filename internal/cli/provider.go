package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

func providerCommand(a *app) *cobra.Command {
	return cmdenv.Group("provider", "List and test runtime providers", `A runtime provider is the backend in which agents run, such as gc's own terminal, tmux or a pod. These
commands need no controller.`,
		providerListCommand(a), providerCheckCommand(a), providerServeCommand(a))
}

func providerListCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "list",
		Short: "List runtime providers and their capabilities",
		Long: `Shows the runtime providers, the backends in which agents run: the value of provider in [session]. To
list agent CLIs, the value of provider in [[agents]]: gc agent-cli list`,
		Example: "  gc provider list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			providers, err := a.daemon.Providers(cmd.Context())
			return a.Show(cmdenv.Rows("providers", providers), err, func(s render.Formatter) string { return s.Providers(providers) })
		},
	})
}

func providerCheckCommand(a *app) *cobra.Command {
	var all, operations, contract bool
	var cases []string
	cmd := &cobra.Command{
		Use:   "check [PROVIDER]",
		Short: "Test a runtime provider on this machine",
		Long: `Runs the conformance tests with real sessions in a temporary directory. Without a name it tests the
default runtime provider. For a session script (exec:<script>) it tests each operation once and reports
what works, what is missing and what is wrong; --contract runs the conformance tests instead. Failures
are printed at once; skipped cases are listed at the end with the reason. All tests of a script take
minutes: use --only 'watch.*' for the cases that you work on. Exit status 1 if a case fails.`,
		Example: "  gc provider check\n  gc provider check exec:./my-script --contract --only 'watch.*'",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if operations && (contract || cases != nil) {
				return cmdenv.Usage(cmd, "--operations cannot be used with --contract or --only")
			}
			root, err := a.Root()
			if err != nil && a.City != "" {
				return err
			}
			check := &check{app: a, all: all}
			selection := cmdenv.First(args)
			if operations || strings.Contains(selection, ":") && !contract && cases == nil {
				err = a.daemon.CheckOperations(cmd.Context(), root, selection, check.report)
			} else {
				err = a.daemon.CheckProvider(cmd.Context(), root, selection, cases, check.report)
			}
			if err != nil {
				return err
			}
			return check.finish()
		},
		ValidArgsFunction: a.completeProviders,
	}
	cmd.Flags().BoolVarP(&all, "verbose", "v", false, "also show the cases that pass")
	cmd.Flags().BoolVar(&operations, "operations", false, "test each operation once, with one session")
	cmd.Flags().BoolVar(&contract, "contract", false, "run the conformance tests even if the provider is a session script")
	cmd.Flags().StringSliceVar(&cases, "only", nil, "run only these conformance `cases`: ids or patterns")
	return a.AddJSONFlag(cmd)
}

// resultIndent is the column, from 0, at which the name of a case begins.
const resultIndent = 6

// check collects and prints results of conformance cases.
type check struct {
	*app
	all     bool // also print the cases that pass
	results []CheckResult
	counts  struct{ pass, fail, skip int }
}

// report adds a result and prints it if it failed, or always with all; with --json it prints nothing.
func (c *check) report(r CheckResult) {
	c.results = append(c.results, r)
	mark, paint := "ok  ", textfmt.Green
	switch r.Result {
	case CheckPass:
		c.counts.pass++
	case CheckSkip:
		c.counts.skip++
		mark, paint = "skip", textfmt.Yellow
	default:
		c.counts.fail++
		mark, paint = "FAIL", textfmt.Red
	}
	if c.JSON || r.Result != CheckFail && !c.all {
		return
	}
	fmt.Fprintf(c.Stdout, "%s  %s  %s\n", c.Paint(paint, mark), c.Pad(textfmt.Bold, r.ID, 28), c.Paint(textfmt.Faint, textfmt.OneLine(r.Sentence)))
	if r.Detail != "" {
		fmt.Fprintln(c.Stdout, textfmt.Indent(r.Detail, resultIndent))
	}
}

// finish prints the skipped cases and the summary, or all results with --json. The exit status is
// [cmdenv.Failed] if a case failed.
func (c *check) finish() error {
	if err := c.PrintIfJSON(cmdenv.Rows("results", c.results)); err != nil {
		return err
	}
	if !c.JSON && !c.all {
		c.skipped()
	}
	c.Messagef("%s passed, %d failed, %d skipped", textfmt.Count(c.counts.pass, "case"), c.counts.fail, c.counts.skip)
	return failIf(c.counts.fail > 0)
}

// skipped prints the cases that were skipped, grouped by the reason: each reason once, with its cases.
func (c *check) skipped() {
	var reasons []string
	cases := map[string][]string{}
	for _, r := range c.results {
		if r.Result != CheckSkip {
			continue
		}
		if cases[r.Detail] == nil {
			reasons = append(reasons, r.Detail)
		}
		cases[r.Detail] = append(cases[r.Detail], r.ID)
	}
	for _, reason := range reasons {
		fmt.Fprintf(c.Stdout, "%s  %s\n", c.Paint(textfmt.Yellow, "skip"), textfmt.OneLine(reason))
		fmt.Fprintln(c.Stdout, textfmt.Indent(c.Paint(textfmt.Faint, strings.Join(cases[reason], ", ")), resultIndent))
	}
}

// providerServeCommand returns a hidden command for session scripts, not for people: its
// exit status is that of the session script protocol.
func providerServeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "serve PROVIDER OPERATION [SESSION [ARGUMENT]...]",
		Short:  "Run a runtime provider as a session script",
		Hidden: true,
		Long: `Serves a runtime provider to the runtime provider exec. A session script that runs this command with the
script's own arguments behaves as that runtime provider. The state of the sessions is in the directory
GC_EXEC_STATE_DIR, or in the city.`,
		Args: cmdenv.Between(2, maxScriptArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := a.Root()
			if err != nil {
				root = "" // GC_EXEC_STATE_DIR may be set
			}
			return cmdenv.SilentExit(a.daemon.ServeProvider(cmd.Context(), root, args[0], args[1:]))
		},
	}
	cmd.Flags().SetInterspersed(false) // arguments of an operation may begin with a dash
	return cmd
}

// maxScriptArgs is the largest number of arguments; no real call has as many.
const maxScriptArgs = 1 << 10
