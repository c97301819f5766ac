package agentcli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Input describes how the input box of an agent CLI changes a text that gc pastes into it. It is
// measured with the real agent CLI ("make probe"). Package inject uses it to predict the changes.
// The zero value means that no change is known.
type Input struct {
	// Versions are the measured versions, the oldest first.
	Versions []string `toml:"versions"`
	// Composes means that letters and their marks arrive in Unicode normalization form C.
	Composes bool `toml:"composes"`
	// Removes are characters that do not arrive.
	Removes []Characters `toml:"removes"`
	// RemovesJoiners means that U+200C and U+200D arrive only after letters of scripts that use
	// them, and U+200D also between emoji.
	RemovesJoiners bool `toml:"removes_joiners"`
	// RemovesSelectors means that U+FE0E and U+FE0F arrive only after emoji and in key caps.
	RemovesSelectors bool `toml:"removes_selectors"`
	// RemovesTags means that tag characters (U+E0000-U+E007F) arrive only in the flags of England,
	// Scotland and Wales.
	RemovesTags bool `toml:"removes_tags"`
	// LineFeeds are characters that arrive as a line feed; CR LF arrives as one.
	LineFeeds []Characters `toml:"line_feeds"`
	// TabWidth is the number of blanks that replace a tab; zero: a tab arrives as a tab.
	TabWidth int `toml:"tab_width"`
	// TrimsStart and TrimsEnd are the characters that do not arrive at the start and at the end of
	// a text.
	TrimsStart string `toml:"trims_start"`
	TrimsEnd   string `toml:"trims_end"`
	// AddsBlankFrom (bytes) and AddsBlankLines (lines) are the sizes from which a blank may be
	// added at the end of a text; zero: never.
	AddsBlankFrom  int `toml:"adds_blank_from"`
	AddsBlankLines int `toml:"adds_blank_lines"`
	// Reactions are parts of a text that trigger an action of the input box, such as opening a
	// menu.
	Reactions []Reaction `toml:"reactions"`
}

// Reaction is a kind of text on which the input box does something, for example opens a menu, so
// that it does not accept the text unchanged.
type Reaction struct {
	Match Pattern `toml:"match"` // matched against the whole text
	What  string  `toml:"what"`  // description of the action, for people
	// Always means that such a text is never typed, even if its sender permits changes.
	Always bool `toml:"always"`
}

// Characters is a range of characters. Its text form is "U+200B" or "U+200B-U+200F".
type Characters struct{ First, Last rune }

// Contains reports whether a character is in the range.
func (c Characters) Contains(r rune) bool { return c.First <= r && r <= c.Last }

// String returns the range as it is written in a profile, such as "U+200B-U+200F".
func (c Characters) String() string {
	if c.First == c.Last {
		return fmt.Sprintf("U+%04X", c.First)
	}
	return fmt.Sprintf("U+%04X-U+%04X", c.First, c.Last)
}

// MarshalText returns the range as text.
func (c Characters) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText parses a range that is written like "U+200B" or "U+200B-U+200F". It implements
// encoding.TextUnmarshaler.
func (c *Characters) UnmarshalText(text []byte) error {
	first, last, both := strings.Cut(string(text), "-")
	if !both {
		last = first
	}
	var err, errLast error
	c.First, err = character(first)
	c.Last, errLast = character(last)
	if err = errors.Join(err, errLast); err == nil && c.First > c.Last {
		err = fmt.Errorf("the range %s is empty", text)
	}
	return err
}

// character parses a character that is written as "U+200B".
func character(text string) (rune, error) {
	digits, ok := strings.CutPrefix(text, "U+")
	n, err := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil || n > unicode.MaxRune {
		return 0, fmt.Errorf("%q is not a code point: write U+ and hexadecimal digits, for example U+200B", text)
	}
	return rune(n), nil
}

// ContainsCharacter reports whether a character is in one of the ranges.
func ContainsCharacter(ranges []Characters, r rune) bool {
	return slices.ContainsFunc(ranges, func(c Characters) bool { return c.Contains(r) })
}

// validate returns the first mistake in the description of an input box; nil if there is none.
func (in Input) validate() error {
	if in.TabWidth < 0 || in.AddsBlankFrom < 0 || in.AddsBlankLines < 0 {
		return errors.New("screen.input: tab_width, adds_blank_from and adds_blank_lines must not be negative")
	}
	for _, r := range in.Reactions {
		if r.What == "" || r.Match.String() == "" {
			return errors.New("screen.input.reactions: each entry must set the keys \"match\" and \"what\"")
		}
	}
	return nil
}
