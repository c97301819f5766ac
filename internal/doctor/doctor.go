// Package doctor checks a city and this machine for everything that prevents agents from running:
// the configuration, directories, sockets, the controller, runtime providers, and leftover sessions
// and processes. It also asks a test agent or an agent CLI to answer a prompt, and runs the
// conformance cases of a runtime provider.
//
// # Probe of a runtime provider
//
// The probe tries each operation of a runtime provider with one session of the test agent, and
// reports whether the operation works, is unsupported, or is wrong. It helps the author of a session
// script to find the next operation to write. Package runtimetest has the complete contract.
//
// # Smoke test of agent CLIs
//
// The smoke test starts each agent CLI as an agent of a temporary city and asks it a question. That
// checks the program, its login, its model, gc's hooks and the delivery of prompts.
//
// # Support bundle
//
// A bundle is one archive with the information that helps to find a fault in a city, without
// credentials.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gascity/client"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
)

// Doctor runs the checks. All fields are required.
type Doctor struct {
	Loader  *cityconfig.Loader
	Version string // of this program
	// RunController runs the controller of a city that stops with this process. It calls ready when
	// the controller answers.
	RunController func(ctx context.Context, root string, ready func()) error
	// StoredEvents returns the last events of a city without its controller, at most limit of them.
	StoredEvents func(ctx context.Context, root string, limit int) ([]client.Event, error)
}

// examination is one run of the doctor. Checks run in order: the basics first, a real prompt last.
type examination struct {
	*Doctor
	ctx    context.Context //nolint:containedctx // of the call that created it
	root   string
	report func(client.Finding)
	now    time.Time

	r          cityconfig.Loaded // its City is nil if the configuration is invalid
	faulty     bool              // mistakes in the configuration were reported
	control    bool              // a controller answers
	silent     bool              // a controller may run that does not answer; this was reported
	path       string            // result of searchPath
	selected   []string
	unopenable map[string]bool // the selected providers that cannot be opened
	missing    map[string]bool // the agents whose program is not found
}

// Examine checks the city and the machine and reports each finding at once. It needs no controller.
// A problem that it finds is not an error. An empty root checks only the machine.
func (d *Doctor) Examine(ctx context.Context, root string, report func(client.Finding)) error {
	x := &examination{Doctor: d, ctx: ctx, root: root, report: report, now: d.Loader.Now(), unopenable: map[string]bool{}, missing: map[string]bool{}}
	var checks []func()
	if root != "" {
		checks = append(checks, func() { x.config(ctx) }, x.agents, x.folders, x.ignored, x.runtimeFolder, x.lock, x.socket, x.controller, x.web, x.notify)
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
	x.report(client.Finding{Check: check, Level: client.LevelOK, Message: fmt.Sprintf(format, args...)})
}

func (x *examination) warn(check, message, remedy string) {
	x.report(client.Finding{Check: check, Level: client.LevelWarning, Message: message, Remedy: remedy})
}

func (x *examination) problem(check, message, remedy string) {
	x.report(client.Finding{Check: check, Level: client.LevelProblem, Message: message, Remedy: remedy})
}

// config checks the configuration.
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
		x.problem("config", "there is no "+path, "create it with: gc init")
	case errors.Is(err, fs.ErrPermission):
		x.problem("config", err.Error(), "make it readable for this user")
	default:
		x.problem("config", err.Error(), "fix the error in it")
	}
}

// stall proposes a progress_stall_timeout to a city that has none. The value is twice the longest
// known silence of a working agent CLI: a model that thinks for 10 minutes.
func (x *examination) stall() {
	isWatched := func(s *plan.Session) bool { return s.Stall.After > 0 }
	switch {
	case slices.ContainsFunc(x.r.Desired.Sessions, isWatched):
		x.ok("stall", "an agent without a sign of progress in its turn is reported")
	case len(x.r.Desired.Sessions) > 0:
		x.ok("stall", `an agent that hangs in its turn is not reported; to get a report, set progress_stall_timeout = "20m" in [daemon]`)
	}
}

// folders checks who can access the city's private directories.
func (x *examination) folders() {
	fine := true
	for _, name := range []string{citydir.StateFolder, citydir.RuntimeFolder} {
		dir := filepath.Join(x.root, name)
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the first start creates it
		}
		if err == nil {
			err = citydir.CheckPrivate(dir, info)
		}
		if err != nil {
			fine = false
			x.problem("folder"+name, err.Error(), accessRemedy(dir, info))
		}
	}
	if info, err := os.Stat(x.root); err != nil || unix.Access(x.root, unix.W_OK) != nil {
		x.problem("folder", fmt.Sprintf("the city directory %s cannot be written", x.root), "make it writable for this user")
	} else if fine {
		x.ok("folder", "%s and its private folders belong to this user (mode %04o)", x.root, info.Mode().Perm())
	}
}

// ignored checks whether git ignores the city's state, which contains a token and agents' output.
func (x *examination) ignored() {
	root, err := filepath.EvalSymlinks(x.root)
	if err != nil {
		return // the finding about the folder reports it
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

// accessRemedy returns how to make a directory private for this user.
func accessRemedy(dir string, info fs.FileInfo) string {
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

// ownedByUs reports whether a file belongs to the user of this process; true if the system does not report an owner.
func ownedByUs(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(owner.Uid) == os.Getuid()
}

// runtimeFolder checks the directory for the sockets of sessions.
func (x *examination) runtimeFolder() {
	dir, err := citydir.RuntimeDir(x.root, x.Loader.Environ.SocketBases()...)
	if err != nil {
		x.problem("runtime-dir", err.Error(), "make the folder private, or remove "+filepath.Join(x.root, citydir.StateFolder, citydir.ChoiceFile)+", if it is there, when no agent runs")
		return
	}
	if len(dir)+citydir.TailLength > client.MaxSocketPath {
		x.problem("runtime-dir", fmt.Sprintf("the paths of the sockets below %s would be longer than %d bytes", dir, client.MaxSocketPath),
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
	loginFolder  = "/run/user/"               // its directories are removed after the user's last logout
	lingerFolder = "/var/lib/systemd/linger/" // has a file for each user whose directory stays
)

// lingers reports whether the login manager keeps this user's runtime directory after the last
// logout.
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

// disk checks the free space for logs and sockets.
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
			x.problem("disk", fmt.Sprintf("%s has %d MiB left", place, free>>20), "free some space: otherwise gc cannot write logs and records")
		case free < diskWarning:
			x.warn("disk", fmt.Sprintf("%s has %d MiB left", place, free>>20), "free some space soon")
		default:
			x.ok("disk", "%s has %d GiB left", place, free>>30)
		}
	}
}

// permissions reports which agents run their tools without asking.
func (x *examination) permissions() {
	const check = "permissions"
	words := x.r.UnaskedText()
	switch {
	case words == "":
	case x.r.Rules.Guarded():
		x.ok(check, "%s", words)
	default:
		x.warn(check, words, x.r.AskingRemedy())
	}
}

// guarded reports whether tools are guarded. A city without a guard is not an error.
func (x *examination) guarded() {
	if !x.r.Rules.Guarded() {
		x.ok("guard", "%s has no [guard]: agents may use every tool", client.CityFile)
		return
	}
	x.ok("guard", "%d rules; for a call that no rule matches: %s", x.r.Rules.Count(), x.r.Rules.Policy().Default())
}
