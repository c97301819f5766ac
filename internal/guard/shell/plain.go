package shell

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// maxPlain is the maximum length of a script that is read without the parser.
const maxPlain = 2048

// reserved contains the first words that make a command something other than a program with its
// words.
var reserved = sync.OnceValue(set("if then else elif fi do done case esac while until for in function time select coproc declare local export readonly typeset nameref let repeat foreach end always"))

// plainWords returns the words of a script that consists of one program and its arguments, without
// anything that the shell replaces. ok is false for any other script. It is faster than the parser,
// which would return the same words.
func plainWords(text string, room *Scratch) (words []Word, ok bool) {
	if len(text) > maxPlain || !utf8.ValidString(text) { // the parser returns an error for invalid UTF-8
		return nil, false
	}
	words = room.allocWords(1 + strings.Count(text, " "))
	for i := 0; i < len(text); {
		if text[i] == ' ' {
			i++
			continue
		}
		end, quotes := plainWord(text, i)
		if end < 0 {
			return nil, false
		}
		word := text[i:end]
		if len(words) == 0 && (quotes || strings.Contains(word, "=") || reserved()[word]) {
			return nil, false
		}
		if quotes {
			word = unquote(word)
		}
		words = append(words, Word{Text: word, Known: true})
		i = end
	}
	return words, len(words) > 0
}

// plainWord returns where the word that begins at i ends, and whether it contains quotes. A
// negative end means that the shell would change the word.
func plainWord(text string, i int) (end int, quotes bool) {
	for ; i < len(text) && text[i] != ' '; i++ {
		switch c := text[i]; {
		case plainByte(c):
		case c == '\'' || c == '"':
			quotes = true
			length := strings.IndexByte(text[i+1:], c)
			if length < 0 || c == '"' && strings.ContainsAny(text[i+1:i+1+length], "$`\\") {
				return -1, false
			}
			i += 1 + length
		default:
			return -1, false
		}
	}
	return i, quotes
}

// plainByte reports whether this character, outside of quotes, never has a special meaning for a
// shell.
func plainByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./:,@%+=", c) >= 0
}

// unquote returns a plain word without its quotes.
func unquote(word string) string {
	var out strings.Builder
	for i := 0; i < len(word); i++ {
		if c := word[i]; c == '\'' || c == '"' {
			length := strings.IndexByte(word[i+1:], c)
			out.WriteString(word[i+1 : i+1+length])
			i += 1 + length
			continue
		}
		out.WriteByte(word[i])
	}
	return out.String()
}
