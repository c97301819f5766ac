package vt

import "time"

// Sign is one report of a program to its terminal about itself.
type Sign struct {
	Text  string    `json:"text"`
	Since time.Time `json:"since"` // the time of the first report; a repeated report does not change it

	group int // the foreground process group at the time of the report; 0 if unknown
}

// Signs are the reports of the program in the foreground about itself. They do not contain reports of a program that has
// left the foreground or has exited.
type Signs struct {
	Status   Sign `json:"status,omitzero"`   // OSC 7501: the newest report
	Progress Sign `json:"progress,omitzero"` // OSC 9;4 other than "none": state, and percentage after a semicolon
	Mark     Sign `json:"mark,omitzero"`     // OSC 133: A, B, C or D
}

// SignTracker stores the current Signs. It is not safe for concurrent use. The zero value has no signs.
type SignTracker struct {
	Signs
	prompt int // the process group that marked a prompt; the next command belongs to another group
}

// Record stores the sign of a notice and reports whether the signs have changed. group is the foreground process group.
func (s *SignTracker) Record(n Notice, group int, now time.Time) bool {
	switch n.Kind {
	case ProgramStatus:
		report, ok := ParseStatus(n.Text)
		if !ok {
			return false
		}
		if report.State == "" {
			return s.Status.replace(Sign{}, true)
		}
		was, _ := ParseStatus(s.Status.Text)
		was.Progress = report.Progress
		return s.Status.replace(Sign{n.Text, now, group}, was != report || s.Status.group != group)
	case Progress:
		if n.Text[0] == '0' {
			return s.Progress.replace(Sign{}, true)
		}
		return s.Progress.replace(Sign{n.Text, now, group}, s.Progress.Text == "" || s.Progress.Text[0] != n.Text[0])
	case SemanticPrompt:
		return s.mark(n.Text, group, now)
	default:
		return false
	}
}

// mark stores a mark of shell integration. A new prompt removes the signs of the previous command.
func (s *SignTracker) mark(letter string, group int, now time.Time) bool {
	switch letter {
	case "A":
		s.prompt = group
		report, _ := ParseStatus(s.Status.Text)
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

// replace replaces the sign. If the text is the same, Since does not change.
func (s *Sign) replace(next Sign, differs bool) bool {
	if !differs {
		next.Since = s.Since
	}
	changed := differs && s.Text+next.Text != ""
	*s = next
	return changed
}

// SetUnknownGroup sets the process group of the signs whose group is not known.
func (s *SignTracker) SetUnknownGroup(group int) {
	for _, sign := range []*Sign{&s.Status, &s.Progress, &s.Mark} {
		if sign.group == 0 {
			sign.group = group
		}
	}
}

// OfGroup returns the signs that belong to the foreground process group.
func (s Signs) OfGroup(group int) Signs {
	for _, sign := range []*Sign{&s.Status, &s.Progress, &s.Mark} {
		if group != 0 && sign.group != 0 && sign.group != group {
			*sign = Sign{}
		}
	}
	return s
}
