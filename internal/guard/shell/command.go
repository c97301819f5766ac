package shell

import (
	"slices"
	"strings"
)

// isShell reports whether a program is a shell.
func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "fish", "rbash", "yash", "posh", "csh", "tcsh", "pwsh", "nu", "elvish", "xonsh"}, name)
}

// command collects a command and every command that it runs. in describes its input, and depth is
// how deeply its script is nested.
func (r *reader) command(c Command, in input, depth int) {
	if len(c.Words) == 0 || r.full {
		return
	}
	if first := c.Words[0]; first.Any != nil {
		for _, w := range first.Any {
			each := c
			each.Words = append([]Word{w}, c.Words[1:]...)
			r.command(each, in, depth)
		}
		return
	}
	program, known := name(c.Words[0])
	switch {
	case depth >= maxDepth:
		r.hide(c, "it is nested too deep")
		return
	case !known:
		r.hide(c, "which program it runs depends on "+describe(c.Words[0]))
		return
	}
	c.Folders = append(slices.Clip(c.Folders), changes(c.Words[1:])...)
	r.program(c, program, in, depth)
}

// program collects a command and what it runs, depending on the name of its program.
func (r *reader) program(c Command, program string, in input, depth int) {
	switch {
	case isShell(program), program == "exe" && strings.HasPrefix(c.Words[0].Text, "/proc/"): // /proc/PID/exe may be a shell
		r.shell(c, program, in, depth)
	case stream(c.Words[0]):
		r.hide(c, "it runs a program that another program writes")
	case program == "eval":
		r.eval(c, in, depth)
	case program == "source", program == ".":
		r.source(c, in, depth)
	case program == "trap", program == "alias":
		r.add(c)
		r.scripts(c, program, depth)
	case program == "cd", program == "pushd", program == "chdir":
		r.add(c)
		r.change(c)
	case program == "git", program == "hub", strings.HasPrefix(program, "git-") && len(program) > len("git-"):
		r.git(c, program, depth)
	case executing[program] != nil:
		r.add(c)
		r.find(c, program, depth)
	case program == "parallel":
		r.parallel(c, in, depth)
	case program == "hash", program == "enable":
		if slices.ContainsFunc(c.Words[1:], func(w Word) bool {
			return !w.Known || strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "pf")
		}) {
			c.Hidden = "it makes the name of a command run another program"
		}
		r.add(c)
	default:
		r.other(c, program, in, depth)
	}
}

// other collects a command whose program may run another one, and what that is.
func (r *reader) other(c Command, program string, in input, depth int) {
	if evaluators[program] {
		for _, w := range c.Words[1:] {
			r.expansions(behind(c, program), w, depth)
		}
	}
	if program == "ssh" || program == "scp" || program == "sftp" {
		r.connections(c, program, depth)
	}
	k, ok := carrierOf(program)
	if !ok {
		r.languages(&c, program, in, depth)
		if runsUnseenProgram(c, program, in) {
			c.Hidden = "it runs a program that comes from its input"
		}
		r.add(c)
		r.interpreted(c, program, in, depth)
		r.tails(c, program, c.Words[1:], depth)
		r.fedShell(c, program, in, depth)
		return
	}
	r.carried(c, program, k, in, depth)
}

// evaluators contains the builtins that evaluate their words again, as names of array elements.
var evaluators = map[string]bool{
	"test": true, "[": true, "printf": true, "unset": true, "read": true, "wait": true, "mapfile": true, "readarray": true, "set": true, "compgen": true, "complete": true, "let": true,
}

// languages collects the commands in those arguments of a program that are scripts, recipes or
// programs in another language.
func (r *reader) languages(c *Command, program string, in input, depth int) {
	r.patterns(c, program)
	switch {
	case program == "sed", program == "gsed":
		r.sed(c, in, depth)
	case isMake(program):
		r.recipes(c, in, depth)
	case program == "socat", program == "nc", program == "ncat", program == "netcat":
		r.peers(*c, program, depth)
	case program == "start-stop-daemon":
		r.daemon(*c, in, depth)
	case program == "nix", program == "mvn", program == "mvnw":
		r.named(*c, program, depth)
	default:
		r.callbacks(c, program, depth)
	}
}

// change records the directory to which the command cd changes, because file names after it are
// relative to that.
func (r *reader) change(c Command) {
	words := c.Words[1:]
	for len(words) > 0 && words[0].Known && len(words[0].Text) > 1 && words[0].Text[0] == '-' {
		words = words[1:]
	}
	switch {
	case c.More:
		r.folder(Word{Text: string(Unknown)})
	case len(words) == 0 && r.opts.Home != "":
		r.folder(Word{Text: r.opts.Home, Known: true})
	case len(words) == 0:
		r.folder(Word{Text: "~", Known: true})
	case words[0].Text == "-":
	case r.repeats > 0 && strings.HasPrefix(words[0].Text, ".."): // it is unknown how often the loop runs
		r.folder(Word{Text: string(Unknown)})
	default:
		r.folder(words[0])
	}
}

// changes returns the directories to which options of a program make it change, such as -C.
func changes(words []Word) []Word {
	var out []Word
	for i, w := range words {
		switch {
		case w.Text == "-C" || w.Text == "--directory" || w.Text == "--chdir" || w.Text == "--work-tree" || w.Text == "--cwd" || w.Text == "--prefix":
			if i+1 < len(words) {
				out = append(out, words[i+1])
			}
		case strings.HasPrefix(w.Text, "--directory="), strings.HasPrefix(w.Text, "--chdir="), strings.HasPrefix(w.Text, "--work-tree="):
			_, value, _ := strings.Cut(w.Text, "=")
			out = append(out, Word{Text: value, Known: w.Known})
		case strings.HasPrefix(w.Text, "-C") && !strings.HasPrefix(w.Text, "--"):
			out = append(out, Word{Text: w.Text[2:], Known: w.Known})
		}
	}
	return out
}

// behind returns a copy of a command with the program added to Via: the program runs the command.
func behind(c Command, program string) Command {
	c.Via = append(slices.Clip(slices.Clone(c.Via)), program)
	return c
}

// parallel collects the commands that the program parallel runs. Their arguments follow ":::" or
// come from its input.
func (r *reader) parallel(c Command, in input, depth int) {
	k, _ := carrierOf("parallel")
	load := k.load(c.Words[1:])
	words := load.words
	end := slices.IndexFunc(words, func(w Word) bool { return strings.HasPrefix(w.Text, "::") })
	given := []Word(nil)
	if end >= 0 {
		words, given = words[:end], words[end+1:]
	}
	inner := behind(c, "parallel")
	switch {
	case load.unknown != nil:
		r.hide(c, "what it runs depends on "+describe(*load.unknown))
	case len(words) > 0:
		r.add(c)
		marked := make([]Word, len(words))
		for i, w := range words {
			marked[i] = placeholders(w, "{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{1}", "{2}", "{3}")
		}
		if len(words) > 1 {
			inner.Words, inner.More = marked, true
			r.command(inner, input{redirected: true}, depth+1)
			return
		}
		if marked[0].Known != words[0].Known { // the replaced text is one quoted word
			marked[0] = Word{Text: strings.ReplaceAll(marked[0].Text, string(Unknown), `"$unknown"`), Known: true}
		}
		r.text(inner, marked[0], input{redirected: true}, depth)
		r.text(inner, Word{Text: words[0].Text + ` "$word"`, Known: words[0].Known}, input{redirected: true}, depth)
	case len(given) > 0:
		r.add(c)
		for _, w := range given {
			r.text(inner, w, input{redirected: true}, depth)
		}
	case in.known:
		r.add(c)
		r.nested(inner, in.text, input{redirected: true}, depth)
	default:
		r.hide(c, "it runs what comes from its input")
	}
}

// connections collects the commands in options of ssh, such as ProxyCommand.
func (r *reader) connections(c Command, program string, depth int) {
	for _, w := range c.Words[1:] {
		key, value, ok := strings.Cut(strings.TrimPrefix(w.Text, "-o"), "=")
		if !ok {
			key, value, ok = strings.Cut(strings.TrimPrefix(w.Text, "-o"), " ")
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "proxycommand", "localcommand", "knownhostscommand", "match":
			if ok {
				r.text(behind(c, program), Word{Text: value, Known: w.Known}, input{}, depth)
			}
		}
	}
}

// describe returns an unknown word as a text for people.
func describe(w Word) string {
	if text := strings.ReplaceAll(w.Text, string(Unknown), "…"); text != "…" {
		return "the word " + text
	}
	return "a value that is not known"
}
