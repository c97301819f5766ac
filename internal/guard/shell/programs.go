package shell

import (
	"slices"
	"strings"
	"sync"
)

// readsCommands reports whether a program, called with these words, reads commands from its input
// that can run other programs.
func readsCommands(program string, words []Word) bool {
	switch program {
	case "ed", "red", "dc", "gdb", "lldb", "gnuplot", "ftp", "lftp", "tclsh", "expect", "wish", "ex", "at", "batch":
		return true
	case "vi", "vim", "nvim", "view":
		return slices.ContainsFunc(words, func(w Word) bool {
			return strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, "esE") || w.Text == "-"
		})
	}
	return false
}

// programFiles contains, by program, the options whose value is a script that the program runs, or
// the path of one, such as -f of awk.
var programFiles = sync.OnceValue(func() map[string]textOptions {
	return byName(map[string]textOptions{
		"awk gawk mawk nawk":          {short: "fiEl", values: "vFe", long: map[string]byte{"--file": 'f', "--include": 'i', "--exec": 'E', "--load": 'l'}},
		"vim vi nvim view ex":         {short: "Ssuc", values: "tTwWU"},
		"gdb lldb":                    {short: "xsX", long: map[string]byte{"--command": 'x', "--init-command": 'x', "--source": 's'}},
		"psql tclsh expect php dc":    {short: "f", values: "cdhUpv", long: map[string]byte{"--file": 'f'}},
		"ruby perl node lua deno bun": {short: "rlI", long: map[string]byte{"--require": 'r', "--import": 'r'}},
		"emacs":                       {short: "l", long: map[string]byte{"--load": 'l', "--script": 'l'}},
		"at tmux":                     {short: "f", values: "qtLS"},
	})
})

// streamed reports whether a program runs a program text that another program writes or that comes
// from its input, so that the guard cannot see it.
func streamed(c Command, program string, in input) bool {
	words := c.Words[1:]
	unseen := in.redirected && in.piped && !in.known
	if unseen && readsCommands(program, words) {
		return true
	}
	found := false
	note := func(w Word) {
		switch {
		case w.Text == "-" || w.Text == "/dev/stdin":
			found = found || unseen
		case stream(w):
			found = true
		}
	}
	if options, ok := programFiles()[program]; ok {
		options.each(words, func(_ byte, _ int, w Word) { note(w) })
	}
	switch program {
	case "sqlite3": // its long options have one dash
		for i, w := range words {
			if i > 0 && strings.HasSuffix(words[i-1].Text, "-init") {
				note(w)
			}
		}
	case "crontab", "gnuplot", "tclsh", "expect", "bc":
		for _, w := range words {
			note(w)
		}
	}
	return found
}

// peers collects the programs that socat and netcat start. The input of these programs comes from
// the network.
func (r *reader) peers(c Command, program string, depth int) {
	inner := behind(c, program)
	inner.Words, inner.Reads, inner.Writes, inner.More = nil, nil, nil, false
	network := input{redirected: true, piped: true}
	run := func(script Word) { r.text(inner, script, network, depth) }
	if program == "socat" {
		for _, w := range c.Words[1:] {
			for address := range strings.SplitSeq(w.Text, "!!") {
				kind, script, ok := strings.Cut(address, ":")
				if !ok || !slices.Contains([]string{"exec", "system", "shell"}, strings.ToLower(kind)) {
					continue
				}
				script, _, _ = strings.Cut(script, ",")
				run(wordOf(script))
			}
		}
		return
	}
	options := textOptions{short: "ec", values: "gGiopPqswxXmMIOTV", long: map[string]byte{"--exec": 'e', "--sh-exec": 'e', "--lua-exec": 'l'}}
	options.each(c.Words[1:], func(letter byte, _ int, w Word) {
		if letter == 'c' && w.Known && !strings.ContainsAny(w.Text, "/ ") && !isShell(w.Text) { // in some versions -c is a flag
			return
		}
		run(w)
	})
}

// daemon collects the program that start-stop-daemon starts: an option names it, and its arguments
// follow "--".
func (r *reader) daemon(c Command, in input, depth int) {
	options := textOptions{short: "xa", values: "pnugcdrkPNIRsTO", long: map[string]byte{
		"--exec": 'x', "--startas": 'a', "--pidfile": 'p', "--name": 'p', "--user": 'p', "--group": 'p', "--chuid": 'p', "--chdir": 'p', "--chroot": 'p', "--nicelevel": 'p', "--signal": 'p', "--retry": 'p', "--umask": 'p', "--output": 'p',
		"--start": 0, "--stop": 0, "--status": 0,
	}}
	var named *Word
	rest := options.each(c.Words[1:], func(letter byte, _ int, w Word) {
		if named == nil || letter == 'a' {
			named = &w
		}
	})
	if named == nil {
		return
	}
	inner := behind(c, "start-stop-daemon")
	inner.Reads, inner.Writes, inner.Words = nil, nil, []Word{*named}
	for _, i := range rest {
		inner.Words = append(inner.Words, c.Words[1+i])
	}
	r.command(inner, in, depth+1)
}

// fedShell collects a shell at the end of the arguments of a program that passes its own input to
// it, such as docker exec -i.
func (r *reader) fedShell(c Command, program string, in input, depth int) {
	if !slices.Contains([]string{"docker", "podman", "nerdctl"}, program) || !in.redirected {
		return
	}
	words := c.Words[1:]
	for len(words) > 0 && strings.HasPrefix(words[len(words)-1].Text, "-") {
		words = words[:len(words)-1]
	}
	if len(words) < 2 || !isShell(lastPart(words[len(words)-1].Text)) {
		return
	}
	inner := behind(c, program)
	inner.Reads, inner.Writes = nil, nil
	inner.Words = c.Words[len(words):]
	r.command(inner, in, depth+1)
}

// named collects a program that options of another program name, as in nix run.
func (r *reader) named(c Command, program string, depth int) {
	inner := behind(c, program)
	inner.Reads, inner.Writes, inner.Words = nil, nil, nil
	words := c.Words[1:]
	switch {
	case program == "nix" && len(words) > 1 && slices.ContainsFunc(words, func(w Word) bool { return w.Text == "run" }):
		end := slices.IndexFunc(words, func(w Word) bool { return w.Text == "--" })
		for _, w := range words {
			if at := strings.LastIndexAny(w.Text, "#."); at > 0 && !strings.HasPrefix(w.Text, "-") {
				inner.Words = append(inner.Words, wordOf(w.Text[at+1:]))
				break
			}
		}
		if end >= 0 && len(inner.Words) > 0 {
			inner.Words = append(inner.Words, words[end+1:]...)
		}
	case program == "mvn" || program == "mvnw":
		var args string
		for _, w := range words {
			if value, ok := strings.CutPrefix(w.Text, "-Dexec.executable="); ok {
				inner.Words = []Word{wordOf(value)}
			}
			if value, ok := strings.CutPrefix(w.Text, "-Dexec.args="); ok {
				args = value
			}
		}
		if len(inner.Words) > 0 {
			for each := range strings.FieldsSeq(args) {
				inner.Words = append(inner.Words, wordOf(each))
			}
			if args == "" { // the project may define the arguments
				inner.More = true
			}
		}
	}
	if len(inner.Words) > 0 {
		r.command(inner, input{redirected: true}, depth+1)
	}
}
