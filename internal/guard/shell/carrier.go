package shell

import (
	"cmp"
	"slices"
	"strings"
)

// carrier describes a program that runs another program, which its words name.
type carrier struct {
	flags    string   // letters of options without a value
	values   string   // letters of options with a value
	longs    []string // long options whose value is the next word
	text     string   // letters of options whose value is a script
	texts    []string // long options whose value is a script
	skip     int      // number of the carrier's own words before the command; negative: all words are its own
	assigns  bool     // NAME=VALUE before the command
	more     bool     // it adds words to the command when it runs
	joined   bool     // its words, joined by spaces, are a script
	inert    []string // options with which it runs nothing
	optional bool     // without a command it runs a shell that reads its input
	after    bool     // the command follows --
	behind   []string // the command follows one of these words
	verbs    []string // it runs nothing without one of these words; empty: no such condition
	each     bool     // each of its words is a script
	splits   bool     // the value of its text options is split into words, as by env -S
}

// carried collects a program that runs another one, such as sudo, and the command that it runs. k
// describes how its words name that command.
func (r *reader) carried(c Command, program string, k carrier, in input, depth int) {
	load := k.load(c.Words[1:])
	if load.unknown != nil {
		c.Hidden = "what it runs depends on " + describe(*load.unknown)
	}
	if len(load.words) == 0 && load.script == nil && c.More && !load.inert {
		c.Hidden = "it runs words that are added later"
	}
	r.add(c)
	at := len(r.found) - 1
	inner := behind(c, program)
	inner.Reads, inner.Writes, inner.Hidden, inner.Words = nil, nil, "", nil
	for _, w := range load.sets {
		name, value, _ := strings.Cut(w.Text, "=")
		r.variable(inner, name, Word{Text: value, Known: w.Known}, depth)
	}
	for _, words := range load.doubts {
		r.doubted(inner, words, in, depth)
	}
	if k.after && len(load.words) == 0 && !load.inert {
		r.tails(c, program, c.Words[1:], depth)
	}
	if k.each {
		for _, w := range load.words {
			if manager, _, ok := strings.Cut(w.Text, ":"); !ok || strings.Trim(manager, "abcdefghijklmnopqrstuvwxyz") != "" { // npm:NAME names a script of the package
				r.text(inner, w, in, depth)
			}
		}
		return
	}
	switch {
	case load.unknown != nil, load.inert, r.full:
	case load.script != nil:
		r.text(inner, *load.script, in, depth)
	case len(load.words) == 0:
		r.implicit(c, k, in, at, depth)
	case k.joined:
		r.joined(inner, load.words, in, depth)
	default:
		inner.More, inner.Listed = c.More || k.more, c.Listed || k.more && in.listed
		for _, w := range load.words {
			inner.Words = append(inner.Words, placeholders(w, load.mark))
		}
		if k.more {
			in = input{redirected: true}
		}
		r.command(inner, in, depth+1)
	}
}

// doubted collects a command that may also be run: it is run if an unknown option has no value. It
// is marked as mentioned, which means that it is uncertain.
func (r *reader) doubted(inner Command, words []Word, in input, depth int) {
	at := len(r.found)
	inner.Words, inner.Mentioned = words, true
	r.command(inner, in, depth+1)
	for i := at; i < len(r.found); i++ {
		r.found[i].Mentioned, r.found[i].Hidden = true, ""
	}
}

// load is what a carrier runs.
type load struct {
	words   []Word   // the words of a command
	script  *Word    // a script instead of a command
	unknown *Word    // the unknown word that hides what runs
	inert   bool     // it runs nothing
	splits  int      // number of texts that were split into words
	sets    []Word   // variables that it sets
	mark    string   // the placeholder that it replaces in the words
	doubts  [][]Word // other possible commands, if an unknown option takes a value
}

// load separates the program's own options from the command that it runs. words are the words after
// the program.
func (k carrier) load(words []Word) load {
	var l load
	if k.withoutVerb(words) {
		return load{inert: true}
	}
	if len(k.behind) > 0 {
		at := slices.IndexFunc(words, func(w Word) bool { return slices.Contains(k.behind, w.Text) })
		if at < 0 {
			return load{inert: true}
		}
		words = words[at+1:]
	}
	skip := k.skip
	for len(words) > 0 {
		w := words[0]
		dash := strings.HasPrefix(w.Text, "-")
		switch {
		case !w.Known && k.assigns && assignment(w.Text):
			l.sets, words = append(l.sets, w), words[1:]
		case !w.Known && dash && !w.Split && strings.Contains(w.Text, "="):
			words = words[1:]
		case !w.Known && skip > 0 && !w.Split && w.Any == nil:
			words, skip = words[1:], skip-1
		case !w.Known && k.after && !w.Split && w.Any == nil: // it may also be --
			k.doubt(&l, words)
			words = words[1:]
		case !w.Known && w.Any == nil:
			l.unknown = &w
			return l
		case w.Text == "--":
			l.words = words[min(len(words), 1+max(skip, 0)):]
			return l
		case w.Text == "-":
			words = words[1:]
		case dash:
			if slices.Contains(k.inert, w.Text) {
				l.inert = true
				return l
			}
			words = k.option(&l, words)
			if l.script != nil || l.unknown != nil {
				return l
			}
		case k.assigns && strings.IndexByte(w.Text, '=') > 0: // any name, for example that of an exported function
			l.sets, words = append(l.sets, w), words[1:]
		case k.after:
			words = words[1:]
		case skip != 0: // negative: all words are the carrier's own, and options may follow
			words, skip = words[1:], skip-1
		default:
			l.words = words
			return l
		}
	}
	return l
}

// maxDoubts is the maximum number of other possible commands.
const maxDoubts = 4

// option returns the words after the option at their beginning and its value. What the option says
// about the command is recorded in l.
func (k carrier) option(l *load, words []Word) []Word {
	if strings.HasPrefix(words[0].Text, "--") {
		return k.long(l, words)
	}
	text := words[0].Text
	for i := 1; i < len(text); i++ {
		letter := text[i]
		switch {
		case strings.IndexByte(k.text+k.values, letter) >= 0, k.more && letter == 'i':
			return k.valued(l, letter, text[i+1:], words[1:])
		case strings.IndexByte(k.flags, letter) >= 0, letter >= '0' && letter <= '9':
		default:
			k.doubt(l, words[1:])
			return words[1:]
		}
	}
	return words[1:]
}

// valued handles the value of a one-letter option: attached, if that is not empty, otherwise the
// next word. It returns the words after the value.
func (k carrier) valued(l *load, letter byte, attached string, rest []Word) []Word {
	w := Word{Text: attached, Known: true}
	if attached == "" && letter != 'i' && len(rest) > 0 {
		w, rest = rest[0], rest[1:]
	}
	switch {
	case strings.IndexByte(k.text, letter) >= 0 && k.splits:
		return k.split(l, w, rest)
	case strings.IndexByte(k.text, letter) >= 0:
		l.script = &w
	case k.more && letter == 'i':
		l.mark = cmp.Or(attached, "{}")
	case k.more && (letter == 'I' || letter == 'J'):
		l.mark = w.Text
	}
	return rest
}

// long handles an option that begins with two dashes, and its value. It returns the words after it.
func (k carrier) long(l *load, words []Word) []Word {
	long, value, given := strings.Cut(words[0].Text, "=")
	rest := words[1:]
	w := Word{Text: value, Known: true}
	long = k.whole(long)
	takes := slices.Contains(k.texts, long) || slices.Contains(k.longs, long)
	if takes && !given && len(rest) > 0 {
		w, rest = rest[0], rest[1:]
	}
	switch {
	case long == "--replace":
		l.mark = cmp.Or(value, "{}")
	case slices.Contains(k.texts, long) && k.splits:
		return k.split(l, w, rest)
	case slices.Contains(k.texts, long):
		l.script = &w
	case !takes && !given:
		k.doubt(l, rest)
	}
	return rest
}

// whole returns the full name of a long option of the carrier, a program such as sudo that runs another command. Such an
// option may be written shorter.
func (k carrier) whole(long string) string {
	for _, all := range [][]string{k.texts, k.longs} {
		if slices.Contains(all, long) {
			return long
		}
	}
	for _, all := range [][]string{k.texts, k.longs} {
		for _, known := range all {
			if len(long) >= len("--xx") && strings.HasPrefix(known, long) {
				return known
			}
		}
	}
	return long
}

// split returns the words of a text, as env -S splits it, followed by rest.
func (k carrier) split(l *load, text Word, rest []Word) []Word {
	if l.splits++; l.splits > maxDepth || text.Any != nil || text.Text == string(Unknown) || text.Split {
		l.unknown = &text
		return rest
	}
	return slices.Concat(splitWords(text), rest)
}

// withoutVerb reports whether the command line certainly has none of the subcommands (verbs) with
// which the carrier runs another command. It is false if the first word is not known, or if a word
// can have any value.
func (k carrier) withoutVerb(words []Word) bool {
	return len(k.verbs) > 0 && !slices.ContainsFunc(words, func(w Word) bool {
		return w.Any != nil || slices.Contains(k.verbs, w.Text)
	}) && len(words) > 0 && words[0].Known
}

// doubt adds a second possible reading of a command line with an unknown option. The first reading
// takes the word after the option as the command that is run; the second takes that word as the
// value of the option, so that the command begins after it. rest are the words after the option.
func (k carrier) doubt(l *load, rest []Word) {
	if len(rest) < 2 || len(l.doubts) >= maxDoubts || k.after && rest[0].Known {
		return
	}
	if k.after {
		l.doubts = append(l.doubts, rest[1:])
		return
	}
	if other := k.load(rest[1:]); len(other.words) > 0 {
		l.doubts = append(l.doubts, other.words)
	} else if other.script != nil {
		l.doubts = append(l.doubts, []Word{{Text: "sh", Known: true}, {Text: "-c", Known: true}, *other.script})
	}
}

// implicit handles a program such as sudo without a command. Some of them then run a shell that
// reads its script from the input.
func (r *reader) implicit(c Command, k carrier, in input, at, depth int) {
	if !k.optional || !in.redirected {
		return
	}
	if !in.known {
		r.found[at].Hidden = "it runs a script from its standard input"
		return
	}
	program, _ := name(c.Words[0])
	r.nested(behind(c, program), in.text, input{redirected: true}, depth)
}

// assignment reports whether a word has the form NAME=VALUE.
func assignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
