package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// languages are the programs whose words, or whose input, may be a program of
// another language that runs commands. The texts in it are judged as mentioned.
var languages = set("node nodejs deno bun luajit tclsh wish expect osascript Rscript julia awk gawk mawk nawk busybox-awk sed gsed vi vim nvim vimdiff view ex ed emacs gdb lldb psql mysql sqlite3 ftp tar gtar bsdtar make gmake zip rsync scala groovy elixir erl tmux screen at batch crontab npm pnpm yarn docker podman nerdctl split sort rg less man socat nc ncat scp sftp nix")

// versioned are those whose names may end with a version.
var versioned = set("python pypy perl ruby php lua")

func set(names string) map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		all[name] = true
	}
	return all
}

// language reports whether a program is one of those.
func language(program string) bool {
	return languages[program] || versioned[strings.TrimRight(program, "0123456789.")]
}

// quoted finds the texts in a program.
var quoted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'|`([^`]*)`|/([^/\n]{4,})/e")
})

// maxLiterals bounds the texts of a program that are judged.
const maxLiterals = 200

// interpreted judges the texts in a program of another language.
func (r *reader) interpreted(c Command, program string, in input, depth int) {
	if !language(program) {
		return
	}
	inner := behind(c, program)
	inner.Words, inner.Reads, inner.Writes, inner.More = nil, nil, nil, false
	for _, w := range c.Words[1:] {
		r.mentions(inner, w.Text, depth)
	}
	if slices.Contains([]string{"docker", "podman", "nerdctl", "npm", "pnpm", "yarn", "tmux", "screen", "nix", "gdb", "lldb"}, program) {
		r.tails(inner, c.Words[1:], depth)
	}
	if in.known {
		r.mentions(inner, in.text, depth)
	}
}

// mentions judges what may be a command in a text: all of it, its quoted parts one
// by one and together, and what follows the marks of an escape to the shell.
func (r *reader) mentions(c Command, text string, depth int) {
	if len(text) < 5 || !strings.ContainsAny(text, " ,\t\n") {
		return
	}
	text = strings.ReplaceAll(text, string(Unknown), "$unknown")
	r.mention(c, text, depth)
	if option, value, ok := strings.Cut(text, "="); ok && !strings.ContainsAny(option, " \t\n") {
		r.mention(c, value, depth)
	}
	var all []string
	for _, m := range quoted().FindAllStringSubmatch(text, maxLiterals) {
		one := m[1] + m[2] + m[3] + m[4]
		r.mention(c, one, depth)
		r.mentions(c, one, depth+4)
		all = append(all, one)
	}
	if len(all) > 1 {
		r.mention(c, strings.Join(all, " "), depth)
	}
	for _, mark := range []string{"!", "spawn ", "shell ", "system ", "exec=", "--to-command=", "EXEC:", "SYSTEM:", "1e ", "e "} {
		if _, command, ok := strings.Cut(text, mark); ok && (len(mark) > 2 || strings.Contains(text, " ")) {
			r.mention(c, command, depth)
		}
	}
}

// tails judges each rest of the words that may be a command: where it begins depends
// on options that are not known here.
func (r *reader) tails(c Command, words []Word, depth int) {
	const longest = 12
	for i := range words[:min(len(words), longest)] {
		if words[i].Known && !strings.HasPrefix(words[i].Text, "-") && (isShell(lastPart(words[i].Text)) || commands[lastPart(words[i].Text)]) {
			r.doubted(c, words[i:], input{redirected: true}, depth)
		}
	}
}

// commands are the programs that are looked for in the rest of other programs' words.
var commands = map[string]bool{"git": true, "rm": true, "dd": true, "cat": true, "sudo": true, "env": true, "eval": true}

func lastPart(text string) string { return text[strings.LastIndexByte(text, '/')+1:] }
