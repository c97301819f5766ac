package inject

import (
	"slices"
	"strings"
	"unicode"
)

const (
	nonJoiner     = '\u200c'
	joiner        = '\u200d'
	textSelector  = '\ufe0e'
	emojiSelector = '\ufe0f'
	keyCap        = '\u20e3'
	// blackFlag begins the emoji of a flag that is made of tag characters, cancelTag ends it.
	blackFlag = '\U0001F3F4'
	cancelTag = '\U000E007F'
)

// joinedScripts are the scripts in which a joiner after a letter has a meaning.
var joinedScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Myanmar, unicode.Khmer, unicode.Tibetan,
}

// joinsLetters reports whether the joiner at i follows a letter of joinedScripts and the letter's combining marks.
func joinsLetters(runes []rune, i int) bool {
	for _, r := range slices.Backward(runes[:i]) {
		if !unicode.Is(unicode.M, r) {
			return unicode.IsLetter(r) && unicode.In(r, joinedScripts...)
		}
		if !unicode.In(r, joinedScripts...) {
			return false
		}
	}
	return false
}

// joinsEmoji reports whether the joiner at i is between two emoji. The first one may have a skin tone and a selector.
func joinsEmoji(runes []rune, i int) bool {
	before := i - 1
	for n := 0; n < 2 && before >= 0 && (runes[before] == emojiSelector || isSkinTone(runes[before])); n++ {
		before--
	}
	return before >= 0 && i+1 < len(runes) && isJoined(runes[before]) && isJoined(runes[i+1])
}

// selects reports whether the selector at i follows an emoji or is a part of a key cap.
func selects(runes []rune, i int) bool {
	if i == 0 {
		return false
	}
	before := runes[i-1]
	if before >= '0' && before <= '9' || before == '#' || before == '*' {
		return i+1 < len(runes) && runes[i+1] == keyCap
	}
	return isJoined(before) || strings.ContainsRune(emoji, before)
}

func isSkinTone(r rune) bool { return r >= 0x1F3FB && r <= 0x1F3FF }

// isTag reports whether r is a tag character.
func isTag(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }

// inFlag reports whether the tag character at i is a part of one of the flags that Unicode
// recommends: England, Scotland, Wales.
func inFlag(runes []rune, i int) bool {
	begin, end := i, i
	for begin > 0 && isTag(runes[begin]) {
		begin--
	}
	for end < len(runes) && isTag(runes[end]) && runes[end] != cancelTag {
		end++
	}
	if runes[begin] != blackFlag || end == len(runes) || runes[end] != cancelTag {
		return false
	}
	var code []rune
	for _, r := range runes[begin+1 : end] {
		code = append(code, r-0xE0000)
	}
	return slices.Contains([]string{"gbeng", "gbsct", "gbwls"}, string(code))
}

// isJoined reports whether an emoji may be a part of a joined one.
func isJoined(r rune) bool { return unicode.Is(joinedEmoji, r) }

// joinedEmoji are the emoji in the joined ones that Unicode recommends, and their neighbors.
var joinedEmoji = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x2194, Hi: 0x2195, Stride: 1},
		{Lo: 0x2640, Hi: 0x2642, Stride: 2},
		{Lo: 0x2695, Hi: 0x2696, Stride: 1},
		{Lo: 0x26A7, Hi: 0x26A7, Stride: 1},
		{Lo: 0x2708, Hi: 0x2708, Stride: 1},
		{Lo: 0x2764, Hi: 0x2764, Stride: 1},
		{Lo: 0x27A1, Hi: 0x27A1, Stride: 1},
		{Lo: 0x2B1B, Hi: 0x2B1C, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1F300, Hi: 0x1F3FA, Stride: 1},
		{Lo: 0x1F400, Hi: 0x1F53D, Stride: 1},
		{Lo: 0x1F546, Hi: 0x1F64F, Stride: 1},
		{Lo: 0x1F680, Hi: 0x1F6FF, Stride: 1},
		{Lo: 0x1F90C, Hi: 0x1F93A, Stride: 1},
		{Lo: 0x1F93C, Hi: 0x1F945, Stride: 1},
		{Lo: 0x1F947, Hi: 0x1FAFF, Stride: 1},
	},
}

// emoji are other emoji that a selector may follow.
const emoji = "©®‼⁉™ℹ↔↕↖↗↘↙↩↪⌚⌛⌨⏏⏩⏪⏫⏬⏭⏮⏯⏰⏱⏲⏳⏸⏹⏺Ⓜ▪▫▶◀◻◼◽◾☀☁☂☃☄☎☑☔☕☘☝☠☢☣☦☪☮☯☸☹☺♈♉" +
	"♊♋♌♍♎♏♐♑♒♓♟♠♣♥♦♨♻♾♿⚒⚓⚔⚕⚖⚗⚙⚛⚜⚠⚡⚪⚫⚰⚱⚽⚾⛄⛅⛈⛎⛏⛑⛓⛔⛩⛪⛰⛱⛲⛳⛴⛵⛷⛸⛹⛺⛽✂✅✉✊✋✌✍" +
	"✏✒✔✖✝✡✨✳✴❄❇❌❎❓❔❕❗❣➕➖➗➰➿⤴⤵⬅⬆⬇⭐⭕〰〽㊗㊙🀄🃏🅰🅱🅾🅿🆎🆑🆒🆓🆔🆕🆖🆗🆘🆙🆚🈁🈂🈚🈯🈲🈳🈴🈵🈶🈷🈸🈹🈺" +
	"🉐🉑"
