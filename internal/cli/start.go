package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/retry"
	"gascity/internal/textfmt"
)

const (
	logFolderMode = 0o700
	logFileMode   = 0o600

	// probePause is the first pause between two requests to a controller that does
	// not answer yet; it doubles up to probePauseMax.
	probePause    = 5 * time.Millisecond
	probePauseMax = 100 * time.Millisecond

	// logTail is how many bytes of the controller's log an error quotes at most.
	logTail = 4 << 10
	// probeSize is the size of the file that shows whether the disk is full, in bytes.
	probeSize = 4 << 10

	// quoteIndent is the indentation, in columns, of quoted log lines.
	quoteIndent = 2

	defaultStartTimeout = 2 * time.Minute
)

// startFlags are the flags of gc start.
type startFlags struct {
	foreground, noWait bool
	timeout            time.Duration
}

func startCommand(a *app) *cobra.Command {
	var flags startFlags
	cmd := &cobra.Command{
		Use:   "start [DIR | AGENT...]",
		Short: "Start the city, or stopped agents",
		Long: `Without names it starts the controller in the background, waits until every agent runs or has failed,
and prints the result of each. If the controller is running already, it only waits for the agents.
Failed and quarantined agents are started again at once. An agent that cannot run soon, for example
because of a usage limit, is reported with the reason and not waited for. Exit status: 1 an agent
failed or city.toml has errors, 5 timed out. The controller logs to .gc/log/controller.log.

With names it starts agents that were stopped with gc stop AGENT, are asleep, have failed or are
quarantined. A name may be a pattern such as 'web-*'. The controller must be running.

An argument with a slash, or a directory with a city.toml, is the city's directory: the same as
--city DIR.`,
		Example: "  gc start\n  gc start coder\n  gc start ./my-city",
		Args:    cmdenv.Between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			isCity, err := a.cityArgument(cmd, args)
			if err != nil {
				return err
			}
			if len(args) > 0 && !isCity {
				if flags.foreground {
					return cmdenv.Usage(cmd, "--foreground starts the whole city: leave out %q", args[0])
				}
				if flags.noWait {
					flags.timeout = 0
				}
				return startAgents(cmd.Context(), a, args, flags.timeout)
			}
			root, err := a.Root()
			if err != nil {
				return err
			}
			if flags.foreground && a.JSON {
				return cmdenv.Usage(cmd, "--foreground logs to this terminal: leave out --json")
			}
			if flags.foreground {
				return a.runController(cmd.Context(), root, "", true)
			}
			return a.start(cmd.Context(), root, flags)
		},
	}
	cmd.ValidArgsFunction = a.CompleteAgents
	cmd.Flags().BoolVarP(&flags.foreground, "foreground", "f", false, "run the controller in this terminal until it is interrupted")
	cmd.Flags().BoolVar(&flags.noWait, "no-wait", false, "return as soon as the controller runs")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", defaultStartTimeout, "how long to wait for the agents")
	return a.AddJSONFlag(cmd)
}

// cityArgument reports whether the first argument of gc start is a city directory: it is a directory
// with a city.toml. Then it sets --city. A name that is both an agent and a city directory is an error,
// and so is a path with a slash that is neither.
func (a *app) cityArgument(cmd *cobra.Command, args []string) (isCity bool, err error) {
	if len(args) == 0 {
		return false, nil
	}
	name := args[0]
	_, statErr := os.Stat(filepath.Join(a.Path(name), client.CityFile))
	hasCity := statErr == nil
	isAgent := a.isAgent(cmd.Context(), name)
	switch {
	case hasCity && isAgent && !strings.HasPrefix(name, "."):
		return false, cmdenv.Usage(cmd, "%q is an agent, and a directory with a %s; for the city: gc start ./%s; for the agent: gc restart %s", name, client.CityFile, name, name)
	case !hasCity && strings.ContainsRune(name, '/') && !isAgent && !cmdenv.IsPattern(name):
		return false, cmdenv.Usage(cmd, "there is no %s in the directory %q, and no agent has that name", client.CityFile, name)
	case !hasCity:
		return false, nil
	case len(args) > 1:
		return false, cmdenv.Usage(cmd, "%q is a city's directory, and gc start DIR starts the whole city: leave out %q", name, args[1])
	case a.City != "":
		return false, cmdenv.Usage(cmd, "give the city's directory once: as an argument or with --city")
	}
	a.City = name
	return true, nil
}

// isAgent reports whether the current city has an agent or a session with the name. It is false if
// no controller answers.
func (a *app) isAgent(ctx context.Context, name string) bool {
	found := false
	_ = a.OnCity(func(c *client.Client) error {
		status, err := c.Status(ctx)
		_, found = cmdenv.FindAgent(status, name)
		return err
	})
	return found
}

// start starts the controller unless it is running, and waits for the agents.
func (a *app) start(parent context.Context, root string, flags startFlags) error {
	ctx, cancel := context.WithTimeout(parent, flags.timeout)
	defer cancel()
	c := a.ClientOf(root)
	defer c.Close()
	status, err := c.Status(ctx)
	if err == nil && status.Controller.Stopping {
		a.Messagef("process %d is stopping the city; gc start waits for that, then starts it again", status.Controller.PID)
		err = a.awaitStopped(ctx, c, a.endOf(status.Controller))
	}
	if err != nil {
		status, err = a.awaitHolder(ctx, c, err)
	}
	wasRunning := err == nil
	switch {
	case wasRunning:
		a.Messagef("the controller is running already: process %d, started %s", status.Controller.PID, textfmt.Ago(a.Now(), status.Controller.StartedAt))
	case errors.Is(err, client.ErrNoController):
		if status, err = a.launch(ctx, root, c); err != nil {
			return err
		}
		a.Messagef("the controller is running: process %d", status.Controller.PID)
		if warning, err := a.daemon.Unasked(ctx, root); err == nil && warning != "" {
			a.warn(warning)
		}
		if lines, err := a.daemon.RefusedModes(ctx, root); err == nil {
			for _, line := range lines {
				a.warn(line)
			}
		}
	default:
		return err
	}
	for _, notice := range status.Controller.Notices {
		a.warn(notice)
	}
	var refused error
	retried := map[string]client.Agent{}
	if wasRunning {
		refused = a.refusedConfiguration(ctx, root, status.Plan.Error, "still running with the previous configuration")
		if retried, err = a.startFailed(ctx, c, status); err != nil {
			return err
		}
	}
	if flags.noWait {
		return cmp.Or(a.PrintIfJSON(cmdenv.Rows[cmdenv.Awaited]("agents", nil)), refused)
	}
	err = a.AwaitAgents(ctx, c, func(agent client.Agent) cmdenv.Verdict {
		if was, ok := retried[agent.Name]; ok {
			return a.judgeRestart(was, agent)
		}
		return cmdenv.Wanted(agent)
	})
	if err != nil {
		a.comparePATH(ctx, c)
	}
	return cmp.Or(err, refused)
}

// warn prints a warning.
func (a *app) warn(text string) {
	a.Messagef("%s %s", a.PaintMessage(textfmt.Yellow, "warning:"), textfmt.OneLine(text))
}

// notInPATH matches the reason of an agent that failed because the controller did not find its
// command. The group is the command.
var notInPATH = regexp.MustCompile(`command "([^"]+)" not found in PATH of the controller`)

// comparePATH prints the commands that are in PATH of this shell but not in that of the controller, and
// how to give the controller this PATH.
func (a *app) comparePATH(ctx context.Context, c *client.Client) {
	status, err := c.Status(ctx)
	if err != nil {
		return // the error of the start is reported instead
	}
	printed := map[string]bool{}
	for _, agent := range status.Agents {
		missing := notInPATH.FindStringSubmatch(agent.Reason)
		if missing == nil || printed[missing[1]] {
			continue
		}
		printed[missing[1]] = true
		if here, err := exec.LookPath(missing[1]); err == nil {
			a.Messagef("gc: this shell finds %s; to restart the controller with the PATH of this shell: gc controller stop && gc start", textfmt.OneLine(here))
		}
	}
}

// holderPatience is how long gc start waits for a controller that has locked the city and does not
// answer. A controller whose socket was removed notices that within 5 s and exits.
const holderPatience = 20 * time.Second

// awaitHolder waits while a controller has locked the city and does not answer, because it is starting
// or stopping, or its socket was removed. err is the error of the last request. awaitHolder returns the
// status when a controller answers, else the error of the last request or, after [holderPatience], one
// that matches [client.ErrTimeout].
func (a *app) awaitHolder(ctx context.Context, c *client.Client, err error) (status client.Status, _ error) {
	printed := false
	for end := time.Now().Add(holderPatience); ; {
		no, ok := errors.AsType[*client.NoControllerError](err)
		switch {
		case !ok || no.Holder == 0:
			return status, err
		case time.Now().After(end), ctx.Err() != nil:
			return status, fmt.Errorf("%w: the controller (process %d) has locked the city and does not answer; stop it with: kill %d; then run: gc start; agents keep running", client.ErrTimeout, no.Holder, no.Holder)
		case !printed && time.Until(end) < holderPatience-time.Second:
			a.Messagef("waiting for the controller (process %d): it is starting or stopping, or its socket was removed", no.Holder)
			printed = true
		}
		retry.Sleep(ctx, probePauseMax)
		status, err = c.Status(ctx)
	}
}

// refusedConfiguration prints the mistakes that make a controller refuse the current city.toml,
// and the consequence. reason is the controller's own reason; empty if it has not refused city.toml.
// The error sets the exit status; it is nil if there are no mistakes and no reason.
func (a *app) refusedConfiguration(ctx context.Context, root, reason, consequence string) error {
	faults, err := a.daemon.CheckConfig(ctx, root)
	if err != nil {
		return err
	}
	faults = slices.DeleteFunc(faults, func(f client.ConfigFault) bool { return f.Alone || f.Warning })
	switch {
	case len(faults) > 0:
		a.printFaults(faults)
		a.Messagef("gc: %s has errors at %d:%d; %s", client.CityFile, faults[0].Line, faults[0].Column, consequence)
	case reason != "":
		a.Messagef("gc: the controller refused %s: %s; %s", client.CityFile, textfmt.OneLine(reason), consequence)
	default:
		return nil
	}
	return cmdenv.SilentExit(cmdenv.Failed)
}

// startFailed makes the controller start the agents that have failed, without waiting for their
// back-off. It returns these agents, by name, as they were before.
func (a *app) startFailed(ctx context.Context, c *client.Client, status client.Status) (map[string]client.Agent, error) {
	failed := map[string]client.Agent{}
	var names []string
	for _, agent := range status.Agents {
		if agent.Desired != client.StateRunning {
			continue
		}
		switch agent.State {
		case client.StateFailed, client.StateQuarantined, client.StateLost:
			names = append(names, agent.Name)
			failed[agent.Name] = agent
		}
	}
	if len(names) == 0 {
		return failed, nil
	}
	a.Messagef("starting again: %s", textfmt.List(names))
	if _, err := c.StartFailed(ctx, names...); err != nil && !errors.Is(err, client.ErrRefused) && !errors.Is(err, client.ErrUnavailable) {
		return nil, err
	}
	return failed, nil
}

// awaitStopped waits until a controller that is stopping its city has exited. It returns an error
// that matches [client.ErrNoController] then, or [client.ErrTimeout] when ctx ends. A controller
// that could not stop all agents keeps running; awaitStopped makes it exit, so that the next
// controller takes over the rest.
func (a *app) awaitStopped(ctx context.Context, c *client.Client, ended func() bool) error {
	for asked := false; ; {
		status, err := c.Status(ctx)
		if errors.Is(err, client.ErrNoController) && ended() {
			return err
		}
		if err == nil && status.Controller.Stuck && !asked {
			a.Messagef("some agents could not be stopped, see: gc explain; the next controller takes them over")
			if _, err := c.StopController(ctx); err != nil && !errors.Is(err, client.ErrNoController) {
				return err
			}
			asked = true
		}
		if !retry.Sleep(ctx, probePauseMax) {
			return fmt.Errorf("%w: the city is still being stopped; see: gc status", client.ErrTimeout)
		}
	}
}

// launch starts the controller as a separate process and waits until it
// answers. If the controller exits or does not answer, the error quotes its log.
func (a *app) launch(ctx context.Context, root string, c *client.Client) (client.Status, error) {
	var none client.Status
	if err := a.checkBeforeStart(ctx, root); err != nil {
		return none, err
	}
	dir := filepath.Join(root, ".gc", "log")
	if err := os.MkdirAll(dir, logFolderMode); err != nil {
		return none, fmt.Errorf("cannot create the directory for logs: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, "controller.log"), os.O_RDWR|os.O_CREATE|os.O_APPEND, logFileMode)
	if err != nil {
		return none, fmt.Errorf("cannot open the controller's log: %w", err)
	}
	defer log.Close()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return none, fmt.Errorf("cannot open the controller's log: %w", err)
	}
	if agent := a.Getenv("GC_AGENT"); agent != "" && a.Getenv("GC_INSTANCE_TOKEN") != "" {
		a.Messagef("gc: this command runs inside agent %s, so the controller stops when that agent's session stops; to avoid that, run gc start outside of an agent", textfmt.OneLine(agent))
	}
	ended, err := a.detach(root, log)
	if err != nil {
		return none, err
	}
	return a.awaitSocket(ctx, c, ended, func() string { return tail(log, before) })
}

// detach starts this program again as the controller, in a process session of its own, so
// that it keeps running when this terminal is closed. The channel receives the exit status of
// its process when it exits.
func (a *app) detach(root string, log *os.File) (<-chan string, error) {
	cmd := exec.Command(a.executable, "controller", "run", "--retry", "--city", root) //nolint:noctx // it keeps running after this process
	cmd.Dir = root
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the controller: %w", err)
	}
	ended := make(chan string, 1)
	go func() { // ends with the controller, or with this process
		_ = cmd.Wait() // the state says the same
		ended <- cmd.ProcessState.String()
	}()
	return ended, nil
}

// awaitSocket waits until the controller answers. It is an error if the controller exits first or ctx
// ends. said returns the controller's log for that error.
func (a *app) awaitSocket(ctx context.Context, c *client.Client, ended <-chan string, said func() string) (client.Status, error) {
	for delay := retry.New(probePause, probePauseMax); ; {
		status, err := c.Status(ctx)
		if err == nil || !errors.Is(err, client.ErrNoController) {
			return status, err
		}
		select {
		case <-ctx.Done():
			return status, fmt.Errorf("%w: the controller does not answer; its log:\n%s", client.ErrTimeout, said())
		case exit := <-ended:
			return status, fmt.Errorf("the controller exited at once (%s); its log:\n%s", exit, said())
		case <-time.After(delay.Next()):
		}
	}
}

// tail returns the text that was written to a file after an offset: at most its last [logTail] bytes.
func tail(file *os.File, since int64) string {
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	since = max(since, info.Size()-logTail)
	buffer := make([]byte, info.Size()-since)
	n, err := file.ReadAt(buffer, since)
	if err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	text := cmp.Or(string(buffer[:n]), "(empty; to find problems: gc doctor)")
	if dir := filepath.Dir(file.Name()); isFull(dir) && !strings.Contains(text, "--without-controller") { // there was no space for that text
		text = fmt.Sprintf("%s: the disk is full; free some space, then: gc start (agents keep running meanwhile); to stop all agents before that: gc stop --without-controller", dir)
	}
	return textfmt.Indent(text, quoteIndent)
}

// isFull reports whether a small file in dir cannot be written because the disk is full.
func isFull(dir string) bool {
	file, err := os.CreateTemp(dir, ".probe")
	if err == nil {
		_, err = file.Write(make([]byte, probeSize))
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// checkBeforeStart prints the mistakes in city.toml before the controller starts, because the controller
// itself has no terminal. If a mistake affects more than one agent, it returns an error.
func (a *app) checkBeforeStart(ctx context.Context, root string) error {
	faults, err := a.daemon.CheckConfig(ctx, root)
	if err != nil {
		return err
	}
	if len(faults) == 0 {
		return nil
	}
	a.printFaults(faults)
	if !slices.ContainsFunc(faults, func(f client.ConfigFault) bool { return !f.Alone && !f.Warning }) {
		return nil // the other agents can run
	}
	a.Messagef("gc: nothing was started")
	return cmdenv.SilentExit(cmdenv.Failed)
}
