package render

import (
	"cmp"
	"fmt"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Remains returns a table of everything that gc has created for a city, then what is not removed and why.
func (s Formatter) Remains(r client.Remains) string {
	t := &textfmt.Table{Heads: []string{"FILES", "SIZE", "REMOVED"}}
	files, bytes := 0, int64(0)
	for _, f := range r.Folders {
		t.Add(textfmt.Cell{Text: fmt.Sprint(f.Files)}, textfmt.Cell{Text: Size(f.Bytes)}, textfmt.Cell{Text: f.Path})
		files, bytes = files+f.Files, bytes+f.Bytes
	}
	for _, p := range r.Processes {
		t.Add(textfmt.Cell{}, textfmt.Cell{}, textfmt.Cell{Text: fmt.Sprintf("process %d (%s)", p.PID, p.Command)})
	}
	for _, place := range r.Places {
		t.Add(textfmt.Cell{}, textfmt.Cell{}, textfmt.Cell{Text: "sessions and files of gc at " + place})
	}
	t.Add(textfmt.Painted(fmt.Sprint(files), textfmt.Bold), textfmt.Painted(Size(bytes), textfmt.Bold), textfmt.Painted("total", textfmt.Bold))
	var out strings.Builder
	out.WriteString(s.Table(t))
	for _, path := range r.Kept {
		out.WriteString(textfmt.OneLine("stays: "+path+", which gc has not created") + "\n")
	}
	for _, o := range r.Foreign {
		out.WriteString(s.Paint(textfmt.Red, textfmt.OneLine("cannot continue: "+o.What+": "+o.Why)) + "\n")
	}
	return out.String()
}

// Uninstalled returns the result of gc destroy as messages for people; empty if nothing was to be removed.
func Uninstalled(out client.Uninstalled) string {
	var lines []string
	if n := len(out.Removed); n > 0 {
		stopped := textfmt.Count(len(out.Stopped), "session") + " stopped"
		if out.Ended > 0 {
			stopped += ", and " + textfmt.Count(out.Ended, "other process")
		}
		lines = append(lines, fmt.Sprintf("%s; files and directories removed: %d", stopped, n))
	}
	for _, l := range out.Left {
		lines = append(lines, "gc: not removed: "+textfmt.OneLine(l.What+": "+l.Why))
	}
	switch {
	case out.Clean && len(out.Removed) > 0:
		lines = append(lines, "checked again: no process and no file of gc is left; your own files are unchanged")
	case !out.Clean && len(out.Removed) == 0:
		lines = append(lines, "gc: nothing was removed; fix what is named above, then run: gc destroy; to skip a host that cannot be reached, add --leave-unreachable")
	}
	return strings.Join(lines, "\n")
}

// Size returns a number of bytes with a unit, for people.
func Size(n int64) string {
	const kB, mB, gB = 1e3, 1e6, 1e9
	switch f := float64(n); {
	case n < kB:
		return textfmt.Count(int(n), "byte")
	case f < 9.95*kB:
		return fmt.Sprintf("%.1f kB", f/kB)
	case f < mB-500:
		return fmt.Sprintf("%.0f kB", f/kB)
	case f < gB:
		return fmt.Sprintf("%.1f MB", f/mB)
	default:
		return fmt.Sprintf("%.1f GB", f/gB)
	}
}

// Survivors returns the sessions that could not be stopped, with the reason.
func Survivors(census client.Census) []client.Obstacle {
	left := []client.Obstacle{}
	for _, s := range census.Sessions {
		if s.Error != "" || len(s.Survivors) > 0 {
			left = append(left, client.Obstacle{What: s.Session, Why: cmp.Or(s.Error, fmt.Sprintf("processes survived: %v", s.Survivors))})
		}
	}
	return left
}
