package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/guard"
	"gascity/internal/textfmt"
)

// ruleRow is a rule of gc guard list.
type ruleRow struct {
	Set string `json:"set"`           // the rule set or the file that it comes from
	For string `json:"for,omitempty"` // the pattern of roles and agents; empty is all
	Off bool   `json:"off,omitempty"` // disabled
	guard.Rule
}

// ruleList is what gc guard list prints.
type ruleList struct {
	Guarded bool         `json:"guarded"`
	Default guard.Action `json:"default"`
	Ask     string       `json:"ask_timeout"`
	Rules   []ruleRow    `json:"rules"`
}

func guardListCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "list",
		Short: "List the rules in effect and their source",
		Args:  cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			g, err := a.guarding(cmd, nil)
			if err != nil {
				return err
			}
			list := ruleList{Guarded: g.On, Default: g.Policy.Default(), Ask: g.AskTimeout.String(), Rules: rowsOf(g.Policy.Source())}
			if a.JSON {
				return a.PrintJSON(list)
			}
			if !g.On {
				a.Messagef("city.toml has no [guard]: everything is allowed; rule sets are: %s", strings.Join(guard.Shipped(), ", "))
				return nil
			}
			t := &textfmt.Table{Heads: []string{"RULE", "ACTION", "FOR", "FROM", "REASON"}}
			for _, r := range list.Rules {
				action := textfmt.Painted(string(r.Action), actionColor(r.Action))
				if r.Off {
					action = textfmt.Painted("off", textfmt.Faint)
				}
				t.Add(textfmt.Painted(r.ID, textfmt.Bold), action, textfmt.Cell{Text: r.appliesTo()}, textfmt.Painted(filepath.Base(r.Set), textfmt.Faint), textfmt.Cell{Text: textfmt.OneLine(r.Reason)})
			}
			a.Print(t)
			a.Messagef("what no rule is about: %s", list.Default)
			return nil
		},
	})
}

// appliesTo says for whom a rule holds.
func (r ruleRow) appliesTo() string {
	var out []string
	for _, group := range [][]string{{r.For}, r.Roles, r.Agents} {
		if joined := strings.Join(group, ","); joined != "" {
			out = append(out, joined)
		}
	}
	return strings.Join(out, " ")
}

func rowsOf(sheet guard.Source) []ruleRow {
	rows := []ruleRow{}
	add := func(whom string, sets []guard.Set) {
		for _, set := range sets {
			for _, r := range set.Rules {
				rows = append(rows, ruleRow{Set: set.Name, For: whom, Off: sheet.Disabled(r.ID), Rule: r})
			}
		}
	}
	add("", sheet.Sets)
	for _, r := range sheet.Roles {
		add(r.Role, r.Sets)
	}
	return rows
}

// replayed is a call that other rules decide otherwise.
type replayed struct {
	At    time.Time     `json:"at"`
	Agent string        `json:"agent"`
	Tool  string        `json:"tool"`
	Was   guard.Verdict `json:"was"`
	Now   guard.Verdict `json:"now"`
}

// replay is what gc guard replay prints.
type replay struct {
	Calls   int        `json:"calls"`
	Cut     int        `json:"cut"` // whose input was too long to be kept
	Changed []replayed `json:"changed"`
}

func guardReplayCommand(a *app) *cobra.Command {
	var since string
	var with []string
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Re-evaluate past tool calls with current rules",
		Long: `Decides the recorded tool calls of the agents again, by city.toml on disk and, with --with, by further
rule sets or files, and prints the calls with another decision. The controller records calls in
.gc/log/guard.jsonl, readable by its user only, up to 32 MiB, without the values of credentials.`,
		Example: "  gc guard replay --since 7d\n  gc guard replay --since 24h --with protected-branch --with rules/new.toml",
		Args:    cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := a.ParseTime("--since", since)
			if err != nil {
				return err
			}
			daemon, root, err := a.daemonAndRoot()
			if err != nil {
				return err
			}
			g, err := daemon.Guard(cmd.Context(), root, a.furtherRules(with))
			if err != nil {
				return err
			}
			calls, err := daemon.GuardCalls(cmd.Context(), root, from)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // nothing was recorded yet
				return err
			}
			return a.showReplay(replayOf(g, calls))
		},
	}
	cmd.Flags().StringVar(&since, "since", "7d", "calls that are younger than `time`: a duration such as 5m or 7d, or a moment")
	cmd.Flags().StringArrayVar(&with, "with", nil, "a rule set or a `file` of rules beside those of city.toml; may be given again")
	return a.AddJSONFlag(cmd)
}

// furtherRules makes the paths among names of rule sets absolute.
func (a *app) furtherRules(with []string) []string {
	out := make([]string, len(with))
	for i, name := range with {
		if out[i] = name; strings.ContainsAny(name, "/.") {
			out[i] = a.Path(name)
		}
	}
	return out
}

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

func (a *app) showReplay(r replay) error {
	if a.JSON {
		return a.PrintJSON(r)
	}
	t := &textfmt.Table{Heads: []string{"TIME", "AGENT", "TOOL", "BEFORE", "NOW", "RULE", "CALL"}}
	for _, c := range r.Changed {
		part, rule := c.Now.Part, c.Now.Rule
		if part == "" {
			part = c.Was.Part
		}
		if rule == "" {
			rule = c.Was.Rule
		}
		t.Add(textfmt.Cell{Text: c.At.In(a.Now().Location()).Format("2006-01-02 15:04")}, textfmt.Painted(c.Agent, textfmt.Bold), textfmt.Cell{Text: c.Tool},
			textfmt.Painted(string(c.Was.Action), actionColor(c.Was.Action)), textfmt.Painted(string(c.Now.Action), actionColor(c.Now.Action)),
			textfmt.Cell{Text: rule}, textfmt.Cell{Text: textfmt.OneLine(part)})
	}
	if len(r.Changed) > 0 {
		a.Print(t)
	}
	cut := ""
	if r.Cut > 0 {
		cut = fmt.Sprintf("; %d were too long to be kept and are left out", r.Cut)
	}
	a.Messagef("%s, %d would come out otherwise%s", textfmt.Count(r.Calls, "recorded call"), len(r.Changed), cut)
	return nil
}
