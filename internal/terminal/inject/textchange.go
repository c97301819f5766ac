package inject

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"gascity/internal/agentcli"
)

// TextChange is one kind of change to a text.
type TextChange struct {
	What     string // for people: "2 invisible characters are removed: U+200B U+200E"
	Harmless bool   // a reader sees the same text
	Refused  bool   // the text must not be typed, whatever its sender allows
}

// byteOrderMark does not arrive at an edge of a text that a program decodes or trims.
const byteOrderMark = '\ufeff'

// TextChanges returns the changes to a text that is pasted into an input box with these rules; nil if no change is known.
func TextChanges(rules agentcli.Input, text string) []TextChange {
	var out []TextChange
	add := func(harmless bool, format string, args ...any) {
		out = append(out, TextChange{What: fmt.Sprintf(format, args...), Harmless: harmless})
	}
	bare := strings.TrimFunc(WithoutRemoved(rules, text), func(r rune) bool { return unicode.IsSpace(r) || r == byteOrderMark })
	for _, r := range rules.Reactions {
		if r.Match.Match(text) || r.Always && r.Match.Match(bare) {
			out = append(out, TextChange{What: r.What, Refused: r.Always})
		}
	}
	if removed := removedRunes(rules, text); len(removed) > 0 {
		add(false, "characters are removed: %s", runeNames(removed))
	}
	if rules.Composes && !norm.NFC.IsNormalString(text) {
		add(false, "letters are composed (Unicode normalization form C)")
	}
	ends, separators := lineFeeds(rules, text)
	if len(separators) > 0 {
		add(false, "characters become line feeds: %s", runeNames(separators))
	}
	if ends {
		add(true, "CR and CR LF become line feeds")
	}
	if rules.TabWidth > 0 && strings.Contains(text, "\t") {
		add(true, "a tab becomes %d blanks", rules.TabWidth)
	}
	if strings.TrimLeft(text, rules.TrimsStart) != text {
		add(true, "blanks and line feeds at the beginning are removed")
	}
	if strings.TrimRight(text, rules.TrimsEnd) != text {
		add(true, "blanks and line feeds at the end are removed")
	}
	if rules.AddsBlankFrom > 0 && len(text) >= rules.AddsBlankFrom || rules.AddsBlankLines > 0 && strings.Count(text, "\n") >= rules.AddsBlankLines-1 {
		add(true, "a blank may be added at the end")
	}
	return out
}

// HarmfulChanges returns the changes that are not harmless.
func HarmfulChanges(changes []TextChange) []TextChange {
	return slices.DeleteFunc(slices.Clone(changes), func(c TextChange) bool { return c.Harmless })
}

// ChangeTexts returns the descriptions of the changes.
func ChangeTexts(changes []TextChange) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.What)
	}
	return out
}

// removedRunes returns the characters of a text that do not arrive, each once.
func removedRunes(rules agentcli.Input, text string) []rune {
	var out []rune
	runes := []rune(text)
	for i, r := range runes {
		if isRemoved(rules, runes, i) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// WithoutRemoved returns the text without the characters that do not arrive.
func WithoutRemoved(rules agentcli.Input, text string) string {
	var out strings.Builder
	runes := []rune(text)
	for i, r := range runes {
		if !isRemoved(rules, runes, i) {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// isRemoved reports whether the character at i does not arrive.
func isRemoved(rules agentcli.Input, runes []rune, i int) bool {
	r := runes[i]
	switch {
	case agentcli.ContainsCharacter(rules.Removes, r):
		return true
	case rules.RemovesJoiners && (r == nonJoiner || r == joiner):
		return !joinsLetters(runes, i) && (r != joiner || !joinsEmoji(runes, i))
	case rules.RemovesSelectors && (r == textSelector || r == emojiSelector):
		return !selects(runes, i)
	case rules.RemovesTags && isTag(r):
		return !inFlag(runes, i)
	}
	return false
}

// lineFeeds reports whether a text has a CR that becomes a line feed, and returns the other
// characters that do, each once.
func lineFeeds(rules agentcli.Input, text string) (returns bool, others []rune) {
	for _, r := range text {
		switch {
		case !agentcli.ContainsCharacter(rules.LineFeeds, r):
		case r == '\r':
			returns = true
		case !slices.Contains(others, r):
			others = append(others, r)
		}
	}
	return returns, others
}

// maxNamed is the largest number of characters that a description names.
const maxNamed = 8

// runeNames lists characters by their code points, such as U+00AD. Of many it names the first maxNamed and counts the
// others.
func runeNames(runes []rune) string {
	var out []string
	for _, r := range runes[:min(len(runes), maxNamed)] {
		out = append(out, fmt.Sprintf("U+%04X", r))
	}
	if len(runes) > maxNamed {
		out = append(out, fmt.Sprintf("and %d others", len(runes)-maxNamed))
	}
	return strings.Join(out, " ")
}
