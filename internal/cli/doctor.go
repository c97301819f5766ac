package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
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
in an empty directory as this user; that takes up to some minutes, and some tokens.`,
		Args: cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			root, err := a.Root()
			if err != nil {
				if a.City != "" {
					return err
				}
				a.Messagef("not in a city: looking at this machine alone")
			}
			visit := &visit{app: a, all: all}
			if err := daemon.Doctor(cmd.Context(), root, visit.report); err != nil {
				return err
			}
			if ask {
				a.Messagef("each agent CLI is asked a question; that may take some minutes")
				if err := daemon.AskCLIs(cmd.Context(), root, visit.report); err != nil {
					return err
				}
			}
			return visit.sum()
		},
	}
	cmd.Flags().BoolVarP(&all, "verbose", "v", false, "show passed checks too")
	cmd.Flags().BoolVar(&ask, "ask", false, "have each agent CLI answer a question")
	return a.AddJSONFlag(cmd)
}

// findingIndent is where the message of a finding begins.
const findingIndent = 9

// visit collects and prints findings.
type visit struct {
	*app
	all                bool
	findings           []Finding
	fine, warn, broken int
}

func (v *visit) report(f Finding) {
	v.findings = append(v.findings, f)
	mark, paint := "ok     ", textfmt.Green
	switch f.Level {
	case LevelOK:
		v.fine++
	case LevelWarning:
		v.warn++
		mark, paint = "warning", textfmt.Yellow
	default:
		v.broken++
		mark, paint = "problem", textfmt.Red
	}
	if v.JSON || f.Level == LevelOK && !v.all {
		return
	}
	v.Linef("%s  %s: %s", v.Paint(paint, mark), v.Paint(textfmt.Bold, f.Check), strings.TrimSpace(textfmt.Indent(f.Message, findingIndent)))
	if f.Remedy != "" {
		v.Linef("         %s %s", v.Paint(textfmt.Faint, "fix:"), f.Remedy)
	}
}

// namedChecks is how many passed checks the summary names.
const namedChecks = 5

// passed returns which checks passed, if they were not shown: their names if they are few, else
// how to see them.
func (v *visit) passed() string {
	if v.all || v.fine == 0 {
		return ""
	}
	if v.fine > namedChecks {
		return " (show them with: gc doctor -v)"
	}
	var names []string
	for _, f := range v.findings {
		if f.Level == LevelOK {
			names = append(names, f.Check)
		}
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func (v *visit) sum() error {
	if v.JSON {
		if err := v.PrintJSON(cmdenv.Rows("findings", v.findings)); err != nil {
			return err
		}
	} else {
		v.Messagef("%s passed%s, %s, %s", textfmt.Count(v.fine, "check"), v.passed(), textfmt.Count(v.warn, "warning"), textfmt.Count(v.broken, "problem"))
	}
	if v.broken > 0 {
		return cmdenv.SilentExit(cmdenv.Failed)
	}
	return nil
}
