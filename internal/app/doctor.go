package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/provider/all"
	"gascity/runtime"
)

// doctorRun is one run of the doctor. Checks run in order, from what
// everything else stands on to the proof that an agent answers.
type doctorRun struct {
	*Daemon
	ctx    context.Context //nolint:containedctx // of the one call that makes it
	root   string
	report func(cli.Finding)
	now    time.Time

	r        loadedConfig // nil city if the configuration is faulty
	faulty   bool         // the configuration has mistakes, and they were reported
	control  bool         // a controller answers
	silent   bool         // there may be one that cannot be asked, and that has been said
	path     string       // see searchPath
	selected []string
	wanting  map[string]bool // of selected, what cannot be opened
}

// Doctor looks for everything that can be wrong.
func (d *Daemon) Doctor(ctx context.Context, root string, report func(cli.Finding)) error {
	x := &doctorRun{Daemon: d, ctx: ctx, root: root, report: report, now: d.opts.Now(), wanting: map[string]bool{}}
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

func (x *doctorRun) ok(check, format string, args ...any) {
	x.report(cli.Finding{Check: check, Level: cli.LevelOK, Message: fmt.Sprintf(format, args...)})
}

func (x *doctorRun) warn(check, message, remedy string) {
	x.report(cli.Finding{Check: check, Level: cli.LevelWarning, Message: message, Remedy: remedy})
}

func (x *doctorRun) problem(check, message, remedy string) {
	x.report(cli.Finding{Check: check, Level: cli.LevelProblem, Message: message, Remedy: remedy})
}

func (x *doctorRun) config(ctx context.Context) {
	path := filepath.Join(x.root, client.CityFile)
	r, err := x.read(ctx, x.root)
	errs, faulty := config.AsErrors(err)
	switch {
	case err == nil:
		x.r = r
		x.ok("config", "%s is valid: %d agents", path, len(r.desired.Sessions))
		for _, w := range r.warnings {
			x.warn("config", w, "")
		}
		x.guarded()
		x.permissions()
		for _, e := range x.refusedModes(x.ctx, r.city) {
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
func (x *doctorRun) stall() {
	for i := range x.r.desired.Sessions {
		if x.r.desired.Sessions[i].Stall.After > 0 {
			x.ok("stall", "an agent without a sign of progress in its turn is reported")
			return
		}
	}
	if len(x.r.desired.Sessions) > 0 {
		x.ok("stall", `an agent that hangs in its turn is not reported; to get a report, set progress_stall_timeout = "20m" in [daemon]`)
	}
}

// folders looks at who may enter the city's private folders.
func (x *doctorRun) folders() {
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
func (x *doctorRun) ignored() {
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

// cureOf says how a folder becomes this user's alone.
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

func (x *doctorRun) runtimeFolder() {
	dir, err := citydir.RuntimeDir(x.root, x.env.socketBases()...)
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
func (x *doctorRun) lingers() bool {
	name := cmp.Or(x.env.get("USER"), x.env.get("LOGNAME"))
	if name == "" || name != filepath.Base(name) {
		return false
	}
	_, err := os.Lstat(filepath.Join(lingerFolder, name))
	return err == nil
}

// lock looks for a controller that holds the city without answering.
func (x *doctorRun) lock() {
	held, who, err := citydir.Locked(x.root)
	c := x.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second)
	defer cancel()
	_, statusErr := c.Status(ctx)
	x.control = statusErr == nil
	x.silent = held && !x.control || errors.Is(statusErr, client.ErrForbidden)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.ok("lock", "no controller has run here yet")
	case err != nil:
		x.problem("lock", "cannot look at the controller's lock: "+err.Error(), "make .gc readable for this user")
	case held && !x.control:
		why := statusErr.Error()
		if errors.Is(statusErr, client.ErrNoController) {
			why = "no process listens on its socket"
		}
		x.problem("lock", fmt.Sprintf("a controller%s holds the city and does not answer: %s", who, why),
			"look at .gc/log/controller.log; end that process, agents keep running")
	case !held && x.control:
		x.problem("lock", "a controller answers that does not hold the city's lock", "gc controller stop, then gc start")
	case held:
		x.ok("lock", "held by the controller%s", who)
	default:
		x.ok("lock", "free")
	}
}

func (x *doctorRun) client() *client.Client {
	return &client.Client{Root: x.root, Version: x.opts.Version}
}

// socket looks at the control socket's place.
func (x *doctorRun) socket() {
	path := client.SocketPath(x.root)
	if short := filepath.Join(x.root, citydir.RuntimeFolder); filepath.Dir(path) != short {
		x.warn("socket", fmt.Sprintf("the city's path is long, so the control socket is %s", path), "")
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.ok("socket", "%s is free", path)
	case err != nil:
		x.problem("socket", "cannot look at the control socket: "+err.Error(), "make its folder readable for this user")
	case info.Mode()&fs.ModeSocket == 0:
		x.problem("socket", path+" is in the way: it is not a socket", "remove "+path)
	case !x.control:
		x.staleSocket(path)
	case info.Mode().Perm()&0o077 != 0:
		x.problem("socket", fmt.Sprintf("others may speak to the controller: %s has mode %04o", path, info.Mode().Perm()), "chmod 600 "+path)
	default:
		x.ok("socket", "%s answers", path)
	}
}

// staleSocket distinguishes a socket that a dead controller left from one that
// another process holds.
func (x *doctorRun) staleSocket(path string) {
	held, _, err := citydir.Locked(x.root)
	if err == nil && held {
		return // the lock's finding says it
	}
	x.warn("socket", path+" is stale: a controller ended without removing it", "gc start replaces it")
}

// controller compares the running controller with this program.
func (x *doctorRun) controller() {
	if x.silent {
		return
	}
	if !x.control {
		x.warn("controller", "no controller runs", "gc start")
		return
	}
	c := x.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second)
	defer cancel()
	status, err := c.Status(ctx)
	switch {
	case err != nil:
		x.problem("controller", "it stopped answering: "+err.Error(), "look at .gc/log/controller.log")
		return
	case status.Controller.Version != x.opts.Version:
		x.warn("controller.version", fmt.Sprintf("the controller is version %s, this program %s", status.Controller.Version, x.opts.Version),
			"gc controller stop, then gc start; agents keep running")
	default:
		x.ok("controller", "process %d answers, version %s", status.Controller.PID, status.Controller.Version)
	}
	if status.Controller.Degraded != "" {
		x.problem("controller.degraded", status.Controller.Degraded, "nothing is started or stopped there until it answers")
	}
	if status.Plan.Error != "" {
		why := status.Plan.Error
		if x.faulty {
			why = client.CityFile + " has the mistakes named above; the controller still uses the previous configuration"
		}
		x.problem("controller.plan", "the last edit is not in force: "+why, "edit "+client.CityFile+"; check it with: gc config check")
	}
	for _, a := range status.Agents {
		switch a.State {
		case client.StateUnknown:
			x.problem("agent."+a.Name, "it is unknown: "+a.Reason, "nothing is done to it until it can be observed")
		case client.StateFailed, client.StateQuarantined, client.StateLost:
			x.problem("agent."+a.Name, fmt.Sprintf("it is %s: %s", a.State, a.Reason), "gc logs "+a.Name+"; gc restart "+a.Name)
		default:
		}
	}
}

const (
	diskProblem = 64 << 20
	diskWarning = 1 << 30
)

// disk looks at the space where logs and sockets go.
func (x *doctorRun) disk() {
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

// providers opens each provider that the city selects.
func (x *doctorRun) providers() {
	x.selected = []string{all.Drivers()[0].Name}
	if x.r.city != nil {
		x.selected = nil
		for i := range x.r.desired.Sessions {
			if selection := x.r.desired.Sessions[i].Provider; !slices.Contains(x.selected, selection) {
				x.selected = append(x.selected, selection)
			}
		}
	}
	dir, err := os.MkdirTemp(citydir.PublicTempDir, "gc-doctor-")
	if err != nil {
		x.problem("provider", "cannot make a temporary folder: "+err.Error(), "make "+citydir.PublicTempDir+" writable")
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing was started there
	for _, selection := range x.selected {
		x.provider(selection, dir)
	}
}

// provider looks whether one provider can work here. Nothing is started.
func (x *doctorRun) provider(selection, dir string) {
	check, users := "provider."+selection, x.users(selection)
	cfg := x.providerConfig(dir, filepath.Join(dir, "s"), slog.New(slog.DiscardHandler))
	if x.root != "" {
		cfg.WorkDir = x.root
	}
	version, err := all.Version(x.ctx, selection, cfg)
	if missing, ok := errors.AsType[*all.MissingToolError](err); ok {
		x.wanting[selection] = true
		x.problem(check, missing.Err.Error()+users, cmp.Or(missing.Tool.Remedy, "install "+missing.Tool.Name))
		return
	}
	var p runtime.Provider
	if err == nil {
		p, err = all.Open(selection, cfg)
	}
	if err != nil {
		x.wanting[selection] = true
		x.problem(check, err.Error()+users, "gc provider list shows what there is")
		return
	}
	if version != "" {
		version = " (" + version + ")"
	}
	x.ok(check, "opens%s%s", version, users)
	if err := all.Close(p); err != nil {
		x.warn(check, err.Error(), "")
	}
}

// usersShown is how many agents are named that run at a provider.
const usersShown = 5

// users says which agents run at a provider.
func (x *doctorRun) users(selection string) string {
	var names []string
	for i := range x.r.desired.Sessions {
		if s := &x.r.desired.Sessions[i]; s.Provider == selection {
			names = append(names, s.Agent)
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(names) - usersShown; n > 0 {
		names, more = names[:usersShown], fmt.Sprintf(" and %d more", n)
	}
	return "; used by " + strings.Join(names, ", ") + more
}
