package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/textfmt"
)

func doctorCommand(a *app) *cobra.Command {
	var all, ask bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find problems with the city or this machine",
		Long: `Checks the machine, the configuration, the files that it names, the sockets, the controller and the
sessions, and prints a fix for each problem. Outside a city it checks the machine alone. Exit status 1
if there is a problem; a warning does not count.
The last check sends a prompt to a test agent on each runtime provider of the city. With --ask, each
agent CLI that the city uses (outside a city: each installed one) must answer a prompt too. gc starts it
in an empty directory as this user. This can take some minutes and uses some tokens.`,
		Example: "  gc doctor\n  gc doctor --ask",
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := a.Root()
			if err != nil {
				if a.City != "" {
					return err
				}
				a.Messagef("no city.toml here: checking this machine only")
			}
			findings := &findingReport{app: a, all: all}
			if err := a.daemon.Doctor(cmd.Context(), root, findings.report); err != nil {
				return err
			}
			if ask {
				a.Messagef("sending a prompt to each agent CLI; this may take some minutes")
				if err := a.daemon.AskCLIs(cmd.Context(), root, findings.report); err != nil {
					return err
				}
			}
			return findings.finish()
		},
	}
	cmd.Flags().BoolVarP(&all, "verbose", "v", false, "show passed checks too")
	cmd.Flags().BoolVar(&ask, "ask", false, "also send a prompt to each agent CLI")
	return a.AddJSONFlag(cmd)
}

// findingIndent is the column, from 0, at which the message of a finding begins.
const findingIndent = 9

// findingReport collects and prints findings.
type findingReport struct {
	*app
	all                        bool // also print passed checks
	findings                   []client.Finding
	passed, warnings, problems int // how many findings of each level
}

// report adds a finding and prints it, unless --json is set or it is a passed check that is not shown.
func (v *findingReport) report(f client.Finding) {
	v.findings = append(v.findings, f)
	mark, paint := "ok     ", textfmt.Green
	switch f.Level {
	case client.LevelOK:
		v.passed++
	case client.LevelWarning:
		v.warnings++
		mark, paint = "warning", textfmt.Yellow
	default:
		v.problems++
		mark, paint = "problem", textfmt.Red
	}
	if v.JSON || f.Level == client.LevelOK && !v.all {
		return
	}
	v.Linef("%s  %s: %s", v.Paint(paint, mark), v.Paint(textfmt.Bold, f.Check), strings.TrimSpace(textfmt.Indent(f.Message, findingIndent)))
	if f.Remedy != "" {
		v.Linef("         %s %s", v.Paint(textfmt.Faint, "fix:"), f.Remedy)
	}
}

// namedChecks is the largest number of passed checks that the summary names.
const namedChecks = 5

// passedText names the passed checks in parentheses; if they are many, it names the command that
// shows them. It is empty if no check passed or they were shown.
func (v *findingReport) passedText() string {
	if v.all || v.passed == 0 {
		return ""
	}
	if v.passed > namedChecks {
		return " (show them with: gc doctor -v)"
	}
	var names []string
	for _, f := range v.findings {
		if f.Level == client.LevelOK {
			names = append(names, f.Check)
		}
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// finish prints the summary, or all findings with --json. The exit status is 1 if there was a problem.
func (v *findingReport) finish() error {
	if err := v.PrintIfJSON(client.Findings{Findings: append([]client.Finding{}, v.findings...)}); err != nil {
		return err
	}
	v.Messagef("%s passed%s, %s, %s", textfmt.Count(v.passed, "check"), v.passedText(), textfmt.Count(v.warnings, "warning"), textfmt.Count(v.problems, "problem"))
	return failIf(v.problems > 0)
}
