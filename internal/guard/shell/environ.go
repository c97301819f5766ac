package shell

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// scriptVariables contains the environment variables whose values are scripts that programs run.
var scriptVariables = map[string]bool{
	"GIT_SSH": true, "GIT_SSH_COMMAND": true, "GIT_EXTERNAL_DIFF": true, "GIT_EDITOR": true, "GIT_SEQUENCE_EDITOR": true, "GIT_PAGER": true,
	"GIT_ASKPASS": true, "GIT_PROXY_COMMAND": true, "EDITOR": true, "VISUAL": true, "FCEDIT": true, "PAGER": true, "MANPAGER": true, "BROWSER": true,
	"SSH_ASKPASS": true, "SUDO_ASKPASS": true, "RSYNC_RSH": true, "CVS_RSH": true, "PROMPT_COMMAND": true, "FZF_DEFAULT_COMMAND": true,
	"LESSOPEN": true, "LESSCLOSE": true, "SUDO_EDITOR": true, "SYSTEMD_EDITOR": true, "SYSTEMD_PAGER": true, "KUBE_EDITOR": true,
}

// toolVariables contains the variables that name programs which only some tools run.
var toolVariables = sync.OnceValue(set("CC CXX LD AR RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER MAKE CMAKE_C_COMPILER_LAUNCHER npm_config_script_shell"))

// loaders contains the variables that make other programs run the contents of a file.
var loaders = sync.OnceValue(set("BASH_ENV ZDOTDIR LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM PYTHONSTARTUP PERL5OPT RUBYOPT"))

// requires reports whether options of node, from NODE_OPTIONS, make it load a module, which is
// code.
func requires(options string) bool {
	for option := range strings.FieldsSeq(options) {
		name, _, _ := strings.Cut(option, "=")
		if name == "-r" || name == "--require" || name == "--import" || name == "--loader" || name == "--experimental-loader" {
			return true
		}
	}
	return false
}

// environ collects the commands that a program would run because the script sets this environment
// variable.
func (s *scope) environ(a *syntax.Assign) {
	if a.Name == nil || a.Value == nil {
		if a.Array != nil {
			s.literals(a.Array)
		}
		return
	}
	c := s.place(a.Name.Value + "=" + s.text(a.Value))
	switch a.Name.Value {
	case "BASH_ALIASES":
		s.reader.text(behind(c, "alias"), s.word(a.Value), input{}, s.depth)
	case "BASH_CMDS":
		s.reader.hide(c, "it makes the name of a command run another program")
	}
	s.reader.variable(c, a.Name.Value, s.word(a.Value), s.depth)
}

// variable collects the commands in the value of an environment variable that is set for a command
// or for the rest of a script, such as GIT_SSH_COMMAND. If the guard cannot see what the variable
// makes programs run, it adds a hidden command.
func (r *reader) variable(c Command, name string, value Word, depth int) {
	r.expansions(c, value, depth)
	c = behind(c, name+"=")
	switch {
	case strings.HasPrefix(name, "BASH_FUNC_"):
		r.text(c, Word{Text: "f " + value.Text, Known: value.Known}, input{}, depth)
	case strings.HasSuffix(name, "MAKEFLAGS"), name == "MFLAGS", name == "MAKEFILES":
		r.makeFlags(c, name, value, depth)
	case name == "GIT_ALLOW_PROTOCOL" && (!value.Known || strings.Contains(value.Text, "ext")):
		r.hide(c, "it allows git to run commands instead of connections to hosts")
	case scriptVariables[name] && value.Known:
		if strings.TrimSpace(value.Text) != "" && value.Text != "-" {
			at := len(r.found)
			r.nested(c, strings.TrimPrefix(value.Text, "|"), input{}, depth)
			r.markMentioned(at)
		}
	case scriptVariables[name]:
		r.hide(c, "it sets "+name+", whose value is run as a command, to "+describe(value))
	case toolVariables()[name]:
		r.mention(c, value.Text+" .", depth)
	case loaders()[name] && (!value.Known || value.Text != "" && value.Text != "/dev/null"):
		r.hide(c, "it sets "+name+", by which other programs run what it names")
	case name == "NODE_OPTIONS" && (!value.Known || requires(value.Text)):
		r.hide(c, "it sets NODE_OPTIONS, by which other programs run what it names")
	case strings.HasPrefix(name, "GIT_CONFIG_KEY_"), strings.HasPrefix(name, "GIT_CONFIG_VALUE_"), name == "GIT_CONFIG_PARAMETERS", name == "GIT_CONFIG_COUNT":
		r.hide(c, "it changes git's settings by "+name)
	case name == "CDPATH":
		r.folder(Word{Text: string(Unknown)})
	}
}

// expansions collects the commands in the substitutions, such as $(...), of a text that the shell
// may evaluate a second time.
func (r *reader) expansions(c Command, w Word, depth int) {
	if w.Any != nil || !strings.Contains(w.Text, "$(") && !strings.Contains(w.Text, "`") && !strings.Contains(w.Text, "${ ") {
		return
	}
	text := strings.ReplaceAll(w.Text, string(Unknown), "$unknown")
	r.mentionStrictly(c, ": <<GC_END_OF_TEXT\n"+text+"\nGC_END_OF_TEXT\n", depth)
}

// folder records that the script may change to a directory, so that later file names may be
// relative to it.
func (r *reader) folder(to Word) {
	if to.Any != nil {
		for _, w := range to.Any {
			r.folder(w)
		}
		return
	}
	previous := r.folders
	if len(previous)*2+1 > maxFolders {
		previous, to = nil, Word{Text: string(Unknown)}
	}
	r.folders = append(r.folders, to)
	for _, f := range previous {
		r.folders = append(r.folders, joined(f, to))
	}
}

// joined returns the path to; if it is relative, within the directory base.
func joined(base, to Word) Word {
	if strings.HasPrefix(to.Text, "/") || strings.HasPrefix(to.Text, "~") || strings.HasPrefix(to.Text, string(Unknown)) {
		return to
	}
	return Word{Text: base.Text + "/" + to.Text, Known: base.Known && to.Known, Glob: base.Glob || to.Glob}
}
