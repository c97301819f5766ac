package inject

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
)

// skeleton returns the letters, digits and ASCII punctuation of a text. Wrapping, indentation and the width of emojis do
// not change it. If the text has none of these characters, skeleton returns its characters without spaces.
func skeleton(s string) string {
	kept := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case r > ' ' && r < 0x7f:
			kept = append(kept, byte(r))
		case r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			kept = utf8.AppendRune(kept, r)
		}
	}
	if len(kept) > 0 {
		return string(kept)
	}
	return strings.Join(strings.Fields(s), "")
}

// contentMatch is the result of comparing the content of an input box with the text of a delivery.
type contentMatch uint8

const (
	matchEmpty contentMatch = iota // the box is empty
	matchOurs                      // exactly the text, or a placeholder for it
	matchMore                      // the text and other content
	matchOther                     // unknown content
)

// normalizes reports whether a program may show the text in another Unicode form: the text has combining or invisible
// characters.
func normalizes(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf && unicode.In(r, unicode.M, unicode.Cf) })
}

// plain returns the visible ASCII characters of a text. It leaves out a character if a combining mark comes after it. The result
// is the same for every Unicode normal form of the text.
func plain(text string) string {
	kept, last := make([]byte, 0, len(text)), false // whether the character before was kept
	for _, r := range text {
		if last && r >= utf8.RuneSelf && unicode.Is(unicode.M, r) {
			kept = kept[:len(kept)-1]
		}
		if last = r > ' ' && r < 0x7f; last {
			kept = append(kept, byte(r))
		}
	}
	return string(kept)
}

// resembles reports whether the content of a box may be a changed form of the text: both begin alike, or the content is a
// part of the text.
func resembles(content, text string) bool {
	got, want := plain(content), plain(text)
	if got == "" || want == "" {
		return skeleton(content) == skeleton(text)
	}
	same := 0
	for same < len(got) && same < len(want) && got[same] == want[same] {
		same++
	}
	return same >= min(len(want), max(4, len(want)/2)) || len(got) >= minPart && strings.Contains(want, got)
}

// minPart is the smallest number of visible characters that identify a long text.
const minPart = 16

// wanted contains the forms of a text that are compared with the content of input boxes. Each form is computed once, at
// its first use: a text may be a megabyte long, and it is compared with each frame.
type wanted struct {
	skeleton, plain func() string
	normalizes      func() bool
}

// want returns the forms of a text that compareContent compares with the content of an input box.
func want(text string) wanted {
	return wanted{
		skeleton:   sync.OnceValue(func() string { return skeleton(text) }),
		plain:      sync.OnceValue(func() string { return plain(text) }),
		normalizes: sync.OnceValue(func() bool { return normalizes(text) }),
	}
}

// compareContent compares an input box's content with the text that was pasted.
func compareContent(c screen.InputBox, text wanted, rules agentcli.InputBox) contentMatch {
	switch {
	case !c.Found:
		return matchOther
	case strings.TrimSpace(c.Content) == "":
		return matchEmpty
	}
	got, want := skeleton(c.Content), text.skeleton()
	if got == want || text.normalizes() && plain(c.Content) == text.plain() {
		return matchOurs
	}
	if n := placeholders(c.Content, rules); n > 0 {
		return comparePasted(c.Content, want, n, rules)
	}
	switch {
	case strings.Contains(got, want):
		return matchMore
	case rules.Scrolls && len(got) >= minPart && strings.Contains(want, got):
		return matchOurs
	}
	return matchOther
}

// comparePasted compares content that has n placeholders with the skeleton want.
func comparePasted(content, want string, n int, rules agentcli.InputBox) contentMatch {
	before, after := content, ""
	for _, p := range rules.Pasted {
		if cut := p.Replace(content, "\x00"); cut != content {
			before, after, _ = strings.Cut(cut, "\x00")
		}
	}
	before, after = skeleton(before), skeleton(after)
	switch {
	case n > 1:
		return matchMore
	case before+after == "":
		return matchOurs
	case len(before)+len(after) < len(want) && strings.HasPrefix(want, before) && strings.HasSuffix(want, after):
		return matchOurs // both ends of a long text are shown
	}
	return matchMore
}

// bracketed matches text in brackets, the usual form of a placeholder for a paste.
var bracketed = regexp.MustCompile(`\[[^\[\]]*\]`)

// placeholders returns the number of placeholders for pastes in the content.
func placeholders(content string, rules agentcli.InputBox) (n int) {
	for _, part := range bracketed.FindAllString(content, -1) {
		if agentcli.MatchAny(rules.Pasted, part) {
			n++
		}
	}
	if n == 0 && replaceAll(rules.Pasted, content) != content {
		return 1
	}
	return n
}

// replaceAll removes all matches of the patterns from s.
func replaceAll(patterns []agentcli.Pattern, s string) string {
	for _, p := range patterns {
		s = p.Replace(s, "")
	}
	return s
}
