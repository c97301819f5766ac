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
	return cmdenv.Group("provider", "List and test runtime providers", `A runtime provider is what agents run in. No controller is needed for these commands.`,
		providerListCommand(a), providerCheckCommand(a), providerServeCommand(a))
}

func providerListCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "list",
		Short: "List runtime providers and their capabilities",
		Long: `Shows the runtime providers: what agents run in, the value of provider in [session]. The programs that
agents are, the value of provider in [[agents]], are listed by: gc agent-cli list`,
		Args: cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			providers, err := daemon.Providers(cmd.Context())
			if err != nil {
				return err
			}
			return a.Show(cmdenv.Rows("providers", providers), func(s render.Formatter) string { return s.Providers(providers) })
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
default runtime provider. A session script (exec:<script>) is tested operation by operation instead,
unless --contract is given: what works, what is missing, what is wrong. Failures are printed as they are
found; what was skipped is listed at the end, with the reason. The whole contract takes minutes with a
script: --only 'watch.*' runs the cases that you work on. Exit status 1 if a case fails.`,
		Args: cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if operations && (contract || cases != nil) {
				return cmdenv.Usage(cmd, "--operations is not the contract: it goes with neither --contract nor --only")
			}
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			root, err := a.Root()
			if err != nil && a.City != "" {
				return err
			}
			check := &check{app: a, all: all}
			selection := strings.Join(args, "")
			if operations || strings.Contains(selection, ":") && !contract && cases == nil {
				err = daemon.CheckOperations(cmd.Context(), root, selection, check.report)
			} else {
				err = daemon.CheckProvider(cmd.Context(), root, selection, cases, check.report)
			}
			if err != nil {
				return err
			}
			return check.sum()
		},
		ValidArgsFunction: a.completeProviders,
	}
	cmd.Flags().BoolVarP(&all, "verbose", "v", false, "show the cases that pass too")
	cmd.Flags().BoolVar(&operations, "operations", false, "try operation by operation, with one session")
	cmd.Flags().BoolVar(&contract, "contract", false, "run the whole contract, also on a script")
	cmd.Flags().StringSliceVar(&cases, "only", nil, "try these `cases` of the contract alone, by their ids or patterns")
	return a.AddJSONFlag(cmd)
}

// resultIndent is where the name of a case begins.
const resultIndent = 6

// check collects and prints results of conformance cases.
type check struct {
	*app
	all     bool
	results []CheckResult
	counts  struct{ pass, fail, skip int }
}

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

func (c *check) sum() error {
	if c.JSON {
		if err := c.PrintJSON(cmdenv.Rows("results", c.results)); err != nil {
			return err
		}
	}
	if !c.JSON && !c.all {
		c.skipped()
	}
	c.Messagef("%s passed, %d failed, %d skipped", textfmt.Count(c.counts.pass, "case"), c.counts.fail, c.counts.skip)
	if c.counts.fail > 0 {
		return cmdenv.SilentExit(cmdenv.Failed)
	}
	return nil
}

// skipped lists the cases that say nothing about the provider, by reason.
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
