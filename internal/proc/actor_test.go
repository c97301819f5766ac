package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is its own helper: with helperEnv set it becomes one of the roles.
const helperEnv = "GC_PROC_TEST_HELPER"

const waitLimit = 30 * time.Second

func TestMain(m *testing.M) {
	role := os.Getenv(helperEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	time.AfterFunc(2*time.Minute, func() { os.Exit(99) }) // never outlive a failed test for long
	os.Exit(play(role))
}

// play runs a helper: "ROLE[,ROLE...]". The last role decides how it lives on.
func play(roles string) int {
	for role := range strings.SplitSeq(roles, ",") {
		name, arg, _ := strings.Cut(role, "=")
		switch name {
		case "subreaper": // must be the first role
			rest := strings.TrimPrefix(roles, "subreaper,")
			panic(ExecSubreaper([]string{"/proc/self/exe"}, slices.Concat([]string{helperEnv + "=" + rest}, os.Environ())))
		case "deaf":
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		case "comm":
			if err := os.WriteFile("/proc/self/comm", []byte(arg), 0); err != nil {
				return 3
			}
		case "child": // a child in this session
			spawn("deaf,sleep", nil)
		case "setsid":
			spawn("deaf,sleep", &syscall.SysProcAttr{Setsid: true})
		case "daemon": // forked twice: without a parent
			cmd := command("setsid,exit", &syscall.SysProcAttr{Setsid: true})
			cmd.Stdout = os.Stdout
			if cmd.Run() != nil {
				return 3
			}
		case "orphan": // without a parent, but in this session
			cmd := command("child,exit", nil)
			cmd.Stdout = os.Stdout
			if cmd.Run() != nil {
				return 3
			}
		case "forker": // keeps making processes which escape the tree
			for range 40 {
				spawn("setsid,exit", &syscall.SysProcAttr{Setsid: true})
				<-time.After(time.Millisecond)
			}
		case "exit":
			return 0
		case "sleep":
			fmt.Println("ready", os.Getpid())
			select {}
		}
	}
	return 4
}

func command(roles string, attr *syscall.SysProcAttr) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperEnv+"="+roles)
	cmd.SysProcAttr = attr
	return cmd
}

// spawn starts a helper that shares the standard output and is not waited for.
func spawn(roles string, attr *syscall.SysProcAttr) {
	cmd := command(roles, attr)
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// helper is a started helper process and what it printed.
type helper struct {
	cmd   *exec.Cmd
	lines chan string
}

// start runs a helper in its own session and ends it, but not what it started, after the test.
func start(t *testing.T, roles string, env ...string) *helper {
	t.Helper()
	cmd := command(roles, &syscall.SysProcAttr{Setsid: true})
	cmd.Env = append(cmd.Env, env...)
	out, in := io.Pipe()
	cmd.Stdout = in
	cmd.WaitDelay = time.Millisecond
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &helper{cmd: cmd, lines: make(chan string, 1000)}
	go func() {
		for scan := bufio.NewScanner(out); scan.Scan(); {
			h.lines <- scan.Text()
		}
		close(h.lines)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		in.Close()
	})
	return h
}

// ready waits until n processes have said that they run, and returns their identities.
func (h *helper) ready(t *testing.T, n int) []ID {
	t.Helper()
	var ids []ID
	deadline := time.After(waitLimit)
	for len(ids) < n {
		select {
		case line, ok := <-h.lines:
			var pid int
			if _, err := fmt.Sscanf(line, "ready %d", &pid); !ok || err != nil {
				t.Fatalf("helper said %q after %d of %d processes", line, len(ids), n)
			}
			info, err := Stat(pid)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = Signal(info.ID, syscall.SIGKILL) }) // it may have ended
			ids = append(ids, info.ID)
		case <-deadline:
			t.Fatalf("%d of %d helper processes ready", len(ids), n)
		}
	}
	return ids
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(waitLimit); !condition(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not so after %s", what, waitLimit)
		}
	}
}
