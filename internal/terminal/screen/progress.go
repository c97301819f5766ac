package screen

import (
	"hash/maphash"
	"strings"
	"time"
	"unicode"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// maxShown is the limit of stored rows of one session.
const maxShown = 4096

// shown stores hashes of the rows that the screen of one session has shown.
type shown struct {
	life string
	seed maphash.Seed
	rows map[uint64]struct{}
	last runtime.Progress
}

// Progress returns the time when the screen of a session last showed a new row in the same life. Spinners, clocks and
// counters of seconds do not make a row new, see [words]. The first screen of a life counts as new.
func (m *Memory) Progress(session, life string, f Frame, rules Rules, now time.Time) runtime.Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.shown[session]
	if s == nil || s.life != life {
		s = &shown{life: life, seed: maphash.MakeSeed(), rows: map[uint64]struct{}{}}
		s.last = runtime.Progress{At: now, Sign: "new text on the screen", Screen: true}
		if m.shown == nil {
			m.shown = map[string]*shown{}
		}
		m.shown[session] = s
	}
	if s.add(NewSnapshot(f).rows, rules.Screen.Busy) {
		s.last.At = now
	}
	return s.last
}

// add stores the rows and reports whether one of them is new.
func (s *shown) add(rows []string, busy []agentcli.Pattern) (news bool) {
	if len(s.rows) > maxShown {
		clear(s.rows)
	}
	for _, row := range rows {
		text := words(row, agentcli.MatchAny(busy, strings.TrimSpace(row)))
		if text == "" {
			continue
		}
		key := maphash.String(s.seed, text)
		if _, known := s.rows[key]; !known {
			s.rows[key], news = struct{}{}, true
		}
	}
	return news
}

// words returns the parts of a row that show progress: its letters, and the numbers before a percent sign or the word token.
// Clocks and counters of seconds change only other numbers. For the row of a running turn, which the agent CLI redraws with
// changing words, it returns only the numbers.
func words(row string, turn bool) string {
	turn = turn || spins(row)
	var out strings.Builder
	runes := []rune(row)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case unicode.IsDigit(r):
			end := i
			for end < len(runes) && (unicode.IsDigit(runes[end]) || runes[end] == '.' || runes[end] == ',') {
				end++
			}
			if counts(string(runes[end:min(len(runes), end+8)])) {
				out.WriteString(string(runes[i:end]))
			}
			i = end - 1
		case !turn && unicode.IsLetter(r):
			out.WriteRune(r)
		}
	}
	return out.String()
}

// counts reports whether a number before the text measures work and not time.
func counts(after string) bool {
	if strings.HasPrefix(after, "%") {
		return true
	}
	after = strings.ToLower(strings.TrimLeft(after, "kKmM "))
	return strings.HasPrefix(after, "tok")
}

// spins reports whether a row begins with a spinner.
func spins(row string) bool {
	for _, r := range row {
		if r == ' ' {
			continue
		}
		return r > 0x2800 && r <= 0x28ff || strings.ContainsRune("✢✳✶✻✽◐◓◑◒◴◷◶◵", r)
	}
	return false
}
