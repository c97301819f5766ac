package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
)

// lock checks whether a controller holds the city's lock, and whether it answers.
func (x *examination) lock() {
	held, who, err := citydir.Locked(x.root)
	_, statusErr := ask(x, (*client.Client).Status)
	x.control = statusErr == nil
	x.silent = held && !x.control || errors.Is(statusErr, client.ErrForbidden)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.ok("lock", "no controller has run here yet")
	case err != nil:
		x.problem("lock", "cannot read the controller's lock: "+err.Error(), "make .gc readable for this user")
	case held && !x.control:
		why := statusErr.Error()
		if errors.Is(statusErr, client.ErrNoController) {
			why = "no process listens on its socket"
		}
		x.problem("lock", fmt.Sprintf("a controller%s holds the city and does not answer: %s", who, why),
			"look at .gc/log/controller.log, and stop that process; its agents keep running")
	case !held && x.control:
		x.problem("lock", "a controller answers, but it does not hold the city's lock", "gc controller stop, then gc start")
	case held:
		x.ok("lock", "held by the controller%s", who)
	default:
		x.ok("lock", "free")
	}
}

// answerTime is how long the controller may take to answer a request.
const answerTime = 5 * time.Second

// ask returns the answer of the city's controller to a request.
func ask[T any](x *examination, request func(*client.Client, context.Context) (T, error)) (T, error) {
	c := &client.Client{Root: x.root, Version: x.Version}
	defer c.Close()
	ctx, cancel := context.WithTimeout(x.ctx, answerTime)
	defer cancel()
	return request(c, ctx)
}

// socket checks the control socket.
func (x *examination) socket() {
	path := client.SocketPath(x.root)
	if short := filepath.Join(x.root, citydir.RuntimeFolder); filepath.Dir(path) != short {
		x.warn("socket", fmt.Sprintf("the city's path is long, so the control socket is %s", path), "")
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.ok("socket", "%s is free", path)
	case err != nil:
		x.problem("socket", "cannot read the control socket: "+err.Error(), "make its folder readable for this user")
	case info.Mode()&fs.ModeSocket == 0:
		x.problem("socket", path+" is not a socket, but the control socket must be there", "remove "+path)
	case !x.control:
		x.staleSocket(path)
	case info.Mode().Perm()&0o077 != 0:
		x.problem("socket", fmt.Sprintf("other users can connect to the controller: %s has mode %04o", path, info.Mode().Perm()), "chmod 600 "+path)
	default:
		x.ok("socket", "%s answers", path)
	}
}

// staleSocket reports a socket that a controller left behind, unless a process still holds the
// lock.
func (x *examination) staleSocket(path string) {
	held, _, err := citydir.Locked(x.root)
	if err == nil && held {
		return // the finding about the lock reports it
	}
	x.warn("socket", path+" is stale: a controller exited without removing it", "replace it with: gc start")
}

// controller checks the running controller: whether it answers, has the same version as this program, can save its
// decisions, uses the current city.toml, and knows the state of its agents.
func (x *examination) controller() {
	if x.silent {
		return
	}
	if !x.control {
		x.warn("controller", "no controller runs", "gc start")
		return
	}
	status, err := ask(x, (*client.Client).Status)
	switch {
	case err != nil:
		x.problem("controller", "it stopped answering: "+err.Error(), "look at .gc/log/controller.log")
		return
	case status.Controller.Version != x.Version:
		x.warn("controller.version", fmt.Sprintf("the controller is version %s, this program %s", status.Controller.Version, x.Version),
			"gc controller stop, then gc start; agents keep running")
	default:
		x.ok("controller", "process %d answers, version %s", status.Controller.PID, status.Controller.Version)
	}
	if status.Controller.Degraded != "" {
		x.problem("controller.degraded", status.Controller.Degraded, "gc starts and stops nothing there until that is repaired")
	}
	if status.Plan.Error != "" {
		why := status.Plan.Error
		if x.faulty {
			why = client.CityFile + " has the mistakes named above; the controller still uses the previous configuration"
		}
		x.problem("controller.plan", "the last edit is not active: "+why, "edit "+client.CityFile+"; check it with: gc config check")
	}
	for _, a := range status.Agents {
		switch a.State {
		case client.StateFailed, client.StateQuarantined, client.StateLost:
			if !x.missing[a.Name] { // otherwise the finding about the program reports it
				x.problem("agent."+a.Name, fmt.Sprintf("it is %s: %s", a.State, a.Reason), "gc logs "+a.Name+"; gc restart "+a.Name)
			}
		case client.StateUnknown:
			x.problem("agent."+a.Name, "its state is unknown: "+a.Reason, "gc does nothing with it until it can be observed")
		default:
		}
	}
}
