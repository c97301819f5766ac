package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/proc"
	"gascity/provider/all"
)

// agents checks what each agent needs on this machine. For an agent that runs on another host, or through a session script
// (then gc does not know where it runs), it only checks the files that gc copies into the working directory.
func (x *examination) agents() {
	if x.r.City == nil {
		return
	}
	for _, s := range x.r.Desired.Sessions {
		if s.Suspended {
			continue
		}
		x.files(s)
		switch driver, _, err := all.Find(s.Provider); {
		case err != nil: // the finding about the provider reports it
		case driver.Where == all.WhereLocal:
			x.workDir(s)
			x.command(s)
		default:
			x.ok("agent."+s.Agent+".place", "its working directory and its program are checked when it starts at %s", s.Provider)
		}
	}
}

// workDir checks that the agent's working directory exists.
func (x *examination) workDir(s *plan.Session) {
	check, dir := "agent."+s.Agent+".work_dir", s.Config.WorkDir
	if dir == "" {
		return
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(s.Config.PreStart) > 0:
		x.warn(check, dir+" does not exist yet; pre_start must create it", "")
	case err != nil:
		x.problem(check, fmt.Sprintf("cannot use the working directory: %v", err), "mkdir -p "+dir)
	case !info.IsDir():
		x.problem(check, dir+" is not a folder", "set work_dir to a folder")
	default:
		x.ok(check, "%s exists", dir)
	}
}

// command checks that the agent's programs are found.
func (x *examination) command(s *plan.Session) {
	check := "agent." + s.Agent + ".command"
	name, err := proc.FirstProgram(s.Config.Command)
	if err != nil {
		x.problem(check, fmt.Sprintf("the command is not a valid shell command: %v", err), "correct start_command or args")
		return
	}
	x.program(s, check, name)
	x.program(s, "agent."+s.Agent+".path_check", s.PathCheck)
}

// program checks whether an agent finds a program: in the PATH of its environment, else in that of the login shell.
// check is the name of the check in the report.
func (x *examination) program(s *plan.Session, check, name string) {
	if name == "" {
		return // the default shell, a command that only a shell can evaluate, or no program
	}
	path := x.searchPath()
	found, err := x.Loader.ResolveProgram(x.ctx, s, name, path)
	switch {
	case err == nil && found.Login:
		x.ok(check, "%s is %s, found by PATH of the login shell; the agent gets that at its next start", name, found.File)
	case err == nil:
		x.ok(check, "%s is %s", name, found.File)
	default:
		x.missing[s.Agent] = true
		x.notFound(s, check, name, path, err)
	}
}

// notFound reports a program that an agent does not find in path, and the remedy.
func (x *examination) notFound(s *plan.Session, check, name, path string, err error) {
	own, isOwn := s.Config.Env["PATH"]
	switch {
	case isOwn:
		x.problem(check, fmt.Sprintf("%s %v; PATH of the agent is %s", name, err, own), "install it, or change PATH in env of the agent")
	case strings.Contains(name, "/"):
		x.problem(check, fmt.Sprintf("%s %v", name, err), "install it, or change start_command; then: gc restart "+s.Agent)
	default:
		remedy := "install it; then: gc restart " + s.Agent
		if here, err := proc.FindProgram(name, "", x.Loader.Environ.Get("PATH")); err == nil {
			remedy = fmt.Sprintf("this shell finds %s: give the controller this PATH with: gc controller stop && gc start", here)
		}
		x.problem(check, fmt.Sprintf("%s %v; PATH is %s", name, err, path), remedy)
	}
}

// searchPath returns the PATH of the running controller. Without one, it returns the PATH of this
// process, which a controller started from here would get.
func (x *examination) searchPath() string {
	if x.path == "" {
		x.path = x.Loader.Environ.Get("PATH")
		if status, err := ask(x, (*client.Client).Status); err == nil && status.Controller.SearchPath != "" {
			x.path = status.Controller.SearchPath
		}
	}
	return x.path
}

// files checks that the files that are staged into the working directory can be read.
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
			x.problem(check, fmt.Sprintf("cannot read a file to stage into the working directory: %v", err), "correct the path in city.toml")
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
