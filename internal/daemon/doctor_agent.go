package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"gascity/internal/agentcli"
	"gascity/internal/plan"
	"gascity/internal/program"
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
	name, err := program.Of(s.Config.Command)
	if err != nil {
		x.problem(check, fmt.Sprintf("the command is no shell command: %v", err), "mend start_command or args")
		return
	}
	x.program(s, check, name)
	x.program(s, "agent."+s.Agent+".path_check", s.PathCheck)
}

// program looks for a program where the agent would.
func (x *examination) program(s *plan.Session, check, name string) {
	if name == "" {
		return // a default shell, or something that only the shell can tell; or nothing is named
	}
	path := x.pathOf(s)
	found, err := program.Find(name, cmp.Or(s.Config.WorkDir, x.root), path)
	if err != nil {
		remedy := "install it, or set PATH for the agent: env = { PATH = \"...\" }"
		x.problem(check, fmt.Sprintf("%s %v; PATH is %s", name, err, path), remedy)
		return
	}
	x.ok(check, "%s is %s", name, found)
}

// pathOf returns the PATH that the agent gets.
func (x *examination) pathOf(s *plan.Session) string {
	if path, ok := s.Config.Env["PATH"]; ok {
		return path
	}
	return environment(x.env.base(agentcli.Builtin())).get("PATH")
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
