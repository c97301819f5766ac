// Package doctor checks a city and this machine for everything that keeps agents from running: the
// configuration, folders, sockets, the controller, runtime providers, and what is left over. It also
// has a test agent or an agent CLI answer a prompt, and tries a runtime provider with the cases of the
// contract.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gascity/client"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/config"
)

// The levels of a [Finding].
const (
	LevelOK      = "ok"
	LevelWarning = "warning" // works, but not as well as it could
	LevelProblem = "problem" // does not work until it is repaired
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"` // stable: "config", "socket", "agent.worker.command"
	Level   string `json:"level"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // what to do, preferably a command
}

// Doctor runs the checks. All fields are required.
type Doctor struct {
	Loader  *cityconfig.Loader
	Version string // of this program
	// RunController runs the controller of a city that ends with this process. It calls ready
	// when the controller answers.
	RunController func(ctx context.Context, root string, ready func()) error
}

// examination is one run of the doctor. Checks run in order, from what
// everything else stands on to the proof that an agent answers.
type examination struct {
	*Doctor
	ctx    context.Context //nolint:containedctx // of the one call that makes it
	root   string
	report func(Finding)
	now    time.Time

	r        cityconfig.Loaded // nil city if the configuration is faulty
	faulty   bool              // the configuration has mistakes, and they were reported
	control  bool              // a controller answers
	silent   bool              // there may be one that cannot be asked, and that has been said
	path     string            // see searchPath
	selected []string
	wanting  map[string]bool // of selected, what cannot be opened
}

// Examine checks everything that can be wrong with the city and the machine, without a controller if
// there is none, and reports each finding as soon as it is made. A problem that it finds is no error.
// An empty root checks the machine alone.
func (d *Doctor) Examine(ctx context.Context, root string, report func(Finding)) error {
	x := &examination{Doctor: d, ctx: ctx, root: root, report: report, now: d.Loader.Now(), wanting: map[string]bool{}}
	var checks []func()
	if root != "" {
		checks = append(checks, func() { x.config(ctx) }, x.agents, x.folders, x.ignored, x.runtimeFolder, x.lock, x.socket, x.controller)
	}
	checks = append(checks, x.disk, x.providers)
	if root != "" {
		checks = append(checks, x.leftovers)
	}
	for _, check := range append(checks, x.prompt) {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		check()
	}
	return nil
}

func (x *examination) ok(check, format string, args ...any) {
	x.report(Finding{Check: check, Level: LevelOK, Message: fmt.Sprintf(format, args...)})
}

func (x *examination) warn(check, message, remedy string) {
	x.report(Finding{Check: check, Level: LevelWarning, Message: message, Remedy: remedy})
}

func (x *examination) problem(check, message, remedy string) {
	x.report(Finding{Check: check, Level: LevelProblem, Message: message, Remedy: remedy})
}

func (x *examination) config(ctx context.Context) {
	path := filepath.Join(x.root, client.CityFile)
	r, err := x.Loader.Load(ctx, x.root)
	errs, faulty := config.AsErrors(err)
	switch {
	case err == nil:
		x.r = r
		x.ok("config", "%s is valid: %d agents", path, len(r.Desired.Sessions))
		for _, w := range r.Warnings {
			x.warn("config", w, "")
		}
		x.guarded()
		x.permissions()
		for _, e := range x.Loader.ModeRemarks(x.ctx, r.City) {
			x.warn("permission_mode", e.Message, e.Hint)
		}
		x.stall()
	case faulty:
		x.faulty = true
		for _, e := range errs {
			x.problem("config", e.Brief(), "edit "+path)
		}
	case errors.Is(err, fs.ErrNotExist):
		x.problem("config", "there is no "+path, "make one with: gc init")
	case errors.Is(err, fs.ErrPermission):
		x.problem("config", err.Error(), "make it readable for this user")
	default:
		x.problem("config", err.Error(), "fix the error in it")
	}
}

// stall proposes a progress_stall_timeout to a city that has none. The value is twice as long
// as the longest silence that a working agent CLI is known for: a model that thinks for 10 minutes.
func (x *examination) stall() {
	for i := range x.r.Desired.Sessions {
		if x.r.Desired.Sessions[i].Stall.After > 0 {
			x.ok("stall", "an agent without a sign of progress in its turn is reported")
			return
		}
	}
	if len(x.r.Desired.Sessions) > 0 {
		x.ok("stall", `an agent that hangs in its turn is not reported; to get a report, set progress_stall_timeout = "20m" in [daemon]`)
	}
}

// folders looks at who may enter the city's private folders.
func (x *examination) folders() {
	fine := true
	for _, name := range []string{citydir.StateFolder, citydir.RuntimeFolder} {
		dir := filepath.Join(x.root, name)
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // made by the first start
		}
		if err == nil {
			err = citydir.CheckPrivate(dir, info)
		}
		if err != nil {
			fine = false
			x.problem("folder"+name, err.Error(), cureOf(dir, info))
		}
	}
	if info, err := os.Stat(x.root); err != nil || unix.Access(x.root, unix.W_OK) != nil {
		x.problem("folder", fmt.Sprintf("the city directory %s cannot be written", x.root), "make it writable for this user")
	} else if fine {
		x.ok("folder", "%s and what is private in it belong to this user (mode %04o)", x.root, info.Mode().Perm())
	}
}

// ignored looks whether git could add the city's state, which holds a token and what agents showed.
func (x *examination) ignored() {
	root, err := filepath.EvalSymlinks(x.root)
	if err != nil {
		return // the folder's own finding says it
	}
	const remedy = "add these lines to .gitignore: .gc/ and .runtime/"
	r, ok, err := citydir.FindRepository(root)
	if err == nil && ok {
		ok, err = r.Ignores(root)
		if err == nil && ok {
			x.ok("git", "git ignores the city's state, in the repository %s", r.Root)
			return
		}
		if err == nil {
			x.warn("git", fmt.Sprintf("the city is in the git repository %s, which does not ignore its state (.gc, .runtime)", r.Root), remedy)
			return
		}
	}
	if err != nil {
		x.warn("git", err.Error(), remedy)
	}
}

// cureOf returns how a folder becomes this user's alone.
func cureOf(dir string, info fs.FileInfo) string {
	switch {
	case info == nil:
		return "make it readable for this user"
	case !info.IsDir():
		return "move " + dir + " out of the way: gc makes a folder there"
	case info.Mode().Perm()&0o077 != 0 && ownedByUs(info):
		return "chmod 700 " + dir
	}
	return "run gc as the user who owns " + dir + ", or give it to this user with chown"
}

func ownedByUs(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(owner.Uid) == os.Getuid()
}

func (x *examination) runtimeFolder() {
	dir, err := citydir.RuntimeDir(x.root, x.Loader.Environ.SocketBases()...)
	if err != nil {
		x.problem("runtime-dir", err.Error(), "make the folder private, or remove "+filepath.Join(x.root, citydir.StateFolder, citydir.ChoiceFile)+", if it is there, when no agent runs")
		return
	}
	if len(dir)+citydir.TailLength > client.MaxSocketPath {
		x.problem("runtime-dir", fmt.Sprintf("the sockets below %s would have more than %d bytes", dir, client.MaxSocketPath),
			"remove "+filepath.Join(x.root, citydir.StateFolder, citydir.ChoiceFile)+" when no agent runs")
		return
	}
	if strings.HasPrefix(dir, loginFolder) && !x.lingers() {
		x.warn("runtime-dir", fmt.Sprintf("sockets of sessions are in %s, which the login manager removes after your last logout; agents cannot be reached until you log in again", dir),
			"loginctl enable-linger, or move them to your state folder with: gc stop && gc start")
		return
	}
	x.ok("runtime-dir", "sockets of sessions are in %s", dir)
}

const (
	loginFolder  = "/run/user/"               // its folders go with the last session of their user
	lingerFolder = "/var/lib/systemd/linger/" // has a file for each user whose folder stays
)

// lingers reports whether the login manager keeps what belongs to this user after the last logout.
func (x *examination) lingers() bool {
	name := cmp.Or(x.Loader.Environ.Get("USER"), x.Loader.Environ.Get("LOGNAME"))
	if name == "" || name != filepath.Base(name) {
		return false
	}
	_, err := os.Lstat(filepath.Join(lingerFolder, name))
	return err == nil
}

const (
	diskProblem = 64 << 20
	diskWarning = 1 << 30
)

// disk looks at the space where logs and sockets go.
func (x *examination) disk() {
	places := []string{citydir.PublicTempDir}
	if x.root != "" {
		places = append(places, x.root)
	}
	for _, place := range places {
		var st unix.Statfs_t
		if err := unix.Statfs(place, &st); err != nil {
			x.warn("disk", fmt.Sprintf("cannot read the free space of %s: %v", place, err), "")
			continue
		}
		free := uint64(st.Bavail) * uint64(st.Bsize) //nolint:gosec,unconvert // the types differ between systems
		switch {
		case free < diskProblem:
			x.problem("disk", fmt.Sprintf("%s has %d MiB left", place, free>>20), "make room: logs and records cannot be written")
		case free < diskWarning:
			x.warn("disk", fmt.Sprintf("%s has %d MiB left", place, free>>20), "make room soon")
		default:
			x.ok("disk", "%s has %d GiB left", place, free>>30)
		}
	}
}
