// Package figure keeps what tests of real agent CLIs have measured, and draws
// docs/reference/agents.md from it.
//
// A run writes its figures to the file that $GC_AGENTS_FIGURES names, which takes the place
// of figures.json beside this package.
package figure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// Columns returns the columns of the table, in order.
func Columns() []string {
	return []string{"launch", "dialogs", "state", "delivery", "interrupt", "guard", "guard with faults", "questions", "usage", "token usage after a compaction and a kill", "resume", "stop", "long job"}
}

// Cell is one figure.
type Cell struct {
	Text string `json:"text"`
	Day  string `json:"day"` // of the measurement, 2006-01-02, and the machine's load then
}

// Row is one CLI.
type Row struct {
	Version string          `json:"version"`
	Cells   map[string]Cell `json:"cells"`
}

// Sheet is all rows by the CLI's name.
type Sheet map[string]Row

// Load reads a sheet; one that does not exist is empty.
func Load(path string) (Sheet, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Sheet{}, nil
	}
	if err != nil {
		return nil, err
	}
	sheet := Sheet{}
	if err := json.Unmarshal(raw, &sheet); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sheet, nil
}

// Save writes the sheet.
func (s Sheet) Save(path string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644) //nolint:gosec // it is published
}

// Set adds a figure. Another version begins a new row.
func (s Sheet) Set(cli, version, column string, c Cell) {
	row, ok := s[cli]
	if !ok || row.Version != version {
		row = Row{Version: version, Cells: map[string]Cell{}}
	}
	row.Cells[column] = c
	s[cli] = row
}

// none stands in cells without a measurement.
const none = "not measured"

// Page draws the table.
func (s Sheet) Page() string {
	var out strings.Builder
	out.WriteString(head)
	for _, cli := range slices.Sorted(maps.Keys(s)) {
		row := s[cli]
		program, variant, _ := strings.Cut(cli, ", ")
		title := program + " " + row.Version
		if variant != "" {
			title += ", " + variant
		}
		fmt.Fprintf(&out, "\n## %s\n\n| what | measured | when |\n|---|---|---|\n", title)
		for _, column := range Columns() {
			c, ok := row.Cells[column]
			if !ok {
				c = Cell{Text: none}
			}
			fmt.Fprintf(&out, "| %s | %s | %s |\n", column, strings.ReplaceAll(c.Text, "|", `\|`), c.Day)
		}
	}
	return out.String()
}

const head = `# Agent CLIs, measured

Generated from test/agents/figure/figures.json; do not edit. The tests in test/agents measure these figures: the
real agent CLI of a pinned version runs in a city that ` + "`gc start`" + ` starts. Its model is a simulated one on
127.0.0.1, which logs what it receives. ` + "`make test-agents`" + ` measures again; if all tests pass, it writes this page
again. "Not measured" means that no test measures the value, or that an earlier step failed. "Failed" means that its test failed.
Until all tests have passed in one run, the figures are from several runs.

- *launch*: the time until the session accepts prompts. No dialog was left to answer.
- *dialogs*: the start-up dialogs in an empty home directory that gc answered, as shown by what the agent CLI stored.
- *state*: how often the agent was reported as idle while the model answered (a wrong state), and the time from the last byte
  of the model to the report "idle". "By" names what the report was based on: a hook, a terminal title (osc), or the protocol (acp).
- *delivery*: the number of prompts that reached the model once, unchanged and not joined to others, of those that were
  sent; and the time from ` + "`gc send`" + ` to the model's request.
- *interrupt*: whether the model's request was canceled, and whether the next prompt arrived alone.
- *guard*: what happened to commands that the guard's rules allow and deny.
- *guard with faults*: whether a tool ran although the guard's hook or the city failed while the model called it.
- *questions*: the agent's questions before it uses a tool, and their answers.
- *usage*: the tokens that gc counted, compared with those that the simulated model reported.
- *token usage after a compaction and a kill*: the same after a compaction, a kill, and two further readings of all transcripts.
- *resume*: the time until the agent was back in the same conversation.
- *stop*: the time until no process of the agent was left.
- *long job*: many turns, with agents of other kinds in the same city, while the controller is killed with kill -9.

Sections with "by ACP" or "-acp" in the name are about agents that speak the Agent Client Protocol. Their figures were measured
with the runtime provider acp alone, without a city, except for *state*, *guard*, *usage* and *long job*. The machine had 2 cores.
The last column has the load average; where it has none, the load average was 5 to 45.
`
