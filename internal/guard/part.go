package guard

import (
	"slices"
	"strings"

	"gascity/internal/guard/shell"
)

// part is one element of a call: a program that it runs, or a file that it uses.
type part struct {
	command *shell.Command
	file    *shell.Word
	access  Access       // of the file; empty: unknown
	folders []shell.Word // further directories that a file may be in
	behind  []string     // for a file: the programs that use it
}

// name returns the command or the file of the part as a text for people. The text of a command that
// another one runs (Via) is part of that other text, so its words are joined. A word that can have
// several values (Any) is shown as the first one and an ellipsis.
func (p *part) name() string {
	if p.command == nil {
		return readable(p.file.Text)
	}
	if len(p.command.Via) > 0 || p.command.Text == "" {
		words := make([]string, len(p.command.Words))
		for i, w := range p.command.Words {
			words[i] = readable(w.Text)
			if w.Any != nil {
				words[i] = readable(w.Any[0].Text) + "…"
			}
		}
		return strings.Join(words, " ")
	}
	return p.command.Text
}

// via returns the programs that run the command or use the file, outermost first, such as sudo.
func (p *part) via() []string {
	if p.command == nil {
		return p.behind
	}
	return p.command.Via
}

// incidental reports whether a part that no rule matches needs no permission of its own: a file
// that is read (the tool or program that reads it needs the permission), a redirection without a
// command, a text that may or may not be a command, and a write to a file such as /dev/null.
// fallback is the default action.
func (p *part) incidental(fallback Action) bool {
	if p.file != nil {
		return p.access != Write || fallback == Allow || harmless(*p.file)
	}
	return len(p.command.Words) == 0 || p.command.Mentioned
}

// hidden returns a verdict that asks a person if the guard cannot see everything that the command
// runs. If it can, the verdict's action is empty.
func (p *part) hidden() Verdict {
	if p.command == nil || p.command.Hidden == "" {
		return Verdict{}
	}
	return Verdict{Action: Ask, Rule: RuleHidden, Reason: p.command.Hidden, Part: p.name()}
}

// harmless reports whether a write to this file changes nothing, as for /dev/null.
func harmless(w shell.Word) bool {
	return w.Known && slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"}, w.Text)
}

// fileUse states how a program uses the files that its words name.
type fileUse int8

const (
	// usesNone: the program is not known to read the contents of files.
	usesNone fileUse = iota
	// usesSearch: the program reads files and prints or moves parts of them.
	usesSearch
	// usesContent: the program reads files and prints or copies them.
	usesContent
)

// fileUseOf returns how a program uses the files in its arguments. The result matters only for an
// argument that is not known before the command runs, such as a variable. A known argument that
// names a file counts for every program.
func fileUseOf(program string) fileUse {
	switch program {
	case "cat", "tac", "head", "tail", "less", "more", "most", "bat", "batcat", "nl", "pr", "base64", "base32", "xxd", "od", "hexdump", "strings", "tar", "zip", "gzip", "zcat", "7z", "cpio",
		"cp", "scp", "rsync", "sftp", "install", "curl", "wget", "nc", "ncat", "socat", "openssl", "dd", "gpg", "age", "uuencode", "paste", "split", "rev":
		return usesContent
	case "grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "gsed", "awk", "gawk", "mawk", "cut", "tr", "sort", "uniq", "comm", "diff", "cmp", "join", "fold", "fmt", "jq", "yq", "xmllint", "column",
		"mv", "ln", "link", "tee", "vim", "vi", "nano", "emacs", "ed", "ex", "perl", "python", "python3", "ruby", "node", "php", "mapfile", "readarray", "source", ".", "ssh-add", "ssh-keygen", "expand", "look", "ul", "iconv":
		return usesSearch
	}
	return usesNone
}

// onlyReadsWithWords reports whether a program that can change files, such as sed, only reads when
// it is called with these arguments.
func onlyReadsWithWords(program string, c *shell.Command) bool {
	switch program {
	case "awk", "gawk", "mawk", "nawk":
		return !slices.ContainsFunc(c.Words[1:], func(w shell.Word) bool { return strings.HasSuffix(w.Text, "inplace") })
	case "sed", "gsed", "sort":
		return !slices.ContainsFunc(c.Words[1:], func(w shell.Word) bool {
			return !w.Known && !w.Program || strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "io") || strings.HasPrefix(w.Text, "-s") && program == "sed"
		})
	}
	return false
}

// onlyReads reports whether a program reads the files that its arguments name, apart from special options and subcommands.
func onlyReads(program string) bool {
	switch program {
	case "cat", "tac", "head", "tail", "less", "more", "bat", "nl", "base64", "xxd", "od", "hexdump", "strings", "grep", "egrep", "fgrep", "rg", "ag", "cut", "uniq", "comm", "diff", "cmp", "wc", "ls", "stat",
		"file", "du", "test", "[", "cd", "find", "jq", "realpath", "readlink", "basename", "dirname", "echo", "printf", "sha256sum", "md5sum", "source", ".", "pushd", "tree", "git":
		return true
	}
	return false
}
