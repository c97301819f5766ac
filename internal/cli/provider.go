package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func providerCommand(a *app) *cobra.Command {
	return group("provider", "Where agents can run: list, check", `A provider is a kind of place where agents run. No controller is needed for these commands.`,
		providerListCommand(a), providerCheckCommand(a))
}

func providerListCommand(a *app) *cobra.Command {
	return a.listing(&cobra.Command{
		Use:   "list",
		Short: "Every provider of this program",
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			providers, err := daemon.Providers(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.document(providers)
			}
			t := &table{heads: []string{"PROVIDER", "", "WHAT IT IS", "CAN"}}
			for _, p := range providers {
				mark := ""
				if p.Default {
					mark = "default"
				}
				t.add(cell{p.Name, bold}, cell{mark, green}, cell{text: p.Summary}, cell{strings.Join(append(p.Capabilities, p.Extensions...), " "), faint})
			}
			a.print(t)
			return nil
		},
	})
}

func providerCheckCommand(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "check [PROVIDER]",
		Short: "Prove that a provider keeps the contract on this machine",
		Long: `Runs the conformance cases, the same that its tests run, with real sessions in a temporary place that
is gone afterwards. Without a name it is the default provider. Exit status 1 if a case fails.`,
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			root, err := a.root()
			if err != nil && a.city != "" {
				return err
			}
			check := &check{app: a, all: all}
			if err := daemon.CheckProvider(cmd.Context(), root, strings.Join(args, ""), check.report); err != nil {
				return err
			}
			return check.sum()
		},
		ValidArgsFunction: a.completeProviders,
	}
	cmd.Flags().BoolVarP(&all, "verbose", "v", false, "show the cases that pass too")
	return a.listing(cmd)
}

// check collects and tells results of conformance cases.
type check struct {
	*app
	all     bool
	results []CheckResult
	counts  struct{ pass, fail, skip int }
}

func (c *check) report(r CheckResult) {
	c.results = append(c.results, r)
	mark, paint := "ok  ", green
	switch r.Result {
	case CheckPass:
		c.counts.pass++
	case CheckSkip:
		c.counts.skip++
		mark, paint = "skip", yellow
	default:
		c.counts.fail++
		mark, paint = "FAIL", red
	}
	if c.json || r.Result == CheckPass && !c.all {
		return
	}
	fmt.Fprintf(c.Stdout, "%s  %s  %s\n", c.paint(paint, mark), pad(c.app, bold, r.ID, 28), c.paint(faint, oneLine(r.Sentence)))
	if r.Detail != "" {
		fmt.Fprintf(c.Stdout, "      %s\n", strings.ReplaceAll(strings.TrimSpace(block(r.Detail)), "\n", "\n      "))
	}
}

func (c *check) sum() error {
	if c.json {
		if err := c.document(append([]CheckResult{}, c.results...)); err != nil {
			return err
		}
	}
	c.talk("%s passed, %d failed, %d skipped", count(c.counts.pass, "case"), c.counts.fail, c.counts.skip)
	if c.counts.fail > 0 {
		return said(exitFailed)
	}
	return nil
}
