package guard

import (
	"slices"
	"strings"

	"gascity/internal/guard/shell"
)

// part is one thing that a call does: a program that it runs, or a file that it uses.
type part struct {
	command *shell.Command
	file    *shell.Word
	access  Access       // of the file; empty is not known
	folders []shell.Word // where a file may be, beside where the agent works
	behind  []string     // of a file: what it was seen through
}

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

func (p *part) via() []string {
	if p.command == nil {
		return p.behind
	}
	return p.command.Via
}

// incidental reports whether a part that no rule is about needs no permission of its
// own: what is read, which the tool or program that reads it answers for, a
// program that only runs others, which are parts of their own, and what is only
// mentioned.
func (p *part) incidental(fallback Action) bool {
	if p.file != nil {
		return p.access != Write || fallback == Allow || harmless(*p.file)
	}
	return len(p.command.Words) == 0 || p.command.Mentioned
}

// hidden returns the verdict on what a part hides; without an action if it hides nothing.
func (p *part) hidden() Verdict {
	if p.command == nil || p.command.Hidden == "" {
		return Verdict{}
	}
	return Verdict{Action: Ask, Rule: RuleHidden, Reason: p.command.Hidden, Part: p.name()}
}

// harmless reports whether writing there changes nothing.
func harmless(w shell.Word) bool {
	return w.Known && slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"}, w.Text)
}

// appendCommand appends a command and the files of its redirections.
func appendCommand(parts []part, c *shell.Command) []part {
	parts = append(parts, part{command: c})
	for i := range c.Reads {
		parts = append(parts, part{file: &c.Reads[i], access: Read, folders: c.Folders, behind: c.Via})
	}
	for i := range c.Writes {
		parts = append(parts, part{file: &c.Writes[i], access: Write, folders: c.Folders, behind: c.Via})
	}
	return parts
}

// fileUse is what is known of how a program uses the files that its words name.
type fileUse int8

const (
	// usesNone: it does not open files that it is not known to be about, as far as a rule
	// of files is concerned.
	usesNone fileUse = iota
	// usesSearch: it reads files, and shows what is looked for.
	usesSearch
	// usesContent: it reads files, and shows or copies them.
	usesContent
)

// fileUseOf returns the habit of a program. Only words that are not known are judged
// by it: a word that names a file does so whatever the program is.
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

// readsHere reports whether a program that may change files does not with these words.
func readsHere(program string, c *shell.Command) bool {
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

// onlyReads reports whether a program changes none of the files that its words
// name.
func onlyReads(program string) bool {
	switch program {
	case "cat", "tac", "head", "tail", "less", "more", "bat", "nl", "base64", "xxd", "od", "hexdump", "strings", "grep", "egrep", "fgrep", "rg", "ag", "cut", "uniq", "comm", "diff", "cmp", "wc", "ls", "stat",
		"file", "du", "test", "[", "cd", "find", "jq", "realpath", "readlink", "basename", "dirname", "echo", "printf", "sha256sum", "md5sum", "source", ".", "pushd", "tree", "git":
		return true
	}
	return false
}
