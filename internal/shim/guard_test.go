package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gascity/internal/statedir"
)

// routes are all that a shim answers, with a body that would do something.
var routes = []struct{ method, path, body string }{
	{"GET", "/state", ""},
	{"GET", "/frame?after=0", ""},
	{"GET", "/text?lines=0", ""},
	{"GET", "/events", ""},
	{"POST", "/input", "x"},
	{"POST", "/keys", `["Enter"]`},
	{"POST", "/resize", `{"Cols":90,"Rows":30}`},
	{"POST", "/interrupt", ""},
	{"POST", "/stop", `{}`},
	{"POST", "/release", ""},
	{"POST", "/succeed", `{"Argv":["/bin/true"]}`},
	{"POST", "/clear", ""},
	{"GET", "/journal?id=x", ""},
	{"POST", "/begin?lease=1", `{"ID":"x"}`},
	{"POST", "/settle?lease=1", `{"ID":"x"}`},
	{"POST", "/input?lease=1&kind=enter", "x"},
	{"POST", "/hold", ""},
	{"PUT", "/hold?lease=1", ""},
	{"DELETE", "/hold?lease=1", ""},
	{"POST", "/lease", ""},
	{"PUT", "/agent", `{}`},
	{"GET", "/meta?key=k", ""},
	{"PUT", "/meta?key=k", `{"Value":"v"}`},
	{"DELETE", "/meta?key=k", ""},
	{"POST", "/attach", `{"cols":80,"rows":24}`},
	{"GET", "/nothing", ""},
}

func request(t *testing.T, c *Client, method, path, body, token string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://shim"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestWrongTokenOnEveryRoute(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("guarded", "cat"))
	for _, r := range routes {
		for _, token := range []string{"", "Bearer", "Bearer ", "Bearer token-of-guarde", "Bearer token-of-guardedx", "token-of-guarded", "bearer token-of-guarded"} {
			if status, _ := request(t, c, r.method, r.path, r.body, token); status != http.StatusConflict {
				t.Errorf("%s %s with %q: %d, want 409", r.method, r.path, token, status)
			}
		}
	}
	if s, err := c.State(t.Context()); err != nil || s.Exit != nil || s.Cols != DefaultCols {
		t.Errorf("afterwards the session is %+v, %v", s, err)
	}
}

// Requests that make no sense are refused and do nothing.
func TestSenselessRequests(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("sense", "cat"))
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/frame", ""},
		{"GET", "/frame?after=-1", ""},
		{"GET", "/text?lines=x", ""},
		{"POST", "/keys", "x"},
		{"POST", "/keys", `["Nonsense"]`},
		{"POST", "/resize", `{"Cols":0,"Rows":0}`},
		{"POST", "/resize", `{"Cols":70000,"Rows":50}`},
		{"POST", "/stop", ""},
		{"POST", "/stop", "x"},
		{"POST", "/succeed", "x"},
		{"POST", "/succeed", "{}"},
		{"PUT", "/agent", "x"},
		{"PUT", "/meta?key=a/b", `{"Value":"v"}`},
		{"POST", "/begin", `{"ID":"x"}`},
		{"POST", "/begin?lease=x", `{"ID":"x"}`},
		{"POST", "/begin?lease=1", `{}`},
		{"POST", "/begin?lease=1", "x"},
		{"POST", "/settle?lease=x", `{"ID":"x"}`},
		{"POST", "/input?lease=x", "x"},
		{"PUT", "/hold", ""},
		{"POST", "/attach", "x"},
		{"POST", "/attach", `{"cols":0,"rows":0}`},
	} {
		status, answer := request(t, c, r.method, r.path, r.body, "Bearer token-of-sense")
		if status != http.StatusBadRequest || strings.Contains(answer, "%!") {
			t.Errorf("%s %s %s: %d %s; want 400", r.method, r.path, r.body, status, answer)
		}
	}
	if err := c.Send(t.Context(), make([]byte, maxInput+1)); err == nil {
		t.Error("an input above the limit was taken")
	}
	if s, err := c.State(t.Context()); err != nil || s.Exit != nil || s.Cols != DefaultCols || s.Rows != DefaultRows {
		t.Errorf("afterwards the session is %+v, %v", s, err)
	}
}

// Another user reaches neither the folder nor, past it, the socket.
func TestOtherUserIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	const nobody = 65534
	f := testFleet(t)
	c := start(t, f, spec("mine", "cat"))
	dir := statedir.For(f.opts.Dir, "mine")
	for _, path := range []string{string(dir), dir.Lock(), dir.Sock(), dir.Instance(), dir.Record(), dir.Input()} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v; want nothing for others", path, info.Mode(), err)
		}
	}
	exe := filepath.Join(t.TempDir(), "other")
	if err := copyFile(os.Args[0], exe); err != nil {
		t.Fatal(err)
	}
	for p := exe; p != "/"; p = filepath.Dir(p) {
		if p != "/tmp" {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func() string {
		cmd := exec.CommandContext(t.Context(), exe, "caller", string(dir))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := run(); !strings.Contains(got, "permission denied") {
		t.Errorf("another user at a private folder: %s", got)
	}
	for _, path := range []string{f.opts.Dir, string(dir), dir.Sock()} { // as if somebody had opened them
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if got := run(); strings.Count(got, strconv.Itoa(http.StatusForbidden)) != len(routes) {
		t.Errorf("another user at an open socket: %s; want 403 on all %d routes", got, len(routes))
	}
	for _, path := range []string{f.opts.Dir, string(dir)} {
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.State(t.Context()); err != nil {
		t.Error(err)
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

// caller tries every route as its own user, with the right token, and prints the
// answers.
func caller(dir string) {
	c := newClient("mine", statedir.Folder(dir), "token-of-mine")
	for _, r := range routes {
		resp, err := c.request(testContext{}, r.method, r.path, strings.NewReader(r.body))
		if err == nil {
			resp.Body.Close()
			fmt.Println("let in to", r.path)
			continue
		}
		fmt.Println(err)
	}
	c.http.CloseIdleConnections()
}

// A folder that others may enter, or whose sockets would have too long a path, is
// refused with the remedy.
func TestUnsuitableFleetFolders(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o750); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	for dir, want := range map[string]string{open: "chmod 700", long: "too long"} {
		if f, err := OpenFleet(FleetOptions{Dir: dir, Command: []string{"x"}}); err == nil {
			f.Close()
			t.Errorf("%s is accepted", dir)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
	}
}

// A socket that a killed shim left is no session, and hinders none.
func TestStaleSocket(t *testing.T) {
	f := testFleet(t)
	dir := statedir.For(f.opts.Dir, "stale")
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := listen(dir.Sock())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), os.WriteFile(dir.Instance(), []byte("old"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if s, err := f.Observe(t.Context(), "stale"); err != nil || s.Client != nil || s.Record != nil || s.Busy {
		t.Errorf("a stale socket is %+v, %v", s, err)
	}
	start(t, f, spec("stale", "cat"))
}

// Names that differ only in case are different sessions.
func TestNamesDifferInCase(t *testing.T) {
	f := testFleet(t)
	for _, name := range []string{"Agent", "agent", "AGENT"} {
		c := start(t, f, spec(name, "echo I am "+name+"; cat"))
		frameWith(t, c, "I am "+name)
	}
	states, err := f.Running(context.WithoutCancel(t.Context()))
	if err != nil || len(states) != 3 {
		t.Errorf("%d sessions run, %v; want three", len(states), err)
	}
}
