package inject

import (
	"regexp"
	"strconv"
	"strings"
)

// extendedKey matches a key in the form of the kitty keyboard protocol, or of xterm's modifyOtherKeys.
var extendedKey = regexp.MustCompile(`\x1b\[(?:(?P<code>\d+)(?::\d*)*(?:;(?P<mods>\d*)(?::(?P<event>\d+))?(?:;(?P<text>[\d:]*))?)?u|27;(?P<xmods>\d+);(?P<xcode>\d+)~)`)

// terminalReply matches what a terminal sends without a key: reports of the focus, and answers to questions of the program. The
// position of the cursor is not among them: Shift and F3 can look like it. A limit in the pattern would make it slow to compile, so
// [longestReply] has it.
var terminalReply = regexp.MustCompile(`\x1b\[[IO]|\x1b\[[?>][0-9;]*(?:c|u|n|\$y)|\x1b\[[0-9;]+t|\x1b(?:\]\d+;|P[0-9>!$+])[^\x07\x1b]*(?:\x07|\x1b\\)`)

// longestReply is the length of the longest text that counts as an answer of the terminal. Behind the beginning of an answer that was cut
// off, a person's text may follow.
const longestReply = 1000

// Modifiers in an extended key, which has their sum plus 1. The locks change no key.
const (
	modifierShift = 1
	modifierCtrl  = 4
	modifierLocks = 64 | 128
)

// plainKeys returns the input with its keys in the traditional form, as far as they have one. A program chooses the form with
// the kitty keyboard protocol; a person's keys then look different and have the same meaning. What changes no line is left out:
// Escape, the release of a key, a modifier alone, and what a terminal sends without a key.
func plainKeys(input string) string {
	if !strings.Contains(input, "\x1b") {
		return input
	}
	input = terminalReply.ReplaceAllStringFunc(input, func(reply string) string {
		if len(reply) > longestReply {
			return reply
		}
		return ""
	})
	return extendedKey.ReplaceAllStringFunc(input, func(key string) string {
		m := extendedKey.FindStringSubmatch(key)
		code, mods := m[extendedKey.SubexpIndex("code")], m[extendedKey.SubexpIndex("mods")]
		if code == "" {
			code, mods = m[extendedKey.SubexpIndex("xcode")], m[extendedKey.SubexpIndex("xmods")]
		}
		const release = "3"
		if m[extendedKey.SubexpIndex("event")] == release {
			return ""
		}
		if strings.Contains(m[extendedKey.SubexpIndex("text")], ":") {
			return key // it types more than one character
		}
		n, err := strconv.Atoi(code)
		if err != nil {
			return key
		}
		held := 0
		if mods != "" {
			if held, err = strconv.Atoi(mods); err != nil {
				return key
			}
			held = max(0, held-1) &^ modifierLocks
		}
		if plain, ok := plainKey(n, held); ok {
			return plain
		}
		return key
	})
}

// plainKey returns the traditional form of an extended key. ok is false if it has none, or may have another meaning than the key
// of that form: Shift and Enter, C-j and C-m often begin a new row of the same text.
func plainKey(code, held int) (plain string, ok bool) {
	const escape, capsLock, numLock, leftShift, level5Shift = 27, 57358, 57360, 57441, 57454
	letter := code >= 'a' && code <= 'z'
	switch {
	case code == escape && held == 0, code >= capsLock && code <= numLock, code >= leftShift && code <= level5Shift:
		return "", true
	case held == modifierCtrl && letter && code != 'j' && code != 'm':
		return string(rune(code & 0x1f)), true
	case held == 0 && code > 0 && code < capsLock:
		return string(rune(code)), true
	case held == modifierShift && letter:
		return string(rune(code - 'a' + 'A')), true
	}
	return "", false
}
