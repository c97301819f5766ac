package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity/internal/cli/render"
	"gascity/internal/guard"
	"gascity/internal/textfmt"
)

// ruleRow is one rule in the output of gc guard list.
type ruleRow struct {
	Set string `json:"set"`           // the rule set or the file that has the rule
	For string `json:"for,omitempty"` // the pattern of roles and agents; empty is all
	Off bool   `json:"off,omitempty"` // disabled
	guard.Rule
}

// ruleList is the output of gc guard list --json.
type ruleList struct {
	Guarded bool         `json:"guarded"`
	Default guard.Action `json:"default"`
	Ask     string       `json:"ask_timeout"`
	Rules   []ruleRow    `json:"rules"`
}

func guardListCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "list",
		Short: "List the active rules and their source",
		Long: `Lists the guard rules of city.toml and of its rule sets, with the decision of each rule, the agents or
roles to which it applies, and the rule set or file that has it. The last line is the decision for calls
that match no rule. Without a [guard] in city.toml everything is allowed, and the built-in rule sets are
listed.`,
		Example: "  gc guard list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			g, err := a.guarding(cmd)
			if err != nil {
				return err
			}
			list := ruleList{Guarded: g.On, Default: g.Policy.Default(), Ask: g.AskTimeout.String(), Rules: rowsOf(g.Policy.Source())}
			if !g.On {
				return a.PrintResult(list, nil, "city.toml has no [guard]: everything is allowed; built-in rule sets: "+strings.Join(guard.Shipped(), ", "))
			}
			t := &textfmt.Table{Heads: []string{"RULE", "ACTION", "FOR", "FROM", "REASON"}}
			for _, r := range list.Rules {
				action := textfmt.Painted(string(r.Action), actionColor(r.Action))
				if r.Off {
					action = textfmt.Painted("off", textfmt.Faint)
				}
				t.Add(textfmt.Painted(r.ID, textfmt.Bold), action, textfmt.Cell{Text: r.appliesTo()}, textfmt.Painted(filepath.Base(r.Set), textfmt.Faint), textfmt.Cell{Text: textfmt.OneLine(r.Reason)})
			}
			err = a.Show(list, nil, func(s render.Formatter) string { return s.Table(t) })
			a.Messagef("calls that match no rule: %s", list.Default)
			return err
		},
	})
}

// appliesTo returns the roles and agents to which a rule applies; empty for all.
func (r ruleRow) appliesTo() string {
	return strings.Join(textfmt.NonEmpty(r.For, strings.Join(r.Roles, ","), strings.Join(r.Agents, ",")), " ")
}

// rowsOf returns a row for each rule of a guard, for the listing: first the rules for all agents, then those of single
// roles.
func rowsOf(source guard.Source) []ruleRow {
	rows := []ruleRow{}
	add := func(role string, sets []guard.Set) {
		for _, set := range sets {
			for _, r := range set.Rules {
				rows = append(rows, ruleRow{Set: set.Name, For: role, Off: source.Disabled(r.ID), Rule: r})
			}
		}
	}
	add("", source.Sets)
	for _, r := range source.Roles {
		add(r.Role, r.Sets)
	}
	return rows
}

// replayed is a recorded call with a decision that has changed.
type replayed struct {
	At    time.Time     `json:"at"`
	Agent string        `json:"agent"`
	Tool  string        `json:"tool"`
	Was   guard.Verdict `json:"was"`
	Now   guard.Verdict `json:"now"`
}

// replay is the output of gc guard replay --json.
type replay struct {
	Calls   int        `json:"calls"`
	Cut     int        `json:"cut"` // calls whose input was too long to be recorded
	Changed []replayed `json:"changed"`
}

func guardReplayCommand(a *app) *cobra.Command {
	var since string
	var with []string
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Re-evaluate past tool calls with current rules",
		Long: `Evaluates the recorded tool calls of the agents again, with the rules of city.toml on disk and of the
rule sets and files of --with, and prints the calls whose decision would change. Use it before you
change rules. The controller records calls in .gc/log/guard.jsonl, readable by its user only, up to 32
MiB, without the values of credentials.`,
		Example: "  gc guard replay --since 7d\n  gc guard replay --since 24h --with protected-branch --with rules/new.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := a.ParseTime("--since", since)
			if err != nil {
				return err
			}
			root, err := a.Root()
			if err != nil {
				return err
			}
			g, err := a.daemon.Guard(cmd.Context(), root, a.furtherRules(with))
			if err != nil {
				return err
			}
			calls, err := a.daemon.GuardCalls(cmd.Context(), root, from)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // nothing was recorded yet
				return err
			}
			return a.showReplay(replayOf(g, calls))
		},
	}
	cmd.Flags().StringVar(&since, "since", "7d", "only calls after this `time`: a duration such as 5m or 7d, or a date and time")
	cmd.Flags().StringArrayVar(&with, "with", nil, "also use this rule set or `file` of rules; may be repeated")
	return a.AddJSONFlag(cmd)
}

// furtherRules returns the values of --with, with the paths of files made absolute.
func (a *app) furtherRules(with []string) []string {
	out := make([]string, len(with))
	for i, name := range with {
		if out[i] = name; strings.ContainsAny(name, "/.") {
			out[i] = a.Path(name)
		}
	}
	return out
}

// replayOf decides recorded tool calls again with the current rules, and returns the calls whose decision is different
// now.
func replayOf(g Guarding, calls []guard.Call) replay {
	out := replay{Calls: len(calls), Changed: []replayed{}}
	for _, c := range calls {
		if c.Cut {
			out.Cut++
			continue
		}
		now := guard.Verdict{Action: guard.Allow}
		if g.On {
			now = g.Policy.Decide(c.Request)
		}
		if now.Action != c.Action {
			out.Changed = append(out.Changed, replayed{At: c.At, Agent: c.Agent, Tool: c.Tool, Was: c.Verdict, Now: now})
		}
	}
	return out
}

// showReplay prints the calls whose decision changed, and a summary.
func (a *app) showReplay(r replay) error {
	t := &textfmt.Table{Heads: []string{"TIME", "AGENT", "TOOL", "BEFORE", "NOW", "RULE", "CALL"}}
	for _, c := range r.Changed {
		t.Add(textfmt.Cell{Text: c.At.In(a.Now().Location()).Format("2006-01-02 15:04")}, textfmt.Painted(c.Agent, textfmt.Bold), textfmt.Cell{Text: c.Tool},
			textfmt.Painted(string(c.Was.Action), actionColor(c.Was.Action)), textfmt.Painted(string(c.Now.Action), actionColor(c.Now.Action)),
			textfmt.Cell{Text: cmp.Or(c.Now.Rule, c.Was.Rule)}, textfmt.Cell{Text: textfmt.OneLine(cmp.Or(c.Now.Part, c.Was.Part))})
	}
	err := a.Show(r, nil, func(s render.Formatter) string {
		if len(r.Changed) == 0 {
			return ""
		}
		return s.Table(t)
	})
	cut := ""
	if r.Cut > 0 {
		cut = fmt.Sprintf("; %d were left out, because their input was too long to be recorded", r.Cut)
	}
	a.Messagef("%s, %d with another decision%s", textfmt.Count(r.Calls, "recorded call"), len(r.Changed), cut)
	return err
}
