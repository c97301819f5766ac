package shell

import (
	"slices"
	"strings"
)

// text reads a script that is a word of a command.
func (r *reader) text(c Command, script Word, depth int) {
	if !script.Known {
		c.Hidden = "it runs a script that depends on " + describe(script)
		r.found = append(r.found, c)
		return
	}
	r.nested(c, script.Text, c.Via, depth)
}

// joined reads the script that words make when they are put together.
func (r *reader) joined(c Command, words []Word, depth int) {
	parts := make([]string, len(words))
	for i, w := range words {
		if !w.Known {
			c.Hidden = "it runs a script that depends on " + describe(w)
			r.found = append(r.found, c)
			return
		}
		parts[i] = w.Text
	}
	r.nested(c, strings.Join(parts, " "), c.Via, depth)
}

// eval reads the script that the words of eval make.
func (r *reader) eval(c Command, depth int) {
	r.found = append(r.found, c)
	if len(c.Words) > 1 {
		r.joined(behind(c, "eval"), c.Words[1:], depth)
	}
}

// source marks a script that does not come from a plain file.
func (r *reader) source(c Command) {
	if len(c.Words) > 1 && !c.Words[1].Known {
		c.Hidden = "it runs a script from " + describe(c.Words[1])
	}
	r.found = append(r.found, c)
}

// shell reads the script of a shell: a word, its input, or a file that is not
// looked into.
func (r *reader) shell(c Command, name string, in input, depth int) {
	r.found = append(r.found, c)
	at := len(r.found) - 1
	script := false
	words := c.Words[1:]
	for len(words) > 0 {
		w := words[0]
		if !w.Known && w.Any == nil {
			r.found[at].Hidden = "what it runs depends on " + describe(w)
			return
		}
		if len(w.Text) < 2 || w.Text[0] != '-' && w.Text[0] != '+' {
			break
		}
		words = words[1:]
		switch {
		case w.Text == "--":
		case w.Text == "--rcfile", w.Text == "--init-file", w.Text == "-o", w.Text == "+o", w.Text == "-O", w.Text == "+O":
			words = words[min(1, len(words)):]
			continue
		case w.Text[0] == '-' && w.Text[1] != '-' && strings.Contains(w.Text, "c"):
			script = true
			continue
		case w.Text[0] == '-' && w.Text[1] != '-' && strings.Contains(w.Text, "s"):
			words = nil
		default:
			continue
		}
		break
	}
	switch {
	case script && len(words) == 0:
	case script:
		r.text(behind(c, name), words[0], depth)
	case len(words) > 0 && words[0].Text != "-" && words[0].Text != "/dev/stdin":
		if strings.ContainsRune(words[0].Text, Unknown) || strings.HasPrefix(words[0].Text, "/dev/fd/") || strings.HasPrefix(words[0].Text, "/proc/self/fd/") {
			r.found[at].Hidden = "it runs a script from " + describe(words[0])
		}
	case in.known:
		r.nested(c, in.text, behind(c, name).Via, depth)
	case in.redirected:
		r.found[at].Hidden = "it runs a script that comes from its input"
	}
}

// scripts reads the scripts that trap and alias keep for later.
func (r *reader) scripts(c Command, name string, depth int) {
	words := c.Words[1:]
	if name == "trap" {
		for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
			words = words[1:]
		}
		if len(words) > 1 {
			r.text(behind(c, name), words[0], depth)
		}
		return
	}
	for _, w := range words {
		_, value, ok := strings.Cut(w.Text, "=")
		if ok {
			r.text(behind(c, name), Word{Text: value, Known: w.Known}, depth)
		}
	}
}

// find follows -exec and its like.
func (r *reader) find(c Command, depth int) {
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, words[i].Text) {
			continue
		}
		end := i + 1
		for end < len(words) && words[end].Text != ";" && words[end].Text != "+" {
			end++
		}
		inner := behind(c, "find")
		inner.Words, inner.Reads, inner.Writes = nil, nil, nil
		for _, w := range words[i+1 : end] {
			if strings.Contains(w.Text, "{}") {
				w = Word{Text: strings.ReplaceAll(w.Text, "{}", string(Unknown))}
			}
			inner.Words = append(inner.Words, w)
		}
		r.command(inner, input{redirected: true}, depth+1)
		i = end
	}
}

// hideAliases marks a git that brings commands of its own along.
func hideAliases(c Command) Command {
	for i, w := range c.Words {
		setting := w.Text
		if i > 0 && c.Words[i-1].Text == "-c" || strings.HasPrefix(setting, "--config-env=") {
			setting = strings.ToLower(strings.TrimPrefix(setting, "--config-env="))
			if strings.HasPrefix(setting, "alias.") || !w.Known && strings.HasPrefix(setting, string(Unknown)) {
				c.Hidden = "it defines an alias in its own words"
			}
		}
	}
	return c
}
