package web_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gascity/internal/citydir"
)

const (
	// nobody is the user of the process that has no device.
	nobody = 65534
	// askedVariable, in the environment, makes TestAsAnotherUser send the requests on standard input.
	askedVariable = "GC_TEST_WEB_OTHER_USER"
	// resultMark begins the line with the results on standard output.
	resultMark = "results of the other user: "
)

// otherUser is what another user of this machine tries, and with what result.
type otherUser struct {
	Base     string
	Requests []otherRequest
	Files    []string // of the city
	Sockets  []string

	UID    int      // of the process
	Opened []string // files and sockets that could be opened
}

// otherRequest is one request.
type otherRequest struct {
	Method, Path, Body, Cookie, Key string

	Status int
	Text   string
}

// TestAsAnotherUser is the process of [TestAnotherLocalUserGetsNothing].
func TestAsAnotherUser(t *testing.T) {
	if os.Getenv(askedVariable) == "" {
		t.Skip("TestAnotherLocalUserGetsNothing runs it")
	}
	var o otherUser
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		t.Fatal(err)
	}
	o.UID = os.Getuid()
	b := &browser{t: t, base: o.Base, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: deadline}}
	for i := range o.Requests {
		r := &o.Requests[i]
		b.cookie, b.key = r.Cookie, r.Key
		res := b.request(r.Method, r.Path, r.Body)
		text, err := io.ReadAll(io.LimitReader(res.Body, 4096))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		r.Status, r.Text = res.StatusCode, string(text)
	}
	for _, path := range o.Files {
		if f, err := os.Open(path); err == nil {
			_ = f.Close()
			o.Opened = append(o.Opened, path)
		} else if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range o.Sockets {
		if c, err := net.Dial("unix", path); err == nil { //nolint:noctx // it answers at once
			_ = c.Close()
			o.Opened = append(o.Opened, path)
		} else if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", path, err)
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(resultMark + string(text))
}

// runAsNobody runs this test program as another user.
func runAsNobody(t *testing.T, o otherUser) otherUser {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "gcw-") //nolint:usetesting // another user must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "web.test")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err == nil {
		err = errors.Join(os.WriteFile(program, text, 0o600), os.Chmod(program, 0o755), os.Chmod(dir, 0o755)) //nolint:gosec // another user runs it
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestAsAnotherUser$", "-test.timeout=60s")
	cmd.Dir, cmd.Env, cmd.Stdin = "/", []string{askedVariable + "=1", "TMPDIR=/tmp"}, strings.NewReader(string(in))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the process of the other user: %v\n%s", err, out)
	}
	_, results, found := strings.Cut(string(out), resultMark)
	results, _, _ = strings.Cut(results, "\n")
	var done otherUser
	if err := json.Unmarshal([]byte(results), &done); err != nil || !found {
		t.Fatalf("the process of the other user prints no results: %v\n%s", err, out)
	}
	return done
}

// Another user of this machine reaches the port of the web console. Without a device, no route answers and nothing changes; a guessed
// code, cookie and key are refused. The files and sockets with which a device could be made are closed to that user.
func TestAnotherLocalUserGetsNothing(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run a process as another user")
	}
	city, own := quietCity(t)
	for dir := city.Root; dir != "/tmp"; dir = filepath.Dir(dir) { // as a city in a home directory that others can read
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // see above
			t.Fatal(err)
		}
	}
	state := filepath.Join(city.Root, citydir.StateFolder)
	if err := os.WriteFile(filepath.Join(state, "web-link.html"), nil, 0o600); err != nil { // as gc web does
		t.Fatal(err)
	}
	o := otherUser{Base: own.base, Files: []string{filepath.Join(state, "web.json"), filepath.Join(state, "web-link.html"), filepath.Join(state, "city.db")}}
	err := filepath.WalkDir(filepath.Dir(city.Root), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type() == fs.ModeSocket {
			o.Sockets = append(o.Sockets, path)
		}
		return err
	})
	if err != nil || len(o.Sockets) == 0 {
		t.Fatalf("the sockets of the city are %v, %v", o.Sockets, err)
	}
	guess := strings.Repeat("A", len(own.key))
	name, _, _ := strings.Cut(own.cookie, "=")
	for _, row := range consoleTargets() {
		body := ""
		if row.maxBody > 0 {
			body = "{}"
		}
		if row.scope != "" {
			o.Requests = append(o.Requests, otherRequest{Method: row.method, Path: row.path, Body: body})
		}
	}
	o.Requests = append(
		o.Requests,
		otherRequest{Method: http.MethodPost, Path: "/auth/sign-in", Body: `{"code":"AAAAAAAAAAAAAAAAAAAAAAAAAA","device":"x"}`},
		otherRequest{Method: http.MethodGet, Path: "/api/v1/status", Cookie: name + "=" + guess, Key: guess},
		otherRequest{Method: http.MethodGet, Path: "/api/v1/status", Cookie: own.cookie, Key: guess},
		otherRequest{Method: http.MethodGet, Path: "/api/v1/status", Key: own.key},
	)
	before := stateOf(t, city)
	done := runAsNobody(t, o)
	if after := stateOf(t, city); after != before {
		t.Errorf("the state was\n%s\nand is\n%s", before, after)
	}
	if done.UID != nobody || len(done.Requests) < 40 {
		t.Fatalf("user %d has sent %d requests", done.UID, len(done.Requests))
	}
	for _, r := range done.Requests {
		if r.Status != http.StatusUnauthorized || strings.Contains(r.Text, `worker"`) {
			t.Errorf("%s %s of another user answers %d: %.200s", r.Method, r.Path, r.Status, r.Text)
		}
	}
	if len(done.Opened) > 0 {
		t.Errorf("another user can open %v", done.Opened)
	}
	// The port is not closed to that user: a device that the owner gives away works, as through a proxy that runs as another user.
	shared := runAsNobody(t, otherUser{Base: own.base, Requests: []otherRequest{
		{Method: http.MethodGet, Path: "/auth/me", Cookie: own.cookie, Key: own.key}, {Method: http.MethodGet, Path: "/"},
	}})
	if !slices.Equal([]int{shared.Requests[0].Status, shared.Requests[1].Status}, []int{http.StatusOK, http.StatusOK}) || strings.Contains(shared.Requests[1].Text, `worker"`) {
		t.Errorf("a device of another user gets %+v", shared.Requests)
	}
}
