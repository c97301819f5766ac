package shell

import (
	"slices"
	"strings"
)

// text collects the commands in a script that is a word of the command c. If the word is not known,
// c is added as hidden.
func (r *reader) text(c Command, script Word, in input, depth int) {
	if script.Any != nil {
		for _, w := range script.Any {
			r.text(c, w, in, depth)
		}
		return
	}
	if !script.Known {
		r.hide(c, "it runs a script that depends on "+describe(script))
		return
	}
	r.nested(c, script.Text, in, depth)
}

// joined collects the commands in the script that consists of these words joined by spaces.
func (r *reader) joined(c Command, words []Word, in input, depth int) {
	parts := make([]string, len(words))
	for i, w := range words {
		if !w.Known {
			r.hide(c, "it runs a script that depends on "+describe(w))
			return
		}
		parts[i] = w.Text
	}
	r.nested(c, strings.Join(parts, " "), in, depth)
}

// eval collects the command eval and the commands in the script that its arguments form.
func (r *reader) eval(c Command, in input, depth int) {
	r.add(c)
	if len(c.Words) > 1 {
		r.joined(behind(c, "eval"), c.Words[1:], in, depth)
	}
	if c.More {
		r.hide(behind(c, "eval"), "it runs words that are added later")
	}
}

// source collects the command source. It is marked as hidden if its script does not come from a
// regular file, because the guard then cannot check it.
func (r *reader) source(c Command, in input, depth int) {
	words := c.Words[1:]
	if len(words) > 0 && words[0].Known && words[0].Text == "--" {
		words = words[1:]
	}
	switch {
	case len(words) == 0 && c.More, len(words) > 0 && !words[0].Known:
		c.Hidden = "it runs a script from a place that is not known"
	case len(words) > 0 && (words[0].Text == "/dev/stdin" || words[0].Text == "/dev/fd/0"):
		r.fromInput(c, in, depth)
		return
	case len(words) > 0 && stream(words[0]):
		c.Hidden = "it runs a script that another program writes"
	}
	r.add(c)
}

// stream reports whether a file name means an open file, such as /dev/stdin, whose content another
// program writes while the command runs.
func stream(w Word) bool {
	return w.Text == "/dev/stdin" || strings.HasPrefix(w.Text, "/dev/fd/") || strings.HasPrefix(w.Text, "/proc/") && strings.Contains(w.Text, "/fd/")
}

// fromInput collects the command c and the commands in its input, which it runs as a script. If the
// input is not known, c is marked as hidden.
func (r *reader) fromInput(c Command, in input, depth int) {
	if !in.known {
		r.hide(c, "it runs a script that comes from its input")
		return
	}
	r.add(c)
	program, _ := name(c.Words[0])
	r.nested(behind(c, program), in.text, input{redirected: true}, depth)
}

// invocation describes how a shell is started.
type invocation struct {
	script  bool   // the first word is a script
	input   bool   // the script comes from the input
	words   []Word // the words after the options
	unknown *Word
	first   *Word // a file that the shell reads first
}

// invoked returns how a shell is started by its options: with a script in a word, from a file or
// from its input.
func invoked(words []Word) invocation {
	v := invocation{words: words}
	for len(v.words) > 0 {
		w := v.words[0]
		if !w.Known && w.Any == nil {
			v.unknown = &w
			return v
		}
		if len(w.Text) < 2 || w.Text[0] != '-' && w.Text[0] != '+' {
			return v
		}
		v.words = v.words[1:]
		if w.Text == "--" || v.option(w.Text) {
			return v
		}
	}
	return v
}

// option handles one option of a shell. last is true if the script or the file follows this option.
func (v *invocation) option(text string) (last bool) {
	long, value, given := strings.Cut(strings.ToLower(text), "=")
	switch {
	case slices.Contains([]string{"--command", "--init-command", "-command", "-comman", "-comma", "-comm", "-com"}, long): // options of some shells
		v.script = true
		if given {
			v.words = append([]Word{{Text: text[len(text)-len(value):], Known: true}}, v.words...)
		}
		return true
	case slices.Contains([]string{"--rcfile", "--init-file", "--emulate"}, long) && !given:
		if len(v.words) > 0 {
			v.first, v.words = &v.words[0], v.words[1:]
		}
	case strings.HasPrefix(text, "--"):
	default:
		if strings.ContainsAny(text, "oO") {
			v.words = v.words[min(1, len(v.words)):]
		}
		if text[0] == '-' {
			v.script = v.script || strings.ContainsAny(text, "cC")
			v.input = v.input || strings.Contains(text, "s")
		}
	}
	return false
}

// shell collects a shell and the commands of its script, if that is a word or the input. A script
// in a file is not read.
func (r *reader) shell(c Command, program string, in input, depth int) {
	v := invoked(c.Words[1:])
	inner := behind(c, program)
	for _, w := range c.Words[1:] {
		r.expansions(inner, w, depth)
	}
	switch {
	case v.unknown != nil:
		r.hide(c, "what it runs depends on "+describe(*v.unknown))
	case v.first != nil && (!v.first.Known || stream(*v.first)):
		r.hide(c, "it runs a script that another program writes")
	case v.script && len(v.words) > 0:
		r.add(c)
		r.text(inner, v.words[0], in, depth)
	case v.script && c.More, len(v.words) == 0 && c.More:
		r.hide(c, "it runs a script that is added later")
	case v.script:
		r.add(c)
	case !v.input && len(v.words) > 0 && v.words[0].Text != "-" && !stream(v.words[0]):
		if strings.ContainsRune(v.words[0].Text, Unknown) {
			c.Hidden = "it runs a script from " + describe(v.words[0])
		}
		r.add(c)
	case len(v.words) > 0 && stream(v.words[0]) && v.words[0].Text != "/dev/stdin":
		r.hide(c, "it runs a script that another program writes")
	case in.redirected:
		r.fromInput(c, in, depth)
	default:
		r.add(c)
	}
}

// scripts collects the commands in scripts that trap and alias store for later.
func (r *reader) scripts(c Command, program string, depth int) {
	words := c.Words[1:]
	for len(words) > 0 && words[0].Known && strings.HasPrefix(words[0].Text, "-") && (words[0].Text != "-" || program == "alias") {
		words = words[1:]
	}
	if program == "trap" {
		if len(words) > 1 {
			r.text(behind(c, program), words[0], input{}, depth)
		}
		return
	}
	for _, w := range words {
		_, value, ok := strings.Cut(w.Text, "=")
		if ok {
			r.text(behind(c, program), Word{Text: value, Known: w.Known}, input{}, depth)
		}
	}
}

// executing contains the options of find and similar programs after which a command follows.
var executing = map[string][]string{
	"find": {"-exec", "-execdir", "-ok", "-okdir"},
	"fd":   {"-x", "-X", "--exec", "--exec-batch"}, "fdfind": {"-x", "-X", "--exec", "--exec-batch"},
}

// find collects the commands that find and similar programs run, as given after -exec.
func (r *reader) find(c Command, program string, depth int) {
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		if !words[i].Known {
			if words[i].Split {
				r.hide(behind(c, program), "it may run a command that depends on "+describe(words[i]))
			}
			continue
		}
		if !slices.Contains(executing[program], words[i].Text) {
			continue
		}
		end := i + 1
		for end < len(words) && words[end].Text != ";" && words[end].Text != "+" {
			end++
		}
		inner := behind(c, program)
		inner.Words, inner.Reads, inner.Writes = nil, nil, nil
		for _, w := range words[i+1 : end] {
			marked := placeholders(w, "{}")
			if !marked.Known && w.Known && !slices.ContainsFunc(words[:i], elsewhere) {
				marked.Listed, marked.Text = true, "./"+strings.TrimPrefix(marked.Text, "./")
				if pattern := nameSuffix(words[:i]); w.Text == "{}" && program == "find" {
					marked.Text += pattern
				}
			}
			inner.Words = append(inner.Words, marked)
		}
		inner.More = inner.More || program != "find"
		r.command(inner, input{redirected: true}, depth+1)
		i = end
	}
}

// nameSuffix returns the pattern of the names that find searches, if it searches one pattern only;
// else empty.
func nameSuffix(words []Word) string {
	pattern := ""
	for i, w := range words {
		switch {
		case slices.Contains([]string{"-o", "-or", ",", "!", "-not", "(", "-a"}, w.Text):
			return ""
		case w.Text == "-name" && i+1 < len(words) && words[i+1].Known && !strings.ContainsAny(words[i+1].Text, "[\\/"):
			pattern = words[i+1].Text
		}
	}
	return pattern
}

// elsewhere reports whether a word may be a path outside of the script's working directory.
func elsewhere(w Word) bool {
	return !w.Known || strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, "~") || strings.Contains(w.Text, "..")
}

// placeholders returns a word in which each of the marks is an unknown part, because a program
// replaces the mark when it runs.
func placeholders(w Word, marks ...string) Word {
	for _, mark := range marks {
		if mark != "" && strings.Contains(w.Text, mark) {
			w.Text, w.Known = strings.ReplaceAll(w.Text, mark, string(Unknown)), false
		}
	}
	return w
}
