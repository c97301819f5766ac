package render

import (
	"fmt"
	"strconv"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// fileColors maps the statuses of changed files to colors.
var fileColors = map[string]textfmt.Color{
	client.FileAdded: textfmt.Green, client.FileUntracked: textfmt.Green, client.FileDeleted: textfmt.Red, client.FileConflicted: textfmt.Red,
	client.FileRenamed: textfmt.Cyan, client.FileTypeChanged: textfmt.Yellow,
}

// ChangedFiles returns a table of the changed files.
func (s Formatter) ChangedFiles(c client.Changes) string {
	var grid [][]textfmt.Cell
	for _, f := range c.Files {
		name := f.Path
		if f.OldPath != "" {
			name = f.OldPath + " -> " + f.Path
		}
		grid = append(grid, []textfmt.Cell{
			textfmt.Painted(textfmt.OneLine(strings.ReplaceAll(f.Status, "_", " ")), fileColors[f.Status]),
			{Text: textfmt.OneLine(name)},
			textfmt.Painted(lineCount("+", f.Added, f), textfmt.Green), textfmt.Painted(lineCount("-", f.Removed, f), textfmt.Red),
			textfmt.Painted(textfmt.OneLine(fileNote(f)), textfmt.Faint),
		})
	}
	return s.Table(&textfmt.Table{Heads: []string{"STATUS", "FILE", "ADDED", "REMOVED", "NOTE"}, Rows: grid})
}

// lineCount returns a number of lines with a sign; empty if it is zero or no count.
func lineCount(sign string, n int, f client.ChangedFile) string {
	if n == 0 || f.Binary || f.Uncounted {
		return ""
	}
	return sign + strconv.Itoa(n)
}

// fileNote returns what a person should know about a changed file besides its status and lines, such as "binary" or
// "partly staged"; empty if there is nothing.
func fileNote(f client.ChangedFile) string {
	var notes []string
	for _, note := range []struct {
		holds bool
		text  string
	}{
		{f.Kind != client.KindFile, f.Kind},
		{f.Binary, "binary"},
		{f.Uncounted, "not counted"},
		{f.Staged && !f.Unstaged, "staged"},
		{f.Staged && f.Unstaged, "partly staged"},
		{f.Untracked && f.Status != client.FileUntracked, "not tracked any more"},
		{f.Cut != "", f.Cut},
	} {
		if note.holds {
			notes = append(notes, note.text)
		}
	}
	return strings.Join(notes, ", ")
}

// Diffs returns the diffs of the changed files, with added and removed lines in colors. Control
// characters in the files are replaced, see [textfmt.Block].
func (s Formatter) Diffs(c client.Changes) string {
	var out strings.Builder
	for _, f := range c.Files {
		head := true
		for line := range strings.Lines(f.Diff) {
			head = strings.HasPrefix(line, "diff --git ") || head && !strings.HasPrefix(line, "@@ ")
			out.WriteString(s.diffLine(strings.TrimSuffix(line, "\n"), head) + "\n")
		}
	}
	return out.String()
}

// carriageReturn shows a carriage return at the end of a changed line.
const carriageReturn = "␍"

// diffLine returns one line of a diff. head reports whether it is before the first hunk.
func (s Formatter) diffLine(line string, head bool) string {
	changed := strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-")
	if text, ok := strings.CutSuffix(line, "\r"); ok {
		line = text
		if changed {
			line += carriageReturn
		}
	}
	line = textfmt.Block(line)
	switch {
	case head:
		return s.Paint(textfmt.Bold, line)
	case strings.HasPrefix(line, "+"):
		return s.Paint(textfmt.Green, line)
	case strings.HasPrefix(line, "-"):
		return s.Paint(textfmt.Red, line)
	case strings.HasPrefix(line, `\`):
		return s.Paint(textfmt.Faint, line)
	case strings.HasPrefix(line, "@@ "):
		if end := strings.Index(line[3:], " @@"); end >= 0 {
			end += len("@@  @@")
			return s.Paint(textfmt.Cyan, line[:end]) + line[end:]
		}
	}
	return line
}

// ChangesSummary returns the numbers of files and lines, and where the changes are.
func (s Formatter) ChangesSummary(c client.Changes) string {
	where := "no branch"
	if c.Branch != "" {
		where = "branch " + c.Branch
	}
	if c.Operation != "" {
		where += ", in the middle of a " + c.Operation
	}
	if c.Main != "" && c.Commits > 0 {
		more := ""
		if c.Commits >= client.MaxCommits {
			more = " or more"
		}
		where += fmt.Sprintf(", %s%s not in %s", textfmt.Count(c.Commits, "commit"), more, c.Main)
	}
	what := "no uncommitted change"
	if c.Since == client.SinceBranch {
		what = "no change since " + c.Main
	}
	if len(c.Files) > 0 {
		what = fmt.Sprintf("%s changed, +%d -%d", textfmt.Count(len(c.Files), "file"), c.Added, c.Removed)
		if c.Since == client.SinceBranch {
			what += " since " + c.Main
		}
	}
	return fmt.Sprintf("%s: %s (%s) in %s", textfmt.OneLine(c.Agent), textfmt.OneLine(what), textfmt.OneLine(where), textfmt.OneLine(c.Root))
}
