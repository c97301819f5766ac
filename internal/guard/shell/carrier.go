package shell

import (
	"path"
	"slices"
	"strings"
)

// carrier is a program that runs another one, which its words name.
type carrier struct {
	values   []string // options that take the next word as their value
	skip     int      // words before the command that belong to the carrier
	assigns  bool     // NAME=VALUE before the command
	more     bool     // adds words when it runs
	text     []string // options whose value is a script
	joined   bool     // its words, put together, are a script
	inert    []string // options with which it runs nothing
	optional bool     // without a command it runs a shell, from its input
}

// carrierOf returns how a program runs another one. The table is data: what a program
// that is not here does with its words is not known, and its words are judged as they
// stand.
func carrierOf(name string) (carrier, bool) {
	switch name {
	case "sudo":
		return carrier{values: []string{"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group", "--chdir", "--host", "--prompt"}, assigns: true, inert: []string{"-l", "-v", "-k", "-K"}, optional: true}, true
	case "doas":
		return carrier{values: []string{"-u", "-C"}}, true
	case "su":
		return carrier{values: []string{"-s", "-g", "-G", "-w"}, text: []string{"-c", "--command"}, skip: -1, optional: true}, true
	case "runuser":
		return carrier{values: []string{"-u", "-g", "-G", "-s"}, text: []string{"-c", "--command"}}, true
	case "env":
		return carrier{values: []string{"-u", "--unset", "-C", "--chdir"}, text: []string{"-S", "--split-string"}, assigns: true}, true
	case "nohup", "setsid", "builtin", "unbuffer", "chronic", "unshare", "busybox", "toybox", "dbus-run-session", "eatmydata", "fakeroot", "firejail", "proxychains", "arch":
		return carrier{}, true
	case "time":
		return carrier{values: []string{"-f", "-o"}}, true
	case "command":
		return carrier{inert: []string{"-v", "-V"}}, true
	case "exec":
		return carrier{values: []string{"-a"}}, true
	case "nice":
		return carrier{values: []string{"-n", "--adjustment"}}, true
	case "ionice":
		return carrier{values: []string{"-c", "-n", "-p", "-P", "-u"}}, true
	case "chrt":
		return carrier{values: []string{"-T", "-P", "-D"}, skip: 1}, true
	case "taskset", "faketime":
		return carrier{skip: 1}, true
	case "timeout":
		return carrier{values: []string{"-s", "-k", "--signal", "--kill-after"}, skip: 1}, true
	case "stdbuf":
		return carrier{values: []string{"-i", "-o", "-e"}}, true
	case "xargs":
		return carrier{values: []string{"-I", "-n", "-P", "-L", "-l", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--arg-file", "--delimiter", "--replace", "--max-lines"}, more: true}, true
	case "parallel":
		return carrier{values: []string{"-j", "-a", "-S", "--jobs", "--colsep", "--delay"}, more: true}, true
	case "chroot":
		return carrier{values: []string{"--userspec", "--groups"}, skip: 1}, true
	case "nsenter":
		return carrier{values: []string{"-t", "--target"}}, true
	case "strace":
		return carrier{values: []string{"-e", "-o", "-p", "-s", "-u", "-E", "-P"}}, true
	case "ltrace":
		return carrier{values: []string{"-e", "-o", "-p", "-s", "-u"}}, true
	case "flock":
		return carrier{values: []string{"-w", "-E", "--timeout"}, text: []string{"-c", "--command"}, skip: 1}, true
	case "watch":
		return carrier{values: []string{"-n", "--interval", "-q"}, joined: true}, true
	case "ssh":
		return carrier{values: []string{"-b", "-c", "-D", "-E", "-e", "-F", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R", "-S", "-W", "-w"}, skip: 1, joined: true, optional: true}, true
	case "script":
		return carrier{values: []string{"-I", "-O", "-B", "-T", "-m", "-o"}, text: []string{"-c", "--command"}, skip: 1}, true
	case "systemd-run":
		return carrier{values: []string{"-u", "-p", "--unit", "--property", "-M", "-H", "--uid", "--gid"}}, true
	case "caffeinate":
		return carrier{values: []string{"-t", "-w"}}, true
	}
	return carrier{}, false
}

// isShell reports whether a program runs a script.
func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash"}, name)
}

// command adds a command and what it runs.
func (r *reader) command(c Command, in input, depth int) {
	if len(c.Words) == 0 {
		return
	}
	if depth >= maxDepth {
		c.Hidden = "it is nested too deep"
	}
	if !c.Words[0].Known || c.Hidden != "" {
		r.found = append(r.found, c)
		return
	}
	name := path.Base(c.Words[0].Text)
	switch {
	case isShell(name):
		r.shell(c, name, in, depth)
	case name == "eval":
		r.eval(c, depth)
	case name == "source", name == ".":
		r.source(c)
	case name == "trap", name == "alias":
		r.found = append(r.found, c)
		r.scripts(c, name, depth)
	case name == "find":
		r.found = append(r.found, c)
		r.find(c, depth)
	case name == "git":
		r.found = append(r.found, hideAliases(c))
	default:
		k, ok := carrierOf(name)
		if !ok {
			r.found = append(r.found, c)
			return
		}
		r.carried(c, name, k, in, depth)
	}
}

// behind is a command that was found behind a program.
func behind(c Command, name string) Command {
	c.Via = append(slices.Clip(slices.Clone(c.Via)), name)
	return c
}

// carried follows a carrier to the command that it runs. The carrier itself is a
// command too: rules may be about it.
func (r *reader) carried(c Command, name string, k carrier, in input, depth int) {
	load := k.load(c.Words[1:])
	if load.unknown != nil {
		c.Hidden = "what it runs depends on " + describe(*load.unknown)
	}
	r.found = append(r.found, c)
	inner := behind(c, name)
	inner.Reads, inner.Writes = nil, nil
	switch {
	case load.unknown != nil, load.inert:
	case load.script != nil:
		r.text(inner, *load.script, depth)
	case len(load.words) == 0:
		r.implicit(c, k, in, depth)
	case k.joined:
		r.joined(inner, load.words, depth)
	default:
		inner.Words, inner.More = load.words, c.More || k.more
		r.command(inner, in, depth+1)
	}
}

// load is what a carrier carries.
type load struct {
	words   []Word // a command
	script  *Word  // or a script
	unknown *Word  // this word hides it
	inert   bool   // nothing
}

// load takes the carrier's own words away.
func (k carrier) load(words []Word) load {
	skip := k.skip
	for len(words) > 0 {
		w := words[0]
		switch {
		case !w.Known:
			return load{unknown: &w}
		case w.Text == "--":
			return load{words: words[min(len(words), 1+max(skip, 0)):]}
		case len(w.Text) > 1 && w.Text[0] == '-':
			if slices.Contains(k.inert, w.Text) {
				return load{inert: true}
			}
			script, rest := k.option(words)
			if script != nil {
				return load{script: script}
			}
			words = rest
		case k.assigns && assignment(w.Text):
			words = words[1:]
		case skip != 0: // below zero all words are the carrier's, and options follow
			words, skip = words[1:], skip-1
		default:
			return load{words: words}
		}
	}
	return load{}
}

// implicit judges a carrier without a command: some start a shell.
func (r *reader) implicit(c Command, k carrier, in input, depth int) {
	if !k.optional || !in.redirected {
		return
	}
	at := len(r.found) - 1
	if !in.known {
		r.found[at].Hidden = "it runs a script that comes from its input"
		return
	}
	r.nested(c, in.text, behind(c, path.Base(c.Words[0].Text)).Via, depth)
}

// option takes an option off the words, with its value. A value that is a script is
// returned.
func (k carrier) option(words []Word) (script *Word, rest []Word) {
	option := words[0].Text
	for _, o := range k.text {
		if option == o && len(words) > 1 {
			return &words[1], nil
		}
		if len(o) > 2 {
			o += "="
		}
		if v, ok := strings.CutPrefix(option, o); ok && v != "" {
			return &Word{Text: v, Known: true}, nil
		}
	}
	if slices.Contains(k.values, option) {
		return nil, words[min(2, len(words)):]
	}
	return nil, words[1:]
}

// assignment reports whether a word is NAME=VALUE.
func assignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

func describe(w Word) string {
	if text := strings.ReplaceAll(w.Text, string(Unknown), "…"); text != "…" {
		return "the word " + text
	}
	return "a value that is not known"
}
