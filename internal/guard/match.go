package guard

import (
	"path"
	"strings"

	"gascity/internal/guard/shell"
)

// glob reports whether text fits a pattern in which * stands for any characters
// and ? for one.
func glob(pattern, text string) bool {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			pattern = strings.TrimLeft(pattern, "*")
			if pattern == "" {
				return true
			}
			for i := range len(text) + 1 {
				if glob(pattern, text[i:]) {
					return true
				}
			}
			return false
		case '?':
			if text == "" {
				return false
			}
		default:
			if text == "" || text[0] != pattern[0] {
				return false
			}
		}
		pattern, text = pattern[1:], text[1:]
	}
	return text == ""
}

// anyGlob reports whether one of the patterns fits; none fit everything.
func anyGlob(patterns []string, text string) bool {
	for _, p := range patterns {
		if glob(p, text) {
			return true
		}
	}
	return len(patterns) == 0
}

// meet reports whether there is a text that fits both patterns: * in each stands
// for any characters.
func meet(a, b string) bool {
	switch {
	case a == "" && b == "":
		return true
	case a != "" && a[0] == '*':
		return meet(a[1:], b) || b != "" && meet(a, b[1:])
	case b != "" && b[0] == '*':
		return meet(b[1:], a) || a != "" && meet(a[1:], b)
	case a == "" || b == "":
		return false
	}
	return (a[0] == b[0] || a[0] == '?' || b[0] == '?') && meet(a[1:], b[1:])
}

// maxMeet bounds the words that are compared as patterns: the comparison takes
// time that grows with the product of their stars.
const maxMeet = 512

// wild is a word with its unknown parts as stars.
func wild(text string) string { return strings.ReplaceAll(text, string(shell.Unknown), "*") }

// fits says whether a word is one that fits a pattern.
func fits(pattern string, w shell.Word) truth {
	if w.Any != nil {
		return best(w.Any, func(w shell.Word) truth { return fits(pattern, w) })
	}
	switch {
	case w.Known && glob(pattern, w.Text):
		return yes
	case w.Split, !w.Known && (len(w.Text) > maxMeet || meet(pattern, wild(w.Text))):
		return maybe
	}
	return no
}

// best is the best truth of several words; maybe at most, where they come one after
// the other.
func best(words []shell.Word, of func(shell.Word) truth) truth {
	t := no
	for _, w := range words {
		t = max(t, of(w))
	}
	return t
}

// term is one entry of a rule's any, all or none: options or patterns of arguments.
type term struct {
	options []string // -f, --force
	globs   []string // +*
}

func termOf(text string) term {
	var t term
	for each := range strings.SplitSeq(text, "|") {
		if len(each) > 1 && each[0] == '-' {
			t.options = append(t.options, each)
		} else {
			t.globs = append(t.globs, each)
		}
	}
	return t
}

// minAbbreviation is the shortest beginning of a long option that is taken for it:
// most programs accept any that is not ambiguous.
const minAbbreviation = len("--fo")

// among says whether the term is among the words of a command.
func (t term) among(words []shell.Word, more bool) truth {
	found := holds(false)
	if more {
		found = maybe
	}
	ended := false
	for _, w := range words {
		if w.Known && w.Text == "--" && !ended {
			ended = true
			continue
		}
		if !ended {
			for _, o := range t.options {
				found = max(found, option(o, w))
			}
		}
		for _, g := range t.globs {
			if ended || !isOption(w) || strings.HasPrefix(g, "-") {
				found = max(found, fits(g, w))
			}
		}
		if found == yes {
			break
		}
	}
	return found
}

func isOption(w shell.Word) bool { return w.Known && len(w.Text) > 1 && w.Text[0] == '-' }

// option says whether a word is the option, or holds it.
func option(name string, w shell.Word) truth {
	if w.Any != nil {
		return best(w.Any, func(w shell.Word) truth { return option(name, w) })
	}
	if !w.Known {
		head := w.Text[:strings.IndexByte(w.Text, shell.Unknown)]
		could := w.Split || head == "" || strings.HasPrefix(head, "-") && (len(name) == 2 && !strings.HasPrefix(head, "--") ||
			strings.HasPrefix(name, head) || strings.HasPrefix(head, name))
		if could {
			return maybe
		}
		return no
	}
	text, _, _ := strings.Cut(w.Text, "=")
	switch {
	case text == name:
		return yes
	case len(name) == 2: // one letter, also in a cluster
		return holds(len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' && strings.Contains(w.Text[1:], name[1:]))
	default:
		return holds(strings.HasPrefix(name, "--") && len(text) >= minAbbreviation && strings.HasPrefix(name, text))
	}
}

// head is a program and the first of its words, as a rule names them.
type head []string

func headOf(text string) head { return strings.Fields(text) }

// begins says whether a command begins so. The program's own options may come in
// between, with a value each.
func (h head) begins(c *shell.Command) (truth, []shell.Word) {
	if len(c.Words) == 0 {
		return no, nil
	}
	program := c.Words[0]
	if program.Known {
		program.Text = path.Base(program.Text)
	}
	t := fits(h[0], program)
	words := c.Words[1:]
	wanted := h[1:]
	after := false // the word before was an option, which may take this one as its value
	for i := 0; len(wanted) > 0; i++ {
		if t == no {
			return no, nil
		}
		if i == len(words) {
			if c.More {
				return min(t, maybe), nil
			}
			return no, nil
		}
		w := words[i]
		if isOption(w) {
			after = !strings.Contains(w.Text, "=")
			continue
		}
		switch fits(wanted[0], w) {
		case yes:
			wanted = wanted[1:]
			words = append(append(make([]shell.Word, 0, len(words)), words[:i]...), words[i+1:]...)
			i--
		case maybe:
			return min(t, maybe), words
		case no:
			if !after {
				return no, nil
			}
		}
		after = false
	}
	return t, words
}
