package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/cli"
	"gascity/internal/cli/cmdenv"
	"gascity/test/citytest"
	"gascity/worker"
)

// hostile is output that an agent may write. It sets the clipboard and the title, clears the screen and moves
// the cursor, in 7-bit and 8-bit sequences, has incomplete sequences, and reverses the text direction.
const hostile = "HOSTILE\x1b]52;c;QQ==\a\x1b]0;t\x1b\\\x1b[2J\x1b[31mred\u009b2J\u009d0;t\u009c\x1bP\x1b_\r\b\x7f\x00\u202e\u2066\u200b\U000e0041\x1b[38;5;1m\x1b]8;;x"

// hostileDaemon is the product with hostile text in every result that does not come from the controller.
type hostileDaemon struct{ cli.Daemon }

func (hostileDaemon) Doctor(_ context.Context, _ string, report func(client.Finding)) error {
	for _, level := range []string{client.LevelOK, client.LevelWarning, client.LevelProblem} {
		report(client.Finding{Check: hostile, Level: level, Message: hostile, Remedy: hostile})
	}
	return nil
}

func (hostileDaemon) CheckConfig(context.Context, string) ([]client.ConfigFault, error) {
	return []client.ConfigFault{{File: hostile, Line: 1, Column: 1, Message: hostile, Excerpt: hostile, Hint: hostile}}, nil
}

func (hostileDaemon) ShowConfig(context.Context, string) (client.Config, error) {
	return client.Config{Path: hostile, Values: []client.ConfigValue{{Key: hostile, Value: hostile, Origin: hostile}}}, nil
}

func (hostileDaemon) RefusedModes(context.Context, string) ([]string, error) {
	return []string{hostile}, nil
}

func (hostileDaemon) AgentCLIs(context.Context) ([]agentcli.InstalledCLI, error) {
	return []agentcli.InstalledCLI{{Name: hostile, Command: hostile, Version: hostile, Tested: hostile, State: agentcli.CLIFound, Mode: hostile, Modes: []string{hostile}}}, nil
}

func (hostileDaemon) Providers(context.Context) ([]client.Provider, error) {
	return []client.Provider{{Name: hostile, Summary: hostile, Capabilities: []string{hostile}, Extensions: []string{hostile}}}, nil
}

func (hostileDaemon) Prime(_ context.Context, _, _ string, _ worker.ContextMode) ([]worker.Section, error) {
	return []worker.Section{{Type: "role", Content: hostile}}, nil
}

func (hostileDaemon) CheckProvider(_ context.Context, _, _ string, _ []string, report func(cli.CheckResult)) error {
	report(cli.CheckResult{ID: hostile, Sentence: hostile, Result: cli.CheckFail, Detail: hostile})
	return nil
}

// poison appends hostile text to every text of a JSON value, except times and texts that a client needs.
func poison(key string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for k := range v {
			v[k] = poison(k, v[k])
		}
	case []any:
		for i := range v {
			v[i] = poison(key, v[i])
		}
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil || slices.Contains([]string{"type", "code"}, key) {
			return v
		}
		return v + hostile
	}
	return value
}

// poisoned returns JSON, or an event stream, with hostile texts. Another text gets hostile bytes at its end,
// some of them not valid UTF-8.
func poisoned(kind string, body []byte) []byte {
	if strings.Contains(kind, "json") {
		var value any
		if json.Unmarshal(body, &value) != nil {
			return body
		}
		out, err := json.Marshal(poison("", value))
		if err != nil {
			return body
		}
		return out
	}
	return append(body, []byte(hostile+"\x9b2J\x9d0;t\x9c\n")...)
}

// hostileCity has agents in each state that a command shows, and usage.
const hostileCity = `
[daemon]
shutdown_timeout = "50ms"
max_restarts = 1
[[usage.budgets]]
name = "day"
measure = "tokens"
limit = 5
[[agents]]
name = "worker"
start_command = """fake_agent '{"env":"ENV","behaviour":{"print_env":true}}'"""
[[agents]]
name = "asker"
start_command = """fake_agent '{"ask":{"kind":"permission","prompt":"May I?","options":["Yes","No"]}}'"""
[[agents]]
name = "bad"
start_command = """fake_agent '{"behaviour":{"hang":true,"exit_after":1000000,"exit_code":1,"last_words":"no"}}'"""
ready_prompt_prefix = "x"
`

// newHostileCity starts the hostile city.
func newHostileCity(t *testing.T) *citytest.City {
	t.Helper()
	file := filepath.Join(t.TempDir(), "env")
	city := citytest.New(t, strings.Replace(hostileCity, "ENV", file, 1))
	city.AwaitRunning("worker")
	city.Await("asker", func(a client.Agent) bool { return a.Pending > 0 })
	city.Await("bad", func(a client.Agent) bool { return a.State == client.StateQuarantined })
	env, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := report(t.Context(), string(env), 5); err != nil {
		t.Fatal(err)
	}
	return city
}

// serveHostile serves the control API of the city with poisoned responses, at root.
func serveHostile(t *testing.T, city *citytest.City, root string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	web := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", client.SocketPath(city.Root))
	}}}
	if err := os.MkdirAll(filepath.Dir(client.SocketPath(root)), 0o700); err != nil {
		t.Fatal(err)
	}
	front, err := (&net.ListenConfig{}).Listen(ctx, "unix", client.SocketPath(root))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask := r.Clone(r.Context())
		ask.URL.Scheme, ask.URL.Host, ask.RequestURI = "http", r.Host, ""
		answer, err := web.Do(ask)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body) // also of an interrupted response
		for key, values := range answer.Header {
			if key != "Content-Length" {
				w.Header()[key] = values
			}
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(poisoned(answer.Header.Get("Content-Type"), body)) // the command may have exited
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(front) }()
	t.Cleanup(func() {
		_ = server.Close() // closes open connections
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		web.CloseIdleConnections()
	})
}

var (
	colors   = regexp.MustCompile("\x1b\\[(?:0|1|2|31|32|33|36)m")
	headings = regexp.MustCompile(`(?m)^### gc (.*)\n\n.*\n\n    gc (.*)$`) // a command and its synopsis
)

// acts returns the first character of an output that controls a terminal or changes the text direction.
func acts(out string) (rune, bool) {
	if !utf8.ValidString(out) {
		return utf8.RuneError, true
	}
	for _, r := range colors.ReplaceAllString(out, "") {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x200b || r >= 0xe0000 && r <= 0xe0fff {
			return r, true
		}
	}
	return 0, false
}

// TestNoCommandPrintsControlSequences runs every command of the reference against a city
// whose responses have hostile text everywhere, on a terminal and in a pipe, with and without --json. The output
// must not contain a character that controls a terminal. A command that is not listed is run with the name of
// an agent if it accepts one, otherwise without arguments.
func TestNoCommandPrintsControlSequences(t *testing.T) {
	if err := os.Unsetenv("GC_CITY_PATH"); err != nil {
		t.Fatal(err)
	}
	arguments := map[string][]string{
		"apply": nil, "controller status": nil, "events": nil, "pending": nil, "plan": nil, "respond": {"worker", "yes"}, "restart": {"worker", "--no-wait"}, "status": nil,
		"usage": nil, "usage budgets": nil, "usage lift": {"worker"}, "usage prices": nil, "copy": {"worker:x", "out"}, "drain ack": {"worker"}, "drain check": {"worker"}, "explain": {"worker"},
		"interrupt": {"worker"}, "keys": {"worker", "Enter"}, "logs": {"worker"}, "send": {"--all", "--no-wait", "--", "hello"}, "peek": {"--all"}, "drain": {"worker"}, "kill": {"worker"}, "prime": {"worker"}, "queue": nil, "queue cancel": {"p-1"},
		"queue edit": {"p-1", "x"}, "queue list": nil, "queue retry": {"p-1"}, "receipt": {"p-1"}, "session drain": {"worker"}, "session kill": {"worker"}, "session list": {"--all"}, "session request-restart": {"worker"},
		"resume": {"worker"}, "session reset": {"worker"}, "session resume": {"worker"}, "session show": {"worker"}, "session sleep": {"worker"}, "session suspend": {"worker"}, "session wake": {"worker"}, "wait": {"worker", "--for", "idle", "--timeout", "1s"},
		"web": nil, "web stop": nil, "web devices revoke": {"d-1"}, "wait cancel": {"w-1"}, "wait list": nil, "config check": nil, "config schema": nil, "config show": nil, "guard check": {"git push -f"}, "guard list": nil, "guard replay": nil, "guard test": nil, "hook list": nil,
		"agent-cli list": nil, "completion": {"bash"}, "doctor": nil, "provider check": nil, "provider list": nil, "version": nil, "worker openapi": nil, "start": nil, "attach": {"worker"}, "stop": nil, "controller stop": nil,
	}
	others := []string{ // they use a protocol, write files, or run until they are stopped
		"controller run", "init", "acp", "hook install", "hook run", "hook uninstall", "bundle", "destroy", "worker check",
	}
	reference, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	ran, reached := 0, 0
	var city *citytest.City // the commands share it until one stops it
	for _, m := range headings.FindAllStringSubmatch(string(reference), -1) {
		args, listed := arguments[m[1]]
		switch {
		case slices.Contains(others, m[1]):
			continue
		case !listed && strings.Contains(m[2], "AGENT"):
			args = []string{"worker"}
		}
		ran++
		said := false
		if city == nil || stopped(t, city) {
			city = newHostileCity(t)
		}
		for _, terminal := range []bool{true, false} {
			for _, more := range [][]string{nil, {"--json"}} {
				out := runHostile(t, city, terminal, slices.Concat(strings.Fields(m[1]), args, more))
				said = said || strings.Contains(out, "HOSTILE")
				if r, bad := acts(out); bad {
					t.Errorf("gc %s %q, terminal %v, prints %U in %q", m[1], more, terminal, r, out)
				}
			}
		}
		if said {
			reached++
		}
	}
	t.Logf("hostile text reached the output of %d of %d commands", reached, ran)
	if ran < len(arguments) {
		t.Errorf("%d commands were run, and %d are listed here", ran, len(arguments))
	}
	if reached < 25 {
		t.Errorf("hostile text reached the output of %d commands only", reached)
	}
}

// stopped reports whether the controller of the city has stopped, or is about to.
func stopped(t *testing.T, city *citytest.City) bool {
	t.Helper()
	status, err := city.Client.Status(t.Context())
	return err != nil || status.Controller.Stopping
}

// runHostile runs one command in a new city and returns its output.
func runHostile(t *testing.T, city *citytest.City, terminal bool, args []string) string {
	t.Helper()
	root, err := os.MkdirTemp("", "gch") //nolint:usetesting // a socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(root) }() // nothing else is in it
	if err := os.WriteFile(filepath.Join(root, client.CityFile), []byte("[[agents]]\nname = \"worker\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := ""
	t.Run("", func(t *testing.T) {
		serveHostile(t, city, root)
		patience := 20 * time.Second
		if slices.Contains(args, "stop") {
			patience = 300 * time.Millisecond // its socket never closes
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var stdout, stderr bytes.Buffer
		cli.Run(ctx, cli.Env{Args: args, Executable: filepath.Join(root, "none"), Daemon: hostileDaemon{newScriptDaemon()}, Workers: workers{}, Env: cmdenv.Env{
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, Now: time.Now,
			IsTerminal: func(stream any) bool { return terminal && (stream == &stdout || stream == &stderr) },
			Width:      func() int { return 100 }, Height: func() int { return 30 }, Dir: root, Version: "1.0",
		}})
		out = stdout.String() + stderr.String()
	})
	return out
}
