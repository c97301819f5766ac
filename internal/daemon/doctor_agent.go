package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"gascity/internal/agentcli"
	"gascity/internal/plan"
	"gascity/provider/all"
)

// agents looks at what each agent needs on this machine. Of one that runs elsewhere, or at
// a script that alone knows where, that is what is staged.
func (x *examination) agents() {
	if x.r.city == nil {
		return
	}
	for i := range x.r.desired.Sessions {
		s := &x.r.desired.Sessions[i]
		if s.Suspended {
			continue
		}
		x.files(s)
		switch driver, _, err := all.Find(s.Provider); {
		case err != nil: // the finding about the provider tells
		case driver.Where == all.Here:
			x.workDir(s)
			x.command(s)
		default:
			x.ok("agent."+s.Agent+".place", "its work folder and its program are looked for where it starts, at %s", s.Provider)
		}
	}
}

func (x *examination) workDir(s *plan.Session) {
	check, dir := "agent."+s.Agent+".work_dir", s.Config.WorkDir
	if dir == "" {
		return
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(s.Config.PreStart) > 0:
		x.warn(check, dir+" does not exist yet; pre_start has to make it", "")
	case err != nil:
		x.problem(check, fmt.Sprintf("cannot use the work folder: %v", err), "mkdir -p "+dir)
	case !info.IsDir():
		x.problem(check, dir+" is not a folder", "set work_dir to a folder")
	default:
		x.ok(check, "%s exists", dir)
	}
}

func (x *examination) command(s *plan.Session) {
	check := "agent." + s.Agent + ".command"
	program, err := programOf(s.Config.Command)
	if err != nil {
		x.problem(check, fmt.Sprintf("the command is no shell command: %v", err), "mend start_command or args")
		return
	}
	if program == "" {
		return // a default shell, or something that only the shell can tell
	}
	path := x.pathOf(s)
	found, err := find(program, cmp.Or(s.Config.WorkDir, x.root), path)
	if err != nil {
		remedy := "install it, or set PATH for the agent: env = { PATH = \"...\" }"
		x.problem(check, fmt.Sprintf("%s %v; PATH is %s", program, err, path), remedy)
		return
	}
	x.ok(check, "%s is %s", program, found)
}

// pathOf returns the PATH that the agent gets.
func (x *examination) pathOf(s *plan.Session) string {
	if path, ok := s.Config.Env["PATH"]; ok {
		return path
	}
	return environment(x.env.base(agentcli.Builtin())).get("PATH")
}

// programOf returns the first program that a shell command runs, empty if it
// cannot be told without running it.
func programOf(command string) (string, error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return "", err
	}
	if len(file.Stmts) == 0 {
		return "", nil
	}
	call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return "", nil
	}
	for _, word := range call.Args {
		text := word.Lit()
		if text == "" {
			text = quotedText(word)
		}
		switch {
		case text == "exec", text == "command", text == "nohup":
			continue
		case strings.HasPrefix(text, "-"), slices.Contains(builtins, text):
			return "", nil
		}
		return text, nil
	}
	return "", nil
}

// builtins are words that a shell answers itself.
var builtins = []string{
	".", ":", "[", "alias", "cd", "echo", "eval", "export", "false", "printf", "pwd", "read", "set", "shift", "source",
	"test", "trap", "true", "type", "ulimit", "umask", "unset", "wait",
}

// quotedText returns the text of a word that is one quoted literal.
func quotedText(word *syntax.Word) string {
	if len(word.Parts) != 1 {
		return ""
	}
	switch part := word.Parts[0].(type) {
	case *syntax.SglQuoted:
		if !part.Dollar {
			return part.Value
		}
	case *syntax.DblQuoted:
		if len(part.Parts) == 1 {
			if lit, ok := part.Parts[0].(*syntax.Lit); ok {
				return lit.Value
			}
		}
	}
	return ""
}

// find returns where a program is, seen from a folder and with a PATH.
func find(program, dir, path string) (string, error) {
	if strings.Contains(program, "/") {
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		return program, executable(program)
	}
	for _, folder := range filepath.SplitList(path) {
		candidate := filepath.Join(cmp.Or(folder, "."), program)
		if executable(candidate) == nil {
			return candidate, nil
		}
	}
	return "", errors.New("is not found")
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.New("does not exist")
	case info.IsDir():
		return errors.New("is a folder")
	case info.Mode().Perm()&0o111 == 0:
		return errors.New("is not executable")
	}
	return nil
}

// files looks at what is staged into the work folder.
func (x *examination) files(s *plan.Session) {
	check := "agent." + s.Agent + ".files"
	cfg := &s.Config
	var paths []string
	paths = append(append(paths, cfg.OverlayDir, cfg.SessionSetupScript), cfg.PackOverlayDirs...)
	for _, entry := range cfg.CopyFiles {
		paths = append(paths, entry.Src)
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == "" })
	missing := 0
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			missing++
			x.problem(check, fmt.Sprintf("cannot read what is to be staged: %v", err), "mend the path in city.toml")
			continue
		}
		if err := file.Close(); err != nil {
			x.warn(check, err.Error(), "")
		}
	}
	if missing == 0 && len(paths) > 0 {
		x.ok(check, "%d files and folders are readable", len(paths))
	}
}
