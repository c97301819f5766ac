package shell

import "strings"

// splitWords splits a text into words by the rules of env -S, which differ from those of a shell:
// a backslash with an underscore is a blank, and ${NAME} is a variable.
func splitWords(text Word) []Word {
	var (
		words  []Word
		word   strings.Builder
		began  bool
		quote  byte
		source = text.Text
	)
	end := func() {
		if began {
			words = append(words, wordOf(word.String()))
		}
		word.Reset()
		began = false
	}
	for i := 0; i < len(source); i++ {
		c := source[i]
		switch {
		case c == '\\' && i+1 < len(source):
			i++
			switch e := source[i]; {
			case quote == '\'' && e != '\'' && e != '\\':
				word.WriteByte('\\')
				word.WriteByte(e)
			case e == 'c' && quote == 0:
				end()
				return words
			case strings.IndexByte("_fnrtv", e) >= 0 && quote == 0:
				end()
				continue
			case e == '_':
				word.WriteByte(' ')
			case strings.IndexByte("fnrtv", e) >= 0:
				word.WriteByte('\t')
			default:
				word.WriteByte(e)
			}
			began = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, began = c, true
		case c == '$' && quote != '\'' && strings.HasPrefix(source[i:], "${"):
			length := strings.IndexByte(source[i:], '}')
			if length < 0 {
				length = len(source) - i - 1
			}
			i += length
			word.WriteByte(byte(Unknown))
			began = true
		case quote == 0 && strings.IndexByte(" \t\n\v\f\r", c) >= 0:
			end()
		case quote == 0 && c == '#' && !began:
			return words
		default:
			word.WriteByte(c)
			began = true
		}
	}
	end()
	return words
}
