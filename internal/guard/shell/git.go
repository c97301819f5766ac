package shell

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// gitValues contains git's own options, before its subcommand, that take the next word as their
// value.
var gitValues = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env", "--attr-source", "--list-cmds"}

// git collects a git command and every command that its options, settings and subcommand make it run.
func (r *reader) git(c Command, program string, depth int) {
	if sub, ok := strings.CutPrefix(program, "git-"); ok {
		c.Words = append([]Word{{Text: "git", Known: true}, {Text: sub, Known: true}}, c.Words[1:]...)
	} else if program == "hub" {
		c.Words = append([]Word{{Text: "git", Known: true}}, c.Words[1:]...)
	}
	at := len(r.found)
	r.add(c)
	inner := behind(c, "git")
	inner.Words, inner.Reads, inner.Writes = nil, nil, nil
	words := c.Words[1:]
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		w := words[0]
		words = words[1:]
		setting := w
		switch {
		case slices.Contains(gitValues, w.Text) && len(words) > 0:
			setting, words = words[0], words[1:]
			if w.Text != "-c" && w.Text != "--config-env" {
				continue
			}
		case strings.HasPrefix(w.Text, "--config-env="):
			setting.Text = strings.TrimPrefix(w.Text, "--config-env=")
		default:
			continue
		}
		if strings.HasPrefix(w.Text, "--config-env") { // the value is in an environment variable
			key, _, _ := strings.Cut(setting.Text, "=")
			setting = Word{Text: key + "=" + string(Unknown)}
		}
		if why := r.settingWord(inner, setting, depth); why != "" && !r.full {
			r.found[at].Hidden = why
		}
	}
	if len(words) == 0 || !words[0].Known || r.full {
		return
	}
	if why := r.subcommand(inner, words[0].Text, words[1:], depth); why != "" && !r.full {
		r.found[at].Hidden = why
	}
}

// settingWord handles a setting of git in the form KEY=VALUE, see [reader.setting].
func (r *reader) settingWord(c Command, w Word, depth int) (why string) {
	key, value, _ := strings.Cut(w.Text, "=")
	return r.setting(c, key, Word{Text: value, Known: w.Known}, depth)
}

// scriptSettings contains the settings of git whose value is a command. indirectSettings contains
// those that change what other git commands do. Both are patterns of names in lower case.
var (
	scriptSettings = []string{
		"core.sshcommand", "core.pager", "core.editor", "core.fsmonitor", "core.askpass", "core.gitproxy", "core.alternaterefscommand", "sequence.editor", "diff.external", "diff.*.command", "diff.*.textconv",
		"difftool.*.cmd", "mergetool.*.cmd", "merge.*.driver", "filter.*.clean", "filter.*.smudge", "filter.*.process", "gpg.program", "gpg.*.program", "pager.*",
		"interactive.difffilter", "man.*.cmd", "browser.*.cmd", "uploadpack.packobjectshook", "remote.*.uploadpack", "remote.*.receivepack", "trailer.*.command", "trailer.*.cmd",
		"credential.helper", "credential.*.helper", "sendemail.*cmd", "tar.*.command",
	}
	indirectSettings = []string{"push.default", "remote.*.push", "remote.*.mirror", "include.path", "includeif.*", "core.hookspath", "url.*", "init.templatedir", "protocol.ext.allow", "core.worktree"}
)

// isSetting reports whether one of the patterns matches the name of a setting, in lower case.
func isSetting(key string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, strings.ReplaceAll(key, "/", "|"))
		return ok && err == nil
	})
}

// setting collects the command that a setting of git makes it run, such as core.pager. why says what the guard cannot see because
// of the setting; empty if it sees everything.
func (r *reader) setting(c Command, key string, value Word, depth int) (why string) {
	key = strings.ToLower(key)
	c = behind(c, key)
	switch {
	case strings.ContainsRune(key, Unknown):
		return "it changes a setting that is not known"
	case strings.HasPrefix(key, "alias."):
		switch script, bang := strings.CutPrefix(value.Text, "!"); {
		case !value.Known:
			return "it defines an alias whose command is not known"
		case bang:
			r.nested(c, script+` "$@"`, input{}, depth)
		default:
			r.nested(c, "git "+value.Text+` "$@"`, input{}, depth)
		}
		return "it defines an alias"
	case isSetting(key, scriptSettings):
		if !value.Known {
			return "it makes a command of " + describe(value)
		}
		r.mention(c, strings.TrimPrefix(value.Text, "!")+" .", depth)
		if program := strings.TrimPrefix(value.Text, "!"); strings.ContainsAny(program, ";&|$`(<>") {
			return "it makes a script one of git's commands"
		}
	case isSetting(key, indirectSettings):
		return "it changes what other git commands do"
	}
	return ""
}

// gitScripts contains, by subcommand of git, the options whose value is a script.
var gitScripts = map[string][]string{
	"rebase": {"-x", "--exec"}, "difftool": {"-x", "--extcmd"}, "grep": {"-O", "--open-files-in-pager"}, "clone": {"-u", "--upload-pack"},
	"filter-branch": {"--env-filter", "--tree-filter", "--index-filter", "--msg-filter", "--commit-filter", "--parent-filter", "--tag-name-filter", "--setup"},
	"send-email":    {"--sendmail-cmd", "--to-cmd", "--cc-cmd"},
	"":              {"--upload-pack", "--receive-pack", "--exec"}, // of any subcommand
}

// gitVerbs contains, by subcommand of git, the word after which a command follows.
var gitVerbs = map[string]string{"bisect": "run", "submodule": "foreach"}

// subcommand collects the commands that a subcommand of git runs, such as git bisect run. why says what the guard cannot see;
// empty if it sees everything.
func (r *reader) subcommand(c Command, sub string, words []Word, depth int) (why string) {
	switch {
	case sub == "config":
		return r.configure(c, words, depth)
	case gitVerbs[sub] != "":
		r.afterVerb(c, sub, words, depth)
		return ""
	}
	if sub == "for-each-repo" {
		r.command(Command{Words: slices.Concat([]Word{{Text: "git", Known: true}}, operands(words)), Via: append(slices.Clip(c.Via), sub), Folders: c.Folders, Text: c.Text}, input{}, depth+1)
		return ""
	}
	options := slices.Concat(gitScripts[sub], gitScripts[""])
	for i, w := range words {
		if script, ok := strings.CutPrefix(w.Text, "ext::"); ok {
			script = strings.ReplaceAll(strings.ReplaceAll(script, "% ", " "), "%%", "%")
			r.text(behind(c, "ext"), Word{Text: script, Known: w.Known}, input{}, depth)
			why = "it runs a command instead of a connection to a host"
		}
		if sub == "clone" && (w.Text == "-c" || w.Text == "--config" || len(w.Text) > 2 && strings.HasSuffix(w.Text, "c") && argumentless("clone", w.Text[1:len(w.Text)-1])) && i+1 < len(words) {
			why = cmp.Or(why, r.settingWord(c, words[i+1], depth))
		}
		if (sub == "clone" || sub == "init") && strings.HasPrefix(w.Text, "--template") && w.Text != "--template=" {
			why = cmp.Or(why, "it takes the hooks of the repository from elsewhere")
		}
		if script, ok := gitScript(sub, options, words[i:]); ok {
			r.text(behind(c, sub), script, input{}, depth)
		}
	}
	return why
}

// afterVerb adds the command that a subcommand such as git bisect run or git submodule foreach runs. It follows a word such as
// run or foreach.
func (r *reader) afterVerb(c Command, sub string, words []Word, depth int) {
	at := slices.IndexFunc(words, func(w Word) bool { return w.Text == gitVerbs[sub] })
	if at < 0 {
		return
	}
	words = words[at+1:]
	for len(words) > 0 && words[0].Known && strings.HasPrefix(words[0].Text, "-") {
		words = words[1:]
	}
	inner := behind(c, sub)
	switch {
	case len(words) == 1:
		r.text(inner, words[0], input{}, depth)
	case len(words) > 1:
		inner.Words = words
		r.command(inner, input{redirected: true}, depth+1)
	}
}

// gitScript returns the script that git runs if the first word is one of these options with a script as its value, such as
// --exec. The value is a part of that word, or the next word. The result is false if there is no such option.
func gitScript(sub string, options []string, words []Word) (Word, bool) {
	w := words[0]
	if !strings.HasPrefix(w.Text, "-") {
		return Word{}, false
	}
	for _, o := range options {
		if script, ok := clustered(sub, o, words); ok {
			return script, true
		}
		if name, value, given := strings.Cut(w.Text, "="); len(name) > len("--e") && name != o && strings.HasPrefix(o, name) { // abbreviated
			if given {
				return Word{Text: value, Known: w.Known}, true
			} else if len(words) > 1 && o != "--open-files-in-pager" {
				return words[1], true
			}
		}
		switch {
		case w.Text == o && o != "-O" && o != "--open-files-in-pager" && len(words) > 1:
			return words[1], true
		case len(o) == 2 && strings.HasPrefix(w.Text, o) && len(w.Text) > 2 && !strings.HasPrefix(w.Text, "--"):
			return Word{Text: w.Text[2:], Known: w.Known}, true
		case strings.HasPrefix(w.Text, o+"="):
			return Word{Text: w.Text[len(o)+1:], Known: w.Known}, true
		}
	}
	return Word{}, false
}

// gitFlags contains, by subcommand, the letters of options without a value that may precede an
// option of [gitScripts] in the same word.
var gitFlags = map[string]string{"rebase": "iknqvfmprS", "difftool": "dgy", "grep": "aIirvwEGPFnlLzZcohWqp", "clone": "lsqvn"}

// argumentless reports whether all letters are options without a value.
func argumentless(sub, letters string) bool {
	return letters != "" && strings.Trim(letters, gitFlags[sub]) == ""
}

// clustered returns the script of a one-letter option that stands after other one-letter options in the same word.
func clustered(sub, option string, words []Word) (Word, bool) {
	text := words[0].Text
	if len(option) != 2 || len(text) < 3 || text[0] != '-' || text[1] == '-' {
		return Word{}, false
	}
	flags, value, ok := strings.Cut(text[1:], option[1:])
	switch {
	case !ok, !argumentless(sub, flags):
		return Word{}, false
	case value != "":
		return Word{Text: value, Known: words[0].Known}, true
	case len(words) > 1 && option != "-O":
		return words[1], true
	}
	return Word{}, false
}

// operands returns the words of a command line from the first one that is no option.
func operands(words []Word) []Word {
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		words = words[1:]
	}
	return words
}

// configure handles git config. A setting that it writes applies to later git commands, so the command in it is collected. why
// says what the guard cannot see; empty if it sees everything.
func (r *reader) configure(c Command, words []Word, depth int) (why string) {
	var plain []Word
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Known && slices.Contains([]string{"--get", "--get-all", "--get-regexp", "--list", "-l", "--unset", "--unset-all", "--get-urlmatch", "--remove-section"}, w.Text):
			return ""
		case w.Known && (w.Text == "-f" || w.Text == "--file" || w.Text == "--type" || w.Text == "--comment" || w.Text == "--default"):
			i++
		case w.Known && strings.HasPrefix(w.Text, "-"):
		default:
			plain = append(plain, w)
		}
	}
	if len(plain) > 0 && plain[0].Known && slices.Contains([]string{"get", "list", "unset", "edit", "remove-section", "rename-section"}, plain[0].Text) {
		return ""
	}
	if len(plain) > 0 && plain[0].Known && plain[0].Text == "set" {
		plain = plain[1:]
	}
	if len(plain) < 2 {
		if len(plain) == 1 && plain[0].Split {
			return "it changes a setting that is not known"
		}
		return ""
	}
	if lasting(plain[0].Text, plain[1]) {
		r.setting(c, plain[0].Text, plain[1], depth)
		return "it makes a program one of git's commands, also for later"
	}
	return r.setting(c, plain[0].Text, plain[1], depth)
}

// lasting reports whether a setting that is written makes git run a program later. Usual editors, pagers and credential helpers
// do not count.
func lasting(key string, value Word) bool {
	key = strings.ToLower(key)
	if !isSetting(key, scriptSettings) {
		return false
	}
	switch value.Text {
	case "", "true", "false", "cat", "less", "more", "delta":
		return false
	}
	comfort := strings.HasSuffix(key, "editor") || strings.HasPrefix(key, "pager.") || key == "core.pager" || strings.HasSuffix(key, ".helper") || key == "gpg.program" || strings.HasPrefix(key, "filter.lfs.") || strings.Contains(key, "tool.")
	first, _, _ := strings.Cut(strings.TrimPrefix(value.Text, "!"), " ")
	return !comfort || strings.Contains(first, "/") || isShell(first)
}
