package shell

import (
	"slices"
	"strings"
	"sync"
)

// textOptions describes the options of a program whose values are programs of a language, or names
// of files with them.
type textOptions struct {
	short    string          // letters of the options of interest; they have a value
	values   string          // letters of other options with a value
	attached string          // letters of options whose value is only the rest of the same word
	long     map[string]byte // long options with a value, and the letter of each
}

// each calls found for each option of interest (o.short) among the words. Its arguments are the
// option's letter, its value, and the index of the word with the value. each returns the indexes of
// the words that are not options.
func (o textOptions) each(words []Word, found func(letter byte, i int, value Word)) (rest []int) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Text == "--" && w.Known:
			for i++; i < len(words); i++ {
				rest = append(rest, i)
			}
		case len(w.Text) < 2 || w.Text[0] != '-' || w.Any != nil:
			rest = append(rest, i)
		case strings.HasPrefix(w.Text, "--"):
			letter, value, given := o.longOption(w.Text)
			switch {
			case letter == 0:
			case given:
				o.call(found, letter, i, wordOf(value))
			case i+1 < len(words):
				i++
				o.call(found, letter, i, words[i])
			}
		default:
			i = o.cluster(words, i, found)
		}
	}
	return rest
}

// call calls found if the option with this letter is one of interest.
func (o textOptions) call(found func(byte, int, Word), letter byte, i int, value Word) {
	if strings.IndexByte(o.short, letter) >= 0 {
		found(letter, i, value)
	}
}

// longOption returns the letter of a long option, which may be abbreviated, and its value.
func (o textOptions) longOption(text string) (letter byte, value string, given bool) {
	name, value, given := strings.Cut(text, "=")
	if letter, ok := o.long[name]; ok {
		return letter, value, given
	}
	for long, letter := range o.long {
		if len(name) > len("--") && strings.HasPrefix(long, name) {
			return letter, value, given
		}
	}
	return 0, "", false
}

// cluster reads the one-letter options in the word with index i, such as -abc, and calls found for
// those of interest. It returns the index of the last word that it has read.
func (o textOptions) cluster(words []Word, i int, found func(letter byte, i int, value Word)) int {
	text := words[i].Text
	for at := 1; at < len(text); at++ {
		letter := text[at]
		switch {
		case strings.IndexByte(o.attached, letter) >= 0:
			return i
		case strings.IndexByte(o.short+o.values, letter) < 0:
			continue
		case at+1 < len(text):
			o.call(found, letter, i, wordOf(text[at+1:]))
			return i
		case i+1 < len(words):
			o.call(found, letter, i+1, words[i+1])
			return i + 1
		}
	}
	return i
}

// program marks the word with index i as a text in a language, such as a pattern, so that it does
// not count as a file name.
func (c *Command) program(i int) {
	if i < len(c.Words) && !c.Words[i].Program {
		c.Words = slices.Clone(c.Words)
		c.Words[i].Program = true
	}
}

// patternFirst contains the options of the commands, such as grep or awk, whose first argument is a
// pattern or a script and no file. If one of the options gives the pattern, the first argument is a
// file.
var patternFirst = sync.OnceValue(func() map[string]textOptions {
	return byName(map[string]textOptions{
		"grep egrep fgrep ggrep": {short: "ef", values: "ABCdDm", long: map[string]byte{"--regexp": 'e', "--file": 'f', "--after-context": 'A', "--before-context": 'A', "--context": 'A', "--max-count": 'A', "--directories": 'A'}},
		"rg":                     {short: "ef", values: "ABCdgjmMrtTE", long: map[string]byte{"--regexp": 'e', "--file": 'f', "--glob": 'A', "--type": 'A', "--max-count": 'A', "--after-context": 'A', "--before-context": 'A'}},
		"awk gawk mawk nawk":     {short: "vefiEl", values: "F", long: map[string]byte{"--source": 'e', "--file": 'f', "--include": 'i', "--exec": 'E', "--load": 'l', "--assign": 'v', "--field-separator": 'F'}},
		"jq":                     {short: "f", values: "L", long: map[string]byte{"--from-file": 'f'}},
	})
})

// curlTexts describes the options of curl whose value is a text of the request, not a file.
var curlTexts = textOptions{
	short: "HAXwue", values: "dFTobcmxKErCDPtyYzU", long: map[string]byte{"--header": 'H', "--user-agent": 'A', "--request": 'X', "--write-out": 'w', "--user": 'u', "--referer": 'e', "--data": 'd', "--output": 'o', "--form": 'd'},
}

// patterns marks the arguments of a command that are patterns or program texts, so that they do not
// count as file names.
func (r *reader) patterns(c *Command, program string) {
	switch program {
	case "curl":
		curlTexts.each(c.Words[1:], func(_ byte, i int, w Word) {
			if w.Text != "" && w.Text[0] != '@' && w.Text[0] != byte(Unknown) { // @NAME is a file with headers
				c.program(i + 1)
			}
		})
	case "jq":
		for i := range c.Words {
			if c.Words[i].Text == "--arg" || c.Words[i].Text == "--argjson" {
				c.program(i + 1)
				c.program(i + 2)
			}
		}
	}
	options, ok := patternFirst()[program]
	if !ok {
		return
	}
	given := false
	rest := options.each(c.Words[1:], func(letter byte, i int, _ Word) {
		given = given || letter != 'v'
		if letter == 'e' || letter == 'v' { // a pattern, or a variable of awk; other letters are for files
			c.program(i + 1)
		}
	})
	if given || len(rest) == 0 {
		return
	}
	first := c.Words[rest[0]+1]
	if first.Text == string(Unknown) && strings.HasSuffix(program, "awk") {
		c.Hidden = "it runs an awk program that gc cannot see"
	}
	if first.Known || !first.Split {
		c.program(rest[0] + 1)
	}
}
