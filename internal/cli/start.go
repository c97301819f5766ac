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
	"gascity/internal/cli/agentcmd"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/textfmt"
)

const (
	logFolderMode = 0o700
	logFileMode   = 0o600

	// probePause is the first pause between two looks for the control socket;
	// it doubles up to probePauseMax.
	probePause    = 5 * time.Millisecond
	probePauseMax = 100 * time.Millisecond

	// logTail is how much of its log a controller that failed is quoted with.
	logTail = 4 << 10

	// quoteIndent is how far a quotation is moved to the right.
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
		Long: `Starts the controller in the background, waits until every agent runs or has failed, and reports
each. If the controller runs already, only the agents are waited for. Agents that have failed or are
quarantined are started again at once. An agent that cannot run soon is reported with the reason and
not waited for, for example when a limit of the model provider has to end first. Exit status 1: an agent
failed. The controller's own messages are in .gc/log/controller.log.

With names it starts these agents again: after gc stop AGENT, asleep, failed or quarantined. A name may
be a pattern such as 'web-*'. The controller must be running.

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
					return cmdenv.Usage(cmd, "--foreground runs the controller: leave out %q", args[0])
				}
				if flags.noWait {
					flags.timeout = 0
				}
				return agentcmd.Start(cmd.Context(), &a.Renderer, args, flags.timeout)
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

// cityArgument reports whether the argument of gc start is the city's directory, and uses it then:
// it has a slash, or is a directory with a city.toml. Such a name that is an agent's too is refused.
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
		return false, cmdenv.Usage(cmd, "%q is a city's directory: leave out %q", name, args[1])
	case a.City != "":
		return false, cmdenv.Usage(cmd, "give the city's directory once: as an argument or with --city")
	}
	a.City = name
	return true, nil
}

// isAgent reports whether an agent of the present city has the name. Without a controller it is
// false.
func (a *app) isAgent(ctx context.Context, name string) bool {
	found := false
	_ = a.OnCity(func(c *client.Client) error {
		status, err := c.Status(ctx)
		found = err == nil && slices.ContainsFunc(status.Agents, func(agent client.Agent) bool { return cmdenv.Named(agent, []string{name}) })
		return err
	})
	return found
}

func (a *app) start(parent context.Context, root string, flags startFlags) error {
	ctx, cancel := context.WithTimeout(parent, flags.timeout)
	defer cancel()
	c := a.ClientOf(root)
	defer c.Close()
	status, err := c.Status(ctx)
	if err == nil && status.Controller.Stopping {
		a.Messagef("the city is being stopped by process %d; it starts again after that", status.Controller.PID)
		err = a.awaitEnd(ctx, c, a.endOf(status.Controller))
	}
	if err != nil {
		status, err = a.awaitHolder(ctx, c, err)
	}
	ran := err == nil
	switch {
	case ran:
		a.Messagef("the controller runs already: process %d, started %s", status.Controller.PID, textfmt.Ago(a.Now(), status.Controller.StartedAt))
	case errors.Is(err, client.ErrNoController):
		if status, err = a.launch(ctx, root, c); err != nil {
			return err
		}
		a.Messagef("the controller runs: process %d", status.Controller.PID)
		if daemon, err := a.daemon(); err == nil {
			if words, err := daemon.Unasked(ctx, root); err == nil && words != "" {
				a.Messagef("%s %s", a.PaintMessage(textfmt.Yellow, "warning:"), textfmt.OneLine(words))
			}
			if lines, err := daemon.RefusedModes(ctx, root); err == nil {
				for _, line := range lines {
					a.Messagef("%s %s", a.PaintMessage(textfmt.Yellow, "warning:"), textfmt.OneLine(line))
				}
			}
		}
	default:
		return err
	}
	for _, notice := range status.Controller.Notices {
		a.Messagef("%s %s", a.PaintMessage(textfmt.Yellow, "warning:"), textfmt.OneLine(notice))
	}
	var refused error
	again := map[string]client.Agent{}
	if ran {
		refused = a.refusedConfiguration(ctx, root, status.Plan.Error, "still running with the previous configuration")
		if again, err = a.startFailed(ctx, c, status); err != nil {
			return err
		}
	}
	if flags.noWait {
		return cmp.Or(a.PrintAwaited(nil), refused)
	}
	err = a.AwaitAgents(ctx, c, func(agent client.Agent) cmdenv.Verdict {
		if was, ok := again[agent.Name]; ok {
			return a.restarted(was, agent)
		}
		return cmdenv.Wanted(agent)
	})
	if err != nil {
		a.comparePATH(ctx, c)
	}
	return cmp.Or(err, refused)
}

// notInPATH finds the command in the reason of an agent that failed because the controller did not
// find it.
var notInPATH = regexp.MustCompile(`command "([^"]+)" not found in PATH of the controller`)

// comparePATH names the programs that this shell finds and the controller does not: to install
// them once more changes nothing.
func (a *app) comparePATH(ctx context.Context, c *client.Client) {
	status, err := c.Status(ctx)
	if err != nil {
		return // the failure that was reported says more
	}
	told := map[string]bool{}
	for _, agent := range status.Agents {
		missing := notInPATH.FindStringSubmatch(agent.Reason)
		if missing == nil || told[missing[1]] {
			continue
		}
		told[missing[1]] = true
		if here, err := exec.LookPath(missing[1]); err == nil {
			a.Messagef("gc: this shell finds %s: give the controller this PATH with: gc controller stop && gc start", textfmt.OneLine(here))
		}
	}
}

// holderPatience is how long gc start waits for a controller that cannot be reached. One whose socket
// was removed notices that within 5 s, and ends.
const holderPatience = 20 * time.Second

// awaitHolder waits until a controller that holds the city and does not answer answers or has ended:
// one that starts or stops, or whose socket was removed. The error is why none answers.
func (a *app) awaitHolder(ctx context.Context, c *client.Client, err error) (status client.Status, _ error) {
	told := false
	for end := time.Now().Add(holderPatience); ; {
		no, ok := errors.AsType[*client.NoControllerError](err)
		switch {
		case !ok || no.Holder == 0:
			return status, err
		case time.Now().After(end), ctx.Err() != nil:
			return status, fmt.Errorf("%w: the controller (process %d) holds the city and does not answer; end it with: kill %d; then run gc start; agents keep running", client.ErrTimeout, no.Holder, no.Holder)
		case !told && end.Sub(time.Now()) < holderPatience-time.Second:
			a.Messagef("waiting for the controller (process %d): it starts or stops, or its socket was removed", no.Holder)
			told = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(probePauseMax):
		}
		status, err = c.Status(ctx)
	}
}

// refusedConfiguration says which mistakes keep a running controller from the present city.toml,
// and what that means. reason is why the controller has refused it; empty: it has not. The error,
// if there are any mistakes, decides the exit status.
func (a *app) refusedConfiguration(ctx context.Context, root, reason, meaning string) error {
	daemon, err := a.daemon()
	if err != nil {
		return err
	}
	faults, err := daemon.CheckConfig(ctx, root)
	if err != nil {
		return err
	}
	faults = slices.DeleteFunc(faults, func(f ConfigFault) bool { return f.Alone || f.Warning })
	switch {
	case len(faults) > 0:
		a.printFaults(faults)
		a.Messagef("gc: %s has errors at %d:%d; %s", client.CityFile, faults[0].Line, faults[0].Column, meaning)
	case reason != "":
		a.Messagef("gc: the controller refused %s: %s; %s", client.CityFile, textfmt.OneLine(reason), meaning)
	default:
		return nil
	}
	return cmdenv.SilentExit(cmdenv.Failed)
}

// startFailed has the controller start what has failed, whatever its back-off says. It returns
// those agents as they were.
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

// awaitEnd waits until a controller that is stopping its city has ended, also its process, which
// is an error matching [client.ErrNoController]. A controller that could not end everything waits
// for another stop request: start sends it one, since the city is wanted again.
func (a *app) awaitEnd(ctx context.Context, c *client.Client, ended func() bool) error {
	for told := false; ; {
		status, err := c.Status(ctx)
		if errors.Is(err, client.ErrNoController) && ended() {
			return err
		}
		if err == nil && status.Controller.Stuck && !told {
			a.Messagef("that stop could not end everything, see gc explain; another controller takes over what is left")
			if _, err := c.StopController(ctx); err != nil && !errors.Is(err, client.ErrNoController) {
				return err
			}
			told = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the city is still being stopped; see: gc status", client.ErrTimeout)
		case <-time.After(probePauseMax):
		}
	}
}

// launch starts the controller as a process of its own and waits until it
// answers.
func (a *app) launch(ctx context.Context, root string, c *client.Client) (client.Status, error) {
	var none client.Status
	if err := a.checkBeforeStart(ctx, root); err != nil {
		return none, err
	}
	dir := filepath.Join(root, ".gc", "log")
	if err := os.MkdirAll(dir, logFolderMode); err != nil {
		return none, fmt.Errorf("cannot make the folder for logs: %w", err)
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
		a.Messagef("gc: the agent %s starts this controller: it will end together with that agent's session", textfmt.OneLine(agent))
	}
	ended, err := a.detach(root, log)
	if err != nil {
		return none, err
	}
	return a.awaitSocket(ctx, c, ended, func() string { return tail(log, before) })
}

// detach runs this program again as the controller, in a session of its own, so
// that the end of this terminal does not reach it. The channel reports its end.
func (a *app) detach(root string, log *os.File) (<-chan error, error) {
	cmd := exec.Command(a.executable, "controller", "run", "--retry", "--city", root) //nolint:noctx // it must outlive us
	cmd.Dir = root
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the controller: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the controller, or with this process
	return ended, nil
}

// awaitSocket asks until the controller answers, has ended, or ctx ends.
func (a *app) awaitSocket(ctx context.Context, c *client.Client, ended <-chan error, said func() string) (client.Status, error) {
	pause := probePause
	for {
		status, err := c.Status(ctx)
		if err == nil || !errors.Is(err, client.ErrNoController) {
			return status, err
		}
		select {
		case <-ctx.Done():
			return status, fmt.Errorf("%w: the controller does not answer; it said:\n%s", client.ErrTimeout, said())
		case err := <-ended:
			return status, fmt.Errorf("the controller ended at once (%v); it said:\n%s", exitText(err), said())
		case <-time.After(pause):
			pause = min(2*pause, probePauseMax)
		}
	}
}

func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// tail returns the end of what a file has got since an offset.
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
	return textfmt.Indent(textfmt.FirstOf(string(buffer[:n]), "(nothing; look with: gc doctor)"), quoteIndent)
}

// checkBeforeStart finds mistakes while there is a terminal to show them on.
func (a *app) checkBeforeStart(ctx context.Context, root string) error {
	daemon, err := a.daemon()
	if err != nil {
		return err
	}
	faults, err := daemon.CheckConfig(ctx, root)
	if err != nil {
		return err
	}
	if len(faults) == 0 {
		return nil
	}
	a.printFaults(faults)
	if !slices.ContainsFunc(faults, func(f ConfigFault) bool { return !f.Alone && !f.Warning }) {
		return nil // the others run, or must be looked after
	}
	a.Messagef("gc: nothing was started")
	return cmdenv.SilentExit(cmdenv.Failed)
}
