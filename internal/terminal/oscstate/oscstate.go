package oscstate

import (
	"strconv"
	"time"

	"gascity/internal/terminal/vt"
)

// Sign is one thing that a program reports to its terminal about itself.
type Sign struct {
	Text  string    `json:"text"`
	Since time.Time `json:"since"` // when it began to say so: repeating it changes nothing

	group int // the process group in the foreground that said it; 0 if unknown
}

// Signs are what the program in the foreground says of itself beside what it prints.
// What a program said that has left the foreground, or has ended, is not among them.
type Signs struct {
	Status   Sign `json:"status,omitzero"`   // OSC 7501: the newest report
	Progress Sign `json:"progress,omitzero"` // OSC 9;4 other than "none": state, and percentage after a semicolon
	Mark     Sign `json:"mark,omitzero"`     // OSC 133: A, B, C or D
}

// SignTracker is what is remembered of them. It is not safe for concurrent use; the zero value
// is nothing.
type SignTracker struct {
	Signs
	prompt int // the group that marked a prompt: the command that follows is another's
}

// Record takes a sign. It reports whether that changes what the program says. group is the
// one in the foreground.
func (s *SignTracker) Record(n vt.Notice, group int, now time.Time) bool {
	switch n.Kind {
	case vt.ProgramStatus:
		report, ok := vt.ParseStatus(n.Payload)
		if !ok {
			return false
		}
		if report.State == "" {
			return s.Status.replace(Sign{}, true)
		}
		was, _ := vt.ParseStatus(s.Status.Text)
		was.Progress = report.Progress
		return s.Status.replace(Sign{n.Payload, now, group}, was != report || s.Status.group != group)
	case vt.Progress:
		if n.Code == 0 {
			return s.Progress.replace(Sign{}, true)
		}
		code := strconv.Itoa(n.Code)
		return s.Progress.replace(Sign{n.Payload, now, group}, s.Progress.Text == "" || s.Progress.Text[:1] != code)
	case vt.SemanticPrompt:
		return s.mark(n.Text, group, now)
	default:
		return false
	}
}

// mark takes a mark of shell integration. At a new prompt nothing of the command before
// it goes on.
func (s *SignTracker) mark(letter string, group int, now time.Time) bool {
	switch letter {
	case "A":
		s.prompt = group
		report, _ := vt.ParseStatus(s.Status.Text)
		if report.State == "working" || report.State == "blocked" || s.Status.group != group {
			s.Status = Sign{}
		}
		s.Progress = Sign{}
	case "B", "C", "D":
	default:
		return false
	}
	if s.prompt != 0 { // the command may be in the foreground already
		group = s.prompt
	}
	was := s.Mark.Text
	return s.Mark.replace(Sign{letter, now, group}, was == "" || (was == "C") != (letter == "C"))
}

// replace replaces the sign; one that says the same keeps its age.
func (s *Sign) replace(next Sign, differs bool) bool {
	if !differs {
		next.Since = s.Since
	}
	changed := differs && s.Text+next.Text != ""
	*s = next
	return changed
}

// OfGroup returns what the program in the foreground said.
func (s Signs) OfGroup(group int) Signs {
	for _, sign := range []*Sign{&s.Status, &s.Progress, &s.Mark} {
		if group != 0 && sign.group != 0 && sign.group != group {
			*sign = Sign{}
		}
	}
	return s
}
