package fakeagent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity/internal/fakeagent/ledger"
)

const (
	helperCommand = "helper" // subcommand of helper processes: KIND LIFE
	stageKey      = "FAKEAGENT_STAGE"
	renamedKey    = "FAKEAGENT_RENAMED"
	reportFD      = 3 // file descriptor on which a stage reports to the previous one
)

// become renames and forks this process as the flags say. It returns the exit code of a process that is not the agent itself,
// or -1 if this process must run the agent.
func become(m *modes) (int, error) {
	stage := os.Getenv(stageKey)
	if m.doubleFork && stage != "real" {
		if stage == "middle" {
			_, err := startStage("real", os.NewFile(reportFD, "report"))
			return 0, err
		}
		return standInFront()
	}
	if m.rename != "" {
		if os.Getenv(renamedKey) == "" {
			return 1, rename(m.rename)
		}
		if err := setProcessName(m.rename); err != nil {
			return 1, err
		}
	}
	if stage == "real" {
		syscall.CloseOnExec(reportFD)
		m.report = os.NewFile(reportFD, "report")
	}
	return -1, errors.Join(os.Unsetenv(stageKey), os.Unsetenv(renamedKey))
}

// rename runs the same program under another name in the same process.
func rename(name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, append([]string{name}, os.Args[1:]...), append(os.Environ(), renamedKey+"=1"))
}

// startStage starts this program again with the same arguments.
func startStage(stage string, report *os.File) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, os.Args[1:]...) //nolint:noctx // it must continue when this process exits
	cmd.Env = append(os.Environ(), stageKey+"="+stage)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{report}
	return cmd, cmd.Start()
}

// standInFront starts the real agent as an orphan and waits until the agent exits. The agent writes a line to the pipe when it runs and its exit code when it exits. If there is no code, it was killed.
func standInFront() (int, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 1, err
	}
	middle, err := startStage("middle", w)
	if err != nil {
		return 1, err
	}
	if err := w.Close(); err != nil {
		return 1, err
	}
	report := bufio.NewReader(r)
	_, startErr := report.ReadString('\n')
	if err := errors.Join(middle.Wait(), startErr); err != nil {
		return 1, fmt.Errorf("the agent did not start: %w", err)
	}
	text, err := io.ReadAll(report)
	if err != nil {
		return 1, err
	}
	if len(text) == 0 {
		return 128 + int(syscall.SIGKILL), nil
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// spawn starts a helper that ignores SIGTERM, SIGHUP and SIGINT and keeps standard output open: "child" in this session,
// "setsid" in its own session, "daemon" forked twice.
func (a *agent) spawn(kind string) {
	pid, err := startHelper(kind, a.m.maxLife)
	if err != nil {
		a.stderr = fmt.Sprintf("cannot spawn %q: %v", kind, err)
		a.leave(1, "spawn "+kind)
		return
	}
	a.ledger.write(ledger.Record{Kind: ledger.Spawn, Reason: kind, PIDs: []int{pid}})
}

// startHelper starts a helper process and returns its pid after it has begun to ignore signals.
func startHelper(kind string, life time.Duration) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, helperCommand, kind, life.String()) //nolint:noctx // it must continue when this process exits
	cmd.Stdout = os.Stdout
	switch kind {
	case "child":
	case "setsid", "daemon":
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	default:
		return 0, errors.New("want child, setsid or daemon")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{w}
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return 0, err
	}
	go func() { _ = cmd.Wait() }() // reaps the helper; its exit status is not needed
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the helper did not start: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(line))
}

// runHelper runs a helper process. It reports its pid after it has begun to ignore signals.
func runHelper(args []string) int {
	if len(args) != 2 {
		return 2
	}
	life, err := time.ParseDuration(args[1])
	if err != nil {
		return 2
	}
	if args[0] == "daemon" {
		pid, err := startHelper("setsid", life)
		if err != nil {
			return 1
		}
		return reportPID(pid)
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if code := reportPID(os.Getpid()); code != 0 {
		return code
	}
	<-time.After(life)
	return 0
}

// reportPID writes a pid to the starter of this helper. It returns the exit code.
func reportPID(pid int) int {
	report := os.NewFile(reportFD, "report")
	defer report.Close()
	if _, err := fmt.Fprintln(report, pid); err != nil {
		return 1
	}
	return 0
}
