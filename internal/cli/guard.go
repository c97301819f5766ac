package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/guard"
	"gascity/internal/textfmt"
)

func guardCommand(a *app) *cobra.Command {
	return cmdenv.Group("guard", "Check and test the rules for agents' tools", `These commands read city.toml from disk; no controller is needed.`,
		guardCheckCommand(a), guardTestCommand(a), guardListCommand(a), guardReplayCommand(a))
}

// guarding returns the guard of the city.
func (a *app) guarding(cmd *cobra.Command) (Guarding, error) {
	root, err := a.Root()
	if err != nil {
		return Guarding{}, err
	}
	return a.daemon.Guard(cmd.Context(), root, nil)
}

// subject holds the flags that describe the agent that makes a tool call.
type subject struct{ agent, role, dir string }

// on adds the flags to a command.
func (s *subject) on(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.agent, "agent", "", "the tool call is made by this `agent`")
	cmd.Flags().StringVar(&s.role, "role", "", "the tool call is made by an agent with this `role`")
	cmd.Flags().StringVar(&s.dir, "dir", "", "the agent's working `directory` (default: that of --agent, else the current directory)")
}

// request returns a guard request that says who makes the call: the agent, role and directory of the subject. The caller adds
// the tool and its input.
func (a *app) request(g Guarding, s subject) (guard.Request, error) {
	req := guard.Request{Home: a.Getenv("HOME"), Dir: a.Dir}
	if s.agent != "" {
		known, err := g.Agent(s.agent)
		if err != nil {
			return req, err
		}
		req = known
	}
	req.Role = cmp.Or(s.role, req.Role)
	if s.dir != "" {
		req.Dir = a.Path(s.dir)
	}
	return req, nil
}

func guardCheckCommand(a *app) *cobra.Command {
	var who subject
	var tool, input string
	cmd := &cobra.Command{
		Use:   "check [SCRIPT]",
		Short: "Check whether a command or tool is allowed",
		Long: `Checks a shell script ("-" reads it from standard input), or with --tool any tool and its input. Nothing
is run. Each program that the script would start is checked separately, also if another program starts
it: "sudo: sh: git push" means that sudo starts sh, and sh starts git push.

Exit status: 0 allow, 4 deny, 7 ask (a person would decide).`,
		Example: "  gc guard check \"git push --force\"\n  gc guard check --agent worker --tool Write --input '{\"file_path\":\".env\"}'",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 0) == (tool == "") && input == "" {
				return cmdenv.Usage(cmd, "give either a script or --tool")
			}
			g, err := a.guarding(cmd)
			if err != nil {
				return err
			}
			req, err := a.request(g, who)
			if err != nil {
				return err
			}
			if req.Tool, req.Input, err = a.toolCall(cmd, tool, input, args); err != nil {
				return err
			}
			policy := g.Policy
			if !g.On {
				policy = nil
			}
			return a.showCheck(guard.CheckCall(policy, req))
		},
	}
	who.on(cmd)
	cmd.Flags().StringVar(&tool, "tool", "", "the `name` of a tool, in place of a shell command")
	cmd.Flags().StringVar(&input, "input", "", "the tool's input, `JSON`")
	return a.AddJSONFlag(cmd)
}

// maxScript is the largest script, in bytes, that is read from standard input; the rest is ignored.
const maxScript = 16 << 20

// toolCall returns the tool and its input: those of the flags, else the shell tool with the script.
func (a *app) toolCall(cmd *cobra.Command, tool, input string, args []string) (string, json.RawMessage, error) {
	if tool != "" {
		if len(args) > 0 {
			return "", nil, cmdenv.Usage(cmd, "give either a script or --tool")
		}
		if input != "" && !json.Valid([]byte(input)) {
			return "", nil, cmdenv.Usage(cmd, "--input is not valid JSON")
		}
		return tool, json.RawMessage(input), nil
	}
	if input != "" || len(args) == 0 {
		return "", nil, cmdenv.Usage(cmd, "--input is only allowed with --tool")
	}
	script := args[0]
	if script == "-" {
		data, err := io.ReadAll(io.LimitReader(a.Stdin, maxScript))
		if err != nil {
			return "", nil, fmt.Errorf("cannot read the script: %w", err)
		}
		script = string(data)
	}
	return guard.ShellTool, guard.ShellInput(script), nil
}

// showCheck prints a decision with its parts. The error sets the exit status of the decision.
func (a *app) showCheck(out client.GuardCheck) error {
	err := a.Show(out, nil, func(s render.Formatter) string {
		head := s.Paint(actionColor(guard.Action(out.Action)), out.Action) + ruleText(out.Rule, out.Reason) + "\n"
		if len(out.Parts) == 0 {
			return head
		}
		t := &textfmt.Table{Heads: []string{"", "PART", "RULE"}}
		for _, p := range out.Parts {
			t.Add(actionCell(p), textfmt.Cell{Text: strings.Join(slices.Concat(p.Via, []string{p.Part}), ": ")}, textfmt.Painted(p.Rule, textfmt.Faint))
		}
		return head + s.Table(t)
	})
	return cmp.Or(err, exitOf(guard.Action(out.Action)))
}

// ruleText returns the rule and the reason of a verdict.
func ruleText(rule, reason string) string {
	rule = cmp.Or(rule, "default")
	if reason == "" {
		return "  " + rule
	}
	return "  " + rule + ": " + textfmt.OneLine(reason)
}

// actionColor returns the color of a decision of the guard: red for deny, yellow for ask, green for allow.
func actionColor(action guard.Action) textfmt.Color {
	switch action {
	case guard.Deny:
		return textfmt.Red
	case guard.Ask:
		return textfmt.Yellow
	case guard.Allow:
	}
	return textfmt.Green
}

// actionCell returns the action of a part; "-" if the part has no influence on the decision.
func actionCell(p client.GuardPart) textfmt.Cell {
	if p.Incidental || p.Action == "" {
		return textfmt.Painted("-", textfmt.Faint)
	}
	return textfmt.Painted(p.Action, actionColor(guard.Action(p.Action)))
}

// exitOf returns nil for allow, else the [cmdenv.SilentExit] of a decision.
func exitOf(action guard.Action) error {
	switch action {
	case guard.Deny:
		return cmdenv.SilentExit(cmdenv.Refused)
	case guard.Ask:
		return cmdenv.SilentExit(cmdenv.Asked)
	case guard.Allow:
	}
	return nil
}

func guardTestCommand(a *app) *cobra.Command {
	var all bool
	var who subject
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Test the rules against expected decisions",
		Long: `The file is TOML: case = [{command = "git push -f", want = "deny", rule = "force-push"}, ...], or
[[case]] tables. A case has a command, or a tool with its input; optionally an agent or role; and the
expected decision: allow, ask or deny, and optionally the rule. Exit status 1 if a case fails.`,
		Example: "  gc guard test rules/expectations.toml",
		Args:    cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := a.Path(args[0])
			if err := cmdenv.Exists(path, args[0]); err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("cannot read the file with the cases: %w", err)
			}
			table, err := guard.DecodeTable(args[0], data)
			if fault, ok := errors.AsType[*guard.FileError](err); ok && fault.Unknown != "" {
				fault.Fault += cmdenv.DidYouMean(fault.Unknown, guard.TableWords())
			}
			if err != nil {
				return fmt.Errorf("%w: %w", client.ErrInvalid, err)
			}
			g, err := a.guarding(cmd)
			if err != nil {
				return err
			}
			results, err := a.results(g, who, table)
			if err != nil {
				return err
			}
			return a.showResults(results, all)
		},
	}
	who.on(cmd)
	cmd.Flags().BoolVarP(&all, "verbose", "v", false, "also show the cases that pass")
	return a.AddJSONFlag(cmd)
}

// results evaluates the cases. The agent and the role of a case override the flags.
func (a *app) results(g Guarding, who subject, table guard.Table) ([]guard.Result, error) {
	var missing error
	results, err := g.Policy.Check(table, func(req *guard.Request) {
		known, err := a.request(g, subject{cmp.Or(req.Agent, who.agent), cmp.Or(req.Role, who.role), who.dir})
		if err != nil {
			missing = err
		}
		req.Agent, req.Role, req.Home = known.Agent, known.Role, known.Home
		req.Dir = cmp.Or(req.Dir, known.Dir)
	})
	if missing != nil {
		return nil, missing
	}
	return results, err
}

// showResults prints the failed cases, or all of them. If a case failed, the exit status is 1.
func (a *app) showResults(results []guard.Result, all bool) error {
	failed := 0
	for _, r := range results {
		if !r.Passed {
			failed++
		}
		if a.JSON || r.Passed && !all {
			continue
		}
		mark, paint := "ok  ", textfmt.Green
		if !r.Passed {
			mark, paint = "FAIL", textfmt.Red
		}
		what := cmp.Or(r.Case.Command, fmt.Sprintf("%s %v", r.Case.Tool, r.Case.Input))
		want := string(r.Case.Want)
		if r.Case.Rule != "" {
			want += " by " + r.Case.Rule
		}
		fmt.Fprintf(a.Stdout, "%s  %s\n", a.Paint(paint, mark), textfmt.OneLine(what))
		if !r.Passed {
			fmt.Fprintf(a.Stdout, "      want %s, got %s%s\n", want, r.Verdict.Action, ruleText(r.Verdict.Rule, r.Verdict.Reason))
		}
	}
	if err := a.PrintIfJSON(cmdenv.Rows("cases", results)); err != nil {
		return err
	}
	a.Messagef("%s, %d failed", textfmt.Count(len(results), "case"), failed)
	return failIf(failed > 0)
}
