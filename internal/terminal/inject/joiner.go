package inject

import (
	"slices"
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
	return isJoined(before) || unicode.Is(emoji, before)
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
var emoji = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00A9, Hi: 0x00AE, Stride: 5},
		{Lo: 0x203C, Hi: 0x203C, Stride: 1},
		{Lo: 0x2049, Hi: 0x2049, Stride: 1},
		{Lo: 0x2122, Hi: 0x2122, Stride: 1},
		{Lo: 0x2139, Hi: 0x2139, Stride: 1},
		{Lo: 0x2194, Hi: 0x2199, Stride: 1},
		{Lo: 0x21A9, Hi: 0x21AA, Stride: 1},
		{Lo: 0x231A, Hi: 0x231B, Stride: 1},
		{Lo: 0x2328, Hi: 0x2328, Stride: 1},
		{Lo: 0x23CF, Hi: 0x23CF, Stride: 1},
		{Lo: 0x23E9, Hi: 0x23F3, Stride: 1},
		{Lo: 0x23F8, Hi: 0x23FA, Stride: 1},
		{Lo: 0x24C2, Hi: 0x24C2, Stride: 1},
		{Lo: 0x25AA, Hi: 0x25AB, Stride: 1},
		{Lo: 0x25B6, Hi: 0x25B6, Stride: 1},
		{Lo: 0x25C0, Hi: 0x25C0, Stride: 1},
		{Lo: 0x25FB, Hi: 0x25FE, Stride: 1},
		{Lo: 0x2600, Hi: 0x2604, Stride: 1},
		{Lo: 0x260E, Hi: 0x260E, Stride: 1},
		{Lo: 0x2611, Hi: 0x2611, Stride: 1},
		{Lo: 0x2614, Hi: 0x2615, Stride: 1},
		{Lo: 0x2618, Hi: 0x2618, Stride: 1},
		{Lo: 0x261D, Hi: 0x261D, Stride: 1},
		{Lo: 0x2620, Hi: 0x2620, Stride: 1},
		{Lo: 0x2622, Hi: 0x2623, Stride: 1},
		{Lo: 0x2626, Hi: 0x2626, Stride: 1},
		{Lo: 0x262A, Hi: 0x262A, Stride: 1},
		{Lo: 0x262E, Hi: 0x262F, Stride: 1},
		{Lo: 0x2638, Hi: 0x263A, Stride: 1},
		{Lo: 0x2648, Hi: 0x2653, Stride: 1},
		{Lo: 0x265F, Hi: 0x2660, Stride: 1},
		{Lo: 0x2663, Hi: 0x2663, Stride: 1},
		{Lo: 0x2665, Hi: 0x2666, Stride: 1},
		{Lo: 0x2668, Hi: 0x2668, Stride: 1},
		{Lo: 0x267B, Hi: 0x267B, Stride: 1},
		{Lo: 0x267E, Hi: 0x267F, Stride: 1},
		{Lo: 0x2692, Hi: 0x2697, Stride: 1},
		{Lo: 0x2699, Hi: 0x2699, Stride: 1},
		{Lo: 0x269B, Hi: 0x269C, Stride: 1},
		{Lo: 0x26A0, Hi: 0x26A1, Stride: 1},
		{Lo: 0x26AA, Hi: 0x26AB, Stride: 1},
		{Lo: 0x26B0, Hi: 0x26B1, Stride: 1},
		{Lo: 0x26BD, Hi: 0x26BE, Stride: 1},
		{Lo: 0x26C4, Hi: 0x26C5, Stride: 1},
		{Lo: 0x26C8, Hi: 0x26C8, Stride: 1},
		{Lo: 0x26CE, Hi: 0x26CF, Stride: 1},
		{Lo: 0x26D1, Hi: 0x26D1, Stride: 1},
		{Lo: 0x26D3, Hi: 0x26D4, Stride: 1},
		{Lo: 0x26E9, Hi: 0x26EA, Stride: 1},
		{Lo: 0x26F0, Hi: 0x26F5, Stride: 1},
		{Lo: 0x26F7, Hi: 0x26FA, Stride: 1},
		{Lo: 0x26FD, Hi: 0x26FD, Stride: 1},
		{Lo: 0x2702, Hi: 0x2702, Stride: 1},
		{Lo: 0x2705, Hi: 0x2705, Stride: 1},
		{Lo: 0x2709, Hi: 0x270D, Stride: 1},
		{Lo: 0x270F, Hi: 0x270F, Stride: 1},
		{Lo: 0x2712, Hi: 0x2712, Stride: 1},
		{Lo: 0x2714, Hi: 0x2714, Stride: 1},
		{Lo: 0x2716, Hi: 0x2716, Stride: 1},
		{Lo: 0x271D, Hi: 0x271D, Stride: 1},
		{Lo: 0x2721, Hi: 0x2721, Stride: 1},
		{Lo: 0x2728, Hi: 0x2728, Stride: 1},
		{Lo: 0x2733, Hi: 0x2734, Stride: 1},
		{Lo: 0x2744, Hi: 0x2744, Stride: 1},
		{Lo: 0x2747, Hi: 0x2747, Stride: 1},
		{Lo: 0x274C, Hi: 0x274C, Stride: 1},
		{Lo: 0x274E, Hi: 0x274E, Stride: 1},
		{Lo: 0x2753, Hi: 0x2755, Stride: 1},
		{Lo: 0x2757, Hi: 0x2757, Stride: 1},
		{Lo: 0x2763, Hi: 0x2763, Stride: 1},
		{Lo: 0x2795, Hi: 0x2797, Stride: 1},
		{Lo: 0x27B0, Hi: 0x27B0, Stride: 1},
		{Lo: 0x27BF, Hi: 0x27BF, Stride: 1},
		{Lo: 0x2934, Hi: 0x2935, Stride: 1},
		{Lo: 0x2B05, Hi: 0x2B07, Stride: 1},
		{Lo: 0x2B50, Hi: 0x2B50, Stride: 1},
		{Lo: 0x2B55, Hi: 0x2B55, Stride: 1},
		{Lo: 0x3030, Hi: 0x3030, Stride: 1},
		{Lo: 0x303D, Hi: 0x303D, Stride: 1},
		{Lo: 0x3297, Hi: 0x3299, Stride: 2},
	},
	R32: []unicode.Range32{
		{Lo: 0x1F004, Hi: 0x1F004, Stride: 1},
		{Lo: 0x1F0CF, Hi: 0x1F0CF, Stride: 1},
		{Lo: 0x1F170, Hi: 0x1F171, Stride: 1},
		{Lo: 0x1F17E, Hi: 0x1F17F, Stride: 1},
		{Lo: 0x1F18E, Hi: 0x1F18E, Stride: 1},
		{Lo: 0x1F191, Hi: 0x1F19A, Stride: 1},
		{Lo: 0x1F201, Hi: 0x1F202, Stride: 1},
		{Lo: 0x1F21A, Hi: 0x1F21A, Stride: 1},
		{Lo: 0x1F22F, Hi: 0x1F22F, Stride: 1},
		{Lo: 0x1F232, Hi: 0x1F23A, Stride: 1},
		{Lo: 0x1F250, Hi: 0x1F251, Stride: 1},
	},
	LatinOffset: 1,
}
