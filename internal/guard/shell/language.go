package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// languages contains the programs whose words or input may be a program of another language that
// runs commands. Texts in such a program count as mentioned.
var languages = sync.OnceValue(set("node nodejs deno bun luajit tclsh wish expect osascript Rscript julia awk gawk mawk nawk busybox-awk dc gnuplot ftp vi vim nvim vimdiff view ex ed emacs gdb lldb psql mysql sqlite3 ftp tar gtar bsdtar make gmake zip rsync scala groovy elixir erl tmux screen at batch crontab npm pnpm yarn docker podman nerdctl split sort rg less man socat nc ncat scp sftp nix go cargo"))

// versioned contains those of them whose names may end with a version.
var versioned = sync.OnceValue(set("python pypy perl ruby php lua"))

// set returns a function that returns the given names as a set.
func set(names string) func() map[string]bool {
	return func() map[string]bool {
		all := map[string]bool{}
		for name := range strings.FieldsSeq(names) {
			all[name] = true
		}
		return all
	}
}

// pattern returns a function that compiles a regular expression.
func pattern(expression string) func() *regexp.Regexp {
	return func() *regexp.Regexp { return regexp.MustCompile(expression) }
}

// language reports whether a program's arguments or input may be a program in another language,
// which may run commands.
func language(program string) bool {
	return languages()[program] || versioned()[strings.TrimRight(program, "0123456789.")]
}

// quoted matches the texts in a program.
var quoted = sync.OnceValue(pattern("\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'|`([^`]*)`|/([^/\n]{4,})/e|\\bq[qwx]?\\s*[({\\[<|!]([^)}\\]>|!]*)|%[wWxqQ]?[({\\[]([^)}\\]]*)"))

// maxLiterals is the maximum number of texts of a program that are checked.
const maxLiterals = 200

// interpreted collects the texts in a program of another language that may be commands. They are
// marked as mentioned, which means that it is uncertain.
func (r *reader) interpreted(c Command, program string, in input, depth int) {
	if !language(program) {
		return
	}
	inner := behind(c, program)
	inner.Words, inner.Reads, inner.Writes, inner.More = nil, nil, nil, false
	texts := make([]string, 0, len(c.Words))
	for _, w := range c.Words[1:] {
		texts = append(texts, w.Text)
	}
	if in.known {
		texts = append(texts, in.text)
	}
	for _, text := range texts {
		r.mentions(inner, text, depth)
		r.calls(inner, program, strings.ReplaceAll(text, string(Unknown), "$unknown"), depth)
		for script := range shellEscapes(program, text) {
			r.mentionStrictly(inner, strings.ReplaceAll(script, string(Unknown), "$unknown"), depth)
		}
	}
}

// interpreters contains the programs that run the file in their first word, or their input.
var interpreters = sync.OnceValue(set("node nodejs deno bun luajit tclsh julia osascript expect"))

// runsUnseenProgram reports whether an interpreter runs a program that the guard cannot see,
// because another program writes it.
func runsUnseenProgram(c Command, program string, in input) bool {
	if streamed(c, program, in) {
		return true
	}
	if !interpreters()[program] && !versioned()[strings.TrimRight(program, "0123456789.")] {
		return false
	}
	for _, w := range c.Words[1:] {
		switch {
		case stream(w):
			return w.Text != "/dev/stdin" || in.redirected && !in.known
		case !slices.Contains([]string{"-", "-u", "-s", "-B", "-E", "-I", "-i", "-w", "-W0"}, w.Text):
			return false
		}
	}
	return in.redirected && !in.known && in.piped
}

// mentions collects what may be a command in a text: the whole text, its quoted parts separately
// and together, and what follows marks such as "!". All of it is marked as mentioned, which means
// that it is uncertain.
func (r *reader) mentions(c Command, text string, depth int) {
	if len(text) < 5 || !strings.ContainsAny(text, " ,\t\n(") {
		return
	}
	text = strings.ReplaceAll(text, string(Unknown), "$unknown")
	r.mention(c, text, depth)
	if option, value, ok := strings.Cut(text, "="); ok && !strings.ContainsAny(option, " \t\n") {
		r.mention(c, value, depth)
	}
	var all []string
	for _, m := range quoted().FindAllStringSubmatch(text, maxLiterals) {
		one := strings.Join(m[1:], "")
		r.mention(c, one, depth)
		r.mentions(c, one, depth+4)
		r.mentionFile(c, text, one)
		all = append(all, one)
	}
	for i := range min(len(all)-1, maxTails) { // a program and its words may begin at any part
		r.mention(c, strings.Join(all[i:], " "), depth)
		r.mention(c, strings.Join(all[i:], ""), depth)
	}
	for _, mark := range []string{"!", "spawn ", "shell ", "system ", "exec=", "--to-command=", "EXEC:", "SYSTEM:", "1e ", "e "} {
		if _, command, ok := strings.Cut(text, mark); ok && (len(mark) > 2 || strings.Contains(text, " ")) {
			r.mention(c, command, depth)
		}
	}
}

// removers contains the functions of other languages that remove directory trees.
var removers = []string{"rmtree", "rmSync", "rm_rf", "rm_r", "rmdirSync", "remove_tree", "remove_dir_all"}

// mentionFile collects a command that reads the file, for a text in a program that may be a file
// name; if the program removes directories, also one that removes it. Both are marked as mentioned,
// which means that it is uncertain.
func (r *reader) mentionFile(c Command, program, name string) {
	if name == "" || len(name) > maxName || strings.ContainsAny(name, " \t\n") || !strings.ContainsAny(name, "./~") {
		return
	}
	w := Word{Text: strings.ReplaceAll(name, "$unknown", string(Unknown))}
	w.Known = strings.IndexByte(w.Text, byte(Unknown)) < 0
	r.add(Command{Words: []Word{{Text: "cat", Known: true}, w}, Via: c.Via, Folders: c.Folders, Mentioned: true, Text: c.Text})
	if slices.ContainsFunc(removers, func(call string) bool { return strings.Contains(program, call) }) {
		r.add(Command{Words: []Word{{Text: "rm", Known: true}, {Text: "-rf", Known: true}, w}, Via: c.Via, Folders: c.Folders, Mentioned: true, Text: c.Text})
	}
}

const (
	maxName  = 256 // maximum length of a file name in a program
	maxTails = 12
)

// textPrograms contains the programs that only print or search for their words and run none of
// them.
var textPrograms = sync.OnceValue(set("echo printf grep egrep fgrep rg ag ack which type whereis man info help apropos compgen complete say logger wall figlet : true false test [ read set shift return exit export unset alias hash apt apt-get apk dnf yum brew pip pip3 pipx gc touch mkdir ls"))

// tails collects the commands that may begin at any of these words, because the options of the
// program are unknown. They are marked as mentioned, which means that it is uncertain.
func (r *reader) tails(c Command, program string, words []Word, depth int) {
	if textPrograms()[program] {
		return
	}
	for i := range max(0, min(len(words)-1, maxTails)) {
		text := words[i].Text
		if !words[i].Known || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "-") {
			continue
		}
		shell := isShell(lastPart(text))
		if !shell && !commands[lastPart(text)] {
			continue
		}
		inner := behind(c, program)
		inner.Words, inner.Reads, inner.Writes, inner.More = words[i:], nil, nil, false
		if shell && strings.HasPrefix(words[i+1].Text, "-") { // it is certainly a shell: what it hides counts
			r.command(inner, input{redirected: true}, depth+1)
			continue
		}
		r.doubted(inner, words[i:], input{redirected: true}, depth)
	}
}

// commands contains the programs that tails looks for in the words of other programs.
var commands = map[string]bool{"git": true, "rm": true, "dd": true, "cat": true, "sudo": true, "env": true, "eval": true}

// lastPart returns the text after the last slash.
func lastPart(text string) string { return text[strings.LastIndexByte(text, '/')+1:] }
