package guard

import (
	"slices"
	"strings"

	"gascity/internal/guard/shell"
)

// glob reports whether text matches a pattern, in which * matches any characters and ? matches
// one. A backslash removes the special meaning of the next character.
func glob(pattern, text string) bool {
	p, t := 0, 0
	star, from := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && pattern[p] == '\\' && p+1 < len(pattern) && pattern[p+1] == text[t]:
			p, t = p+2, t+1
		case p < len(pattern) && pattern[p] != '\\' && (pattern[p] == '?' || pattern[p] == text[t]):
			p, t = p+1, t+1
		case star < 0:
			return false
		default:
			from++
			p, t = star+1, from
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// anyGlob reports whether one of the patterns matches; true if there are no patterns.
func anyGlob(patterns []string, text string) bool {
	for _, p := range patterns {
		if glob(p, text) {
			return true
		}
	}
	return len(patterns) == 0
}

// canBothMatch reports whether there is a text that matches both patterns. Its time is proportional
// to the product of their lengths.
func canBothMatch(a, b string) bool {
	if !strings.ContainsAny(b, "*?") {
		return glob(a, b)
	}
	// ways[j] is true if some text matches both the read part of a and the first j bytes of b.
	ways := make([]bool, len(b)+1)
	ways[0] = true
	for j := range len(b) {
		ways[j+1] = ways[j] && b[j] == '*'
	}
	for i := 0; i < len(a); i++ {
		letter, literal := a[i], false
		if letter == '\\' && i+1 < len(a) {
			i++
			letter, literal = a[i], true
		}
		before := ways[0] // of the previous row, at j
		ways[0] = ways[0] && letter == '*' && !literal
		for j := range len(b) {
			above := ways[j+1]
			one := letter == b[j] || b[j] == '?' || letter == '?' && !literal
			switch {
			case letter == '*' && !literal:
				ways[j+1] = above || ways[j]
			case b[j] == '*':
				ways[j+1] = above || before || ways[j]
			default:
				ways[j+1] = before && one
			}
			before = above
		}
	}
	return ways[len(b)]
}

// maxMeet is the maximum length of a word that is compared as a pattern, because that comparison
// is slow.
const maxMeet = 512

// wild returns the text of a word as a pattern: each unknown part is a star.
func wild(text string) string { return strings.ReplaceAll(text, string(shell.Unknown), "*") }

// fits reports whether a word matches a pattern of a rule. The result is uncertain if the word is
// only partly known.
func fits(pattern string, w *shell.Word) truth {
	if w.Any != nil {
		return each(w.Any, func(w *shell.Word) truth { return fits(pattern, w) })
	}
	switch {
	case w.Known && glob(pattern, w.Text):
		return yes
	case w.Glob && w.Known:
		return min(truthOf(globbed(pattern, w.Text)), maybe)
	case w.Split, !w.Known && (len(w.Text) > maxMeet || canBothMatch(pattern, wild(w.Text))):
		return maybe
	}
	return no
}

// each returns whether of is true for the values that a word has one after the other, such as a
// loop variable, or for the files that these values name.
func each[T any](values []T, of func(*T) truth) truth {
	most, least := no, yes
	for i := range values {
		t := of(&values[i])
		most, least = max(most, t), min(least, t)
	}
	if most == yes && least < yes {
		return some
	}
	return most
}

// term is one entry of a rule's any, all or none: alternatives of options and patterns of
// arguments.
type term struct {
	options []string // -f, --force
	globs   []string // +*
}

// termOf parses one entry of a rule's lists any, all and none: alternatives, separated by "|".
func termOf(text string) term {
	var t term
	const bar = "\x01" // stands for an escaped bar
	for each := range strings.SplitSeq(strings.ReplaceAll(text, `\|`, bar), "|") {
		each = strings.ReplaceAll(each, bar, "|")
		if len(each) > 1 && each[0] == '-' && !strings.ContainsAny(each, "*?") {
			t.options = append(t.options, each)
		} else {
			t.globs = append(t.globs, each)
		}
	}
	return t
}

// minAbbreviation is the minimum length of an abbreviated long option, because most programs
// accept any unique abbreviation.
const minAbbreviation = len("--m")

// among reports whether one of the term's options or patterns is among the words of a command. more
// is true if further, unknown words are added when the command runs.
func (t term) among(words []shell.Word, more bool) truth {
	found := no
	if more {
		found = maybe
	}
	ended := false
	for i := range words {
		w := &words[i]
		if w.Known && w.Text == "--" && !ended {
			ended = true
			continue
		}
		if !ended && !argument(w) {
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

// argument reports whether a word of a command line is certainly an argument and not an option.
func argument(w *shell.Word) bool {
	return w.Known && !w.Glob && w.Any == nil && (w.Text == "" || w.Text[0] != '-')
}

// isOption reports whether a word is certainly an option.
func isOption(w *shell.Word) bool { return w.Known && len(w.Text) > 1 && w.Text[0] == '-' }

// option reports whether a word is the option with this name or contains it, as -uf contains -f.
func option(name string, w *shell.Word) truth {
	if w.Any != nil {
		return each(w.Any, func(w *shell.Word) truth { return option(name, w) })
	}
	if w.Glob && w.Known && strings.ContainsRune("*?[-", rune(w.Text[0])) { // the pattern may match a file whose name looks like an option
		cluster := len(name) == 2 && !strings.ContainsAny(w.Text, "./") && !strings.HasPrefix(w.Text, "--")
		return min(truthOf(cluster || globbed(name, w.Text)), maybe)
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
	case len(name) == 2: // one letter, also together with others as in -uf
		return truthOf(len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' && strings.Contains(w.Text[1:], name[1:]))
	default:
		return truthOf(strings.HasPrefix(name, "--") && len(text) >= minAbbreviation && strings.HasPrefix(name, text))
	}
}

// head is the beginning of a command in a rule: a program and its first words.
type head []string

// headOf parses the beginning of a command in a rule, such as "git push".
func headOf(text string) head {
	h := strings.Fields(text)
	h[0] = strings.ToLower(h[0]) // some file systems ignore case
	return h
}

// valueOptions lists, by program, the options before its subcommand that take the next word as
// their value. For a program that is not in the list, any option may take one.
var valueOptions = map[string][]string{
	"git":       {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env", "--attr-source"},
	"gh":        {"-R", "--repo", "--hostname"},
	"docker":    {"-H", "--host", "-c", "--context", "-l", "--log-level", "--config"},
	"kubectl":   {"-n", "--namespace", "--context", "--kubeconfig", "-s", "--server", "--cluster", "--user", "--token", "--as"},
	"terraform": {}, "npm": {"--prefix", "-C", "-w", "--workspace"}, "go": {"-C"}, "cargo": {"-C", "--config", "-Z"},
}

// refused is a fast check, because most rules do not match. It reports whether the subcommand among
// the words certainly differs from wanted. takes and exact are the program's entry in valueOptions.
func refused(wanted string, words []shell.Word, takes []string, exact bool) bool {
	after := false
	for i := 0; i < len(words); i++ {
		w := &words[i]
		if len(w.Text) > 1 && w.Text[0] == '-' && w.Any == nil {
			if exact && slices.Contains(takes, w.Text) {
				i++
			}
			after = !exact && !strings.Contains(w.Text, "=")
			continue
		}
		if fits(wanted, w) != no {
			return false
		}
		if !after {
			return true
		}
		after = false
	}
	return true
}

// begins reports whether a command begins with the head, for example "git push", and returns the
// words after it. Options of the program may be between the words of the head. takes lists those
// options that have a value; if exact is false, any option may have one.
func (h head) begins(c *shell.Command, program string, takes []string, exact bool) (truth, []shell.Word) {
	t := truthOf(glob(h[0], program))
	words := c.Words[1:]
	if t == no || len(h) == 1 {
		return t, words
	}
	if !c.More && refused(h[1], words, takes, exact) {
		return no, nil
	}
	s := search{wanted: h[1:], left: make([]shell.Word, 0, len(words)), t: t}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if len(w.Text) > 1 && w.Text[0] == '-' && w.Any == nil {
			s.left = append(s.left, w)
			s.after = !exact && !strings.Contains(w.Text, "=")
			if exact && slices.Contains(takes, w.Text) {
				i++
			}
			continue
		}
		if s.word(w, words[i+1:]) {
			return s.t, s.left
		}
	}
	if c.More {
		return min(s.t, maybe), s.left
	}
	return s.otherwise, s.rest
}

// search finds the words of a head among the words of a command.
type search struct {
	wanted    []string
	left      []shell.Word // words that are not part of the head
	t         truth
	after     bool         // the previous word was an option, which may take this word as its value
	otherwise truth        // the result if a word that may be a value is not a value
	rest      []shell.Word // the words that are left in that case
}

// word compares a word that is not an option with the next word of the head. done is true when the
// search has its result.
func (s *search) word(w shell.Word, next []shell.Word) (done bool) {
	fit, after := fits(s.wanted[0], &w), s.after
	s.after = false
	switch {
	case fit == no && !after:
		s.t, s.left = s.otherwise, s.rest
		return true
	case fit == no:
		s.left = append(s.left, w)
	case fit == maybe && after && !w.Split: // a value, or the command
		s.otherwise, s.rest = maybe, slices.Concat(s.left, next)
	default:
		s.t, s.wanted = min(s.t, fit), s.wanted[1:]
		if len(s.wanted) == 0 || w.Split {
			s.left = append(s.left, next...)
			return true
		}
	}
	return false
}
