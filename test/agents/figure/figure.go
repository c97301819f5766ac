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
	return []string{"launch", "dialogs", "state", "delivery", "interrupt", "guard", "guard fails", "pending", "usage", "usage again", "resume", "stop", "city"}
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
		fmt.Fprintf(&out, "\n## %s %s\n\n| what | measured | when |\n|---|---|---|\n", cli, row.Version)
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

Generated from test/agents/figure/figures.json; do not edit. What stands here was measured by the tests in
test/agents: the CLI itself, at a pinned version, in a city that is started by ` + "`gc start`" + `, with a mock
model on 127.0.0.1 whose log says what really reached it. ` + "`make test-agents`" + ` measures again, and a run that passes
as a whole writes this page again. A cell says "not measured" where no test fills it, or what came before it has failed,
and "failed" where its test has. Until a run has passed as a whole, what stands here is of several runs of parts.

- *launch*: from ` + "`gc start`" + ` to a session that takes prompts, with no dialog to answer.
- *dialogs*: start-up dialogs of a new home that gc answered, by what the CLI stored afterwards.
- *state*: turns in which it was never said to be idle while the model spoke, and the time from the mock's last
  byte to idle.
- *delivery*: prompts that reached the model once, unchanged and alone, of those that were sent; time from the
  nudge to the model's request.
- *interrupt*: the request was cut off, and the next prompt came alone.
- *city*: a job of many turns beside agents of other kinds, under kill -9 of the controller.
- *guard fails*: what went wrong between the agent CLI and its city while its model called a tool, and whether it ran.
- *usage again*: the same as *usage*, after a compaction, a kill, and reading all transcripts from their beginnings twice more.
- *guard*, *pending*, *usage*, *resume*, *stop*: as their tests say.

Rows "by ACP" and those of "-acp" are agents that speak the Agent Client Protocol, by the provider of that name
and without a city around them, except *state*, *guard*, *usage* and *city*. All times are those of a machine with 2 cores,
with the load that it had; where none is given it was one of 5 to 45.
`
