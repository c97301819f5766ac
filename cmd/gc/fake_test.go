package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/app"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/internal/domain/agentcontext"
	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/internal/guard/policy"
	"gascity/internal/hookrunner"
	"gascity/internal/server/controlapi"
	"gascity/internal/server/unixhttp"
	"gascity/runtime"
	"gascity/test/fakecity"
	"gascity/worker"
)

// fakeDaemon is an assembly without providers: its controller serves a
// [fakecity.City] that is read from lines of city.toml. Keys of an agent are
// name, state, activity, kind, reason and others; "mistake" makes the configuration faulty,
// "boom" lets the controller die at once and "ending" lets it end after some
// looks at its status.
type fakeDaemon struct{}

var _ cli.Daemon = fakeDaemon{}

func (fakeDaemon) RunController(parent context.Context, root string, opts cli.ControllerOptions) error {
	ctx, end := context.WithTimeout(parent, 2*time.Minute) // no test is left behind longer
	defer end()
	lines, err := readLines(root)
	if err != nil {
		return err
	}
	if boom := lines.first("boom"); boom != "" {
		return errors.New(boom)
	}
	city := &fakecity.City{Root: root, Version: opts.Version, PID: os.Getpid(), Exit: end, Dies: stopFirstController(root)}
	city.Ending, _ = strconv.Atoi(lines.first("ending"))
	if v := lines.first("version"); v != "" {
		city.Version, opts.Version = v, v
	}
	l, err := unixhttp.Listen(ctx, client.SocketPath(root))
	if err != nil {
		return err
	}
	lines.populate(city)
	opts.Ready()
	return controlapi.NewServer(city, controlapi.Options{Version: opts.Version}).Run(ctx, l)
}

// stopFirstController ends the first controller of a city that asks for it; the next one goes
// on.
func stopFirstController(root string) func() {
	mark := filepath.Join(root, "died")
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	return func() {
		if os.WriteFile(mark, nil, 0o600) == nil {
			os.Exit(9)
		}
	}
}

func (fakeDaemon) ServeOutpost(context.Context, string, string) error { return client.ErrUnsupported }

func (fakeDaemon) RunOutpostInit(context.Context, string, string, time.Duration) error { return nil }

func (fakeDaemon) AttachOutpost(context.Context, string, string, string, runtime.AttachOptions) error {
	return client.ErrUnsupported
}

func (fakeDaemon) Shim(_ context.Context, args []string) int {
	fmt.Println("shim", args)
	return len(args)
}

func (fakeDaemon) HostACP(_ context.Context, args []string) int {
	fmt.Println("acp-host", args)
	return len(args)
}

func (fakeDaemon) Process(pid int) (func() bool, error) {
	return app.New(app.Options{}).Process(pid)
}

func (fakeDaemon) Providers(context.Context) ([]client.Provider, error) {
	return []client.Provider{
		{Name: "fake", Summary: "sessions that do not exist", Default: true, Capabilities: []string{"attach"}, Extensions: []string{"Observe"}},
		{Name: "broken", Summary: "fails its checks", Capabilities: []string{}, Extensions: []string{}},
	}, nil
}

func (fakeDaemon) SessionProviders(string) ([]string, error) { return []string{"fake", "broken"}, nil }

func (fakeDaemon) Provider(_ context.Context, _, selection string) (runtime.Provider, error) {
	if selection != "fake" {
		return nil, fmt.Errorf("%w: no provider %q; known are: fake, broken", client.ErrNotFound, selection)
	}
	return fakeProvider{}, nil
}

func (d fakeDaemon) CheckProvider(ctx context.Context, root, selection string, cases []string, report func(cli.CheckResult)) error {
	if selection != "" && selection != "broken" {
		if _, err := d.Provider(ctx, root, selection); err != nil {
			return err
		}
	}
	if len(cases) > 0 && !slices.Contains(cases, "start.*") {
		return fmt.Errorf("%w: the contract has no case %q", client.ErrInvalid, cases)
	}
	report(cli.CheckResult{ID: "start.fresh", Sentence: "a start makes a session", Result: cli.CheckPass, Took: time.Millisecond})
	report(cli.CheckResult{ID: "attach.tty", Sentence: "attach connects a terminal", Result: cli.CheckSkip, Detail: "no terminal here"})
	if selection == "broken" {
		report(cli.CheckResult{ID: "stop.twice", Sentence: "a second stop is no error", Result: cli.CheckFail, Detail: "got: no such session\nwant: nil"})
	}
	return nil
}

func (d fakeDaemon) CheckOperations(ctx context.Context, root, selection string, report func(cli.CheckResult)) error {
	return d.CheckProvider(ctx, root, selection, nil, report)
}

func (fakeDaemon) ServeProvider(context.Context, string, string, []string) int { return 2 }

func (fakeDaemon) StarterConfig(_ context.Context, city string, providers []string) ([]byte, error) {
	if len(providers) > 0 && providers[0] == "nosuch" {
		return nil, fmt.Errorf("%w: there is no agent CLI %q", client.ErrNotFound, providers[0])
	}
	return fmt.Appendf(nil, "[workspace]\nname = %q\n\n[[agents]]\nname = \"worker\"\n", city), nil
}

func (fakeDaemon) AgentCLIs(context.Context) ([]cli.AgentCLI, error) {
	return []cli.AgentCLI{{Name: "one", Command: "one-cli", Version: "1.2.3", Tested: "1.2.3", State: cli.CLIFound, Mode: "ask", Modes: []string{"ask"}}, {Name: "two", Command: "two", State: cli.CLIMissing}}, nil
}

func (fakeDaemon) RefusedModes(context.Context, string) ([]string, error) { return nil, nil }

func (fakeDaemon) Unasked(_ context.Context, root string) (string, error) {
	lines, err := readLines(root)
	if err != nil {
		return "", err
	}
	return lines.first("unasked"), nil
}

func (fakeDaemon) IgnoreState(root string) (string, error) {
	return app.New(app.Options{}).IgnoreState(root)
}

func (fakeDaemon) ShowConfig(_ context.Context, root string) (client.Config, error) {
	return client.Config{Path: filepath.Join(root, client.CityFile), Values: []client.ConfigValue{
		{Key: "workspace.name", Value: `"x"`, Origin: "city.toml:2"},
		{Key: "session.provider", Value: `"fake"`, Origin: "default"},
		{Key: "agents.worker.provider", Value: `"claude"`, Origin: "city.toml:5"},
	}}, nil
}

func (fakeDaemon) CheckConfig(_ context.Context, root string) ([]cli.ConfigFault, error) {
	lines, err := readLines(root)
	if err != nil {
		return nil, err
	}
	var faults []cli.ConfigFault
	for _, l := range lines {
		if l.key == "hollow" {
			faults = append(faults, cli.ConfigFault{File: client.CityFile, Line: l.number, Column: 1, Message: "hollow has no effect", Warning: true})
		}
		if l.key == "mistake" {
			faults = append(faults, cli.ConfigFault{
				File: client.CityFile, Line: l.number, Column: 1, Message: "unknown key mistake",
				Excerpt: l.text + "\n^^^^^^^", Hint: "did you mean name?",
			})
		}
	}
	return faults, nil
}

func (fakeDaemon) ConfigSchema() ([]byte, error) {
	return []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema"}`), nil
}

func (fakeDaemon) Prime(_ context.Context, root, agent string, mode worker.ContextMode) ([]worker.Section, error) {
	lines, err := readLines(root)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		if l.key == "name" && l.value == agent {
			return agentcontext.Parts{Agent: agent, Role: "You are " + agent + ".\n"}.Sections(mode), nil
		}
	}
	return nil, fmt.Errorf("%w: no agent %q", client.ErrNotFound, agent)
}

func (fakeDaemon) Doctor(_ context.Context, root string, report func(cli.Finding)) error {
	report(cli.Finding{Check: "machine", Level: cli.LevelOK, Message: "linux"})
	if root == "" {
		return nil
	}
	lines, err := readLines(root)
	if err != nil {
		return err
	}
	report(cli.Finding{Check: "log", Level: cli.LevelWarning, Message: "the log is large", Remedy: "rm .gc/log/*"})
	if lines.first("mistake") != "" {
		report(cli.Finding{Check: "config", Level: cli.LevelProblem, Message: "unknown key mistake", Remedy: "gc config check"})
	}
	return nil
}

func (fakeDaemon) Bundle(_ context.Context, root string, to io.Writer) (cli.Bundled, error) {
	if _, err := os.Stat(filepath.Join(root, "full")); err == nil {
		return cli.Bundled{}, errors.New("no space left on device")
	}
	_, err := io.WriteString(to, "all that is known\n")
	return cli.Bundled{Pages: []string{"about.json"}, Missing: []cli.Missing{{Name: "status.json", Error: "no controller"}}}, err
}

func (fakeDaemon) AskCLIs(_ context.Context, _ string, report func(cli.Finding)) error {
	report(cli.Finding{Check: "answer.mock", Level: cli.LevelOK, Message: "it answered"})
	return nil
}

// fakeProvider can be attached to, and nothing else.
type fakeProvider struct{ runtime.Provider }

// ListRunning finds one session in a city that was left running.
func (fakeProvider) ListRunning(string) ([]string, error) { return []string{"gc-city-worker"}, nil }

func (fakeProvider) Attach(name string) error {
	if strings.HasSuffix(name, "-mute") {
		return runtime.ErrAttachUnsupported
	}
	fmt.Println("attached to", name)
	return nil
}

// line is one "key = value" of a city.toml.
type line struct {
	number           int
	text, key, value string
}

type cityLines []line

func readLines(root string) (cityLines, error) {
	file, err := os.Open(filepath.Join(root, client.CityFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var lines cityLines
	input := bufio.NewScanner(file)
	for number := 1; input.Scan(); number++ {
		key, value, _ := strings.Cut(input.Text(), "=")
		lines = append(lines, line{number, input.Text(), strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"`)})
	}
	return lines, input.Err()
}

func (ls cityLines) first(key string) string {
	for _, l := range ls {
		if l.key == key {
			return l.value
		}
	}
	return ""
}

// populate makes the agents: each is seen to start, then has its state.
func (ls cityLines) populate(city *fakecity.City) {
	agent, inAgent := "", false
	for _, l := range ls {
		if strings.HasPrefix(l.key, "[") {
			agent, inAgent = "", l.key == "[[agents]]"
		}
		if !inAgent {
			continue
		}
		set := func(change func(*client.Session)) { city.Set(agent, change) }
		switch l.key {
		case "name":
			agent = l.value
			city.Add(agent, client.StateStarting)
			set(func(s *client.Session) { s.State = client.StateRunning })
		case "state":
			set(func(s *client.Session) { s.State = l.value })
		case "desired":
			set(func(s *client.Session) { s.Desired = l.value })
		case "activity":
			set(func(s *client.Session) { s.Activity.State = l.value })
		case "reason":
			set(func(s *client.Session) { s.Reason = l.value })
		case "says": // what a program printed, with line ends
			set(func(s *client.Session) { s.Reason = strings.ReplaceAll(l.value, `\n`, "\n") })
		case "again":
			again, _ := time.ParseDuration(l.value)
			set(func(s *client.Session) { s.NextAt = time.Now().Add(again) })
		case "provider":
			set(func(s *client.Session) { s.Provider = l.value })
		case "kind":
			set(func(s *client.Session) { s.Activity.Kind = l.value })
		case "confidence":
			set(func(s *client.Session) { s.Activity.Confidence = l.value })
		case "warning":
			set(func(s *client.Session) { s.Warning = l.value })
		case "exit":
			set(func(s *client.Session) { s.Exit, s.PID = l.value, 0 })
		case "token":
			set(func(s *client.Session) { s.Instance = session.PublicInstance(l.value) })
		case "spent": // tokens of unknown cost
			n, _ := strconv.ParseInt(l.value, 10, 64)
			sum := client.UsageSum{Group: agent, Responses: 1, Turns: 1, Tokens: client.UsageTokens{Input: &n, Output: &n}, Unpriced: 1}
			city.SetUsage(client.Usage{Prices: "2026-03-01", Groups: []client.UsageSum{sum}, Total: sum},
				client.Budget{Name: "day", Scope: "agent", Who: agent, Measure: "tokens", Used: float64(2 * n), Limit: float64(n), Act: "hold", Over: true})
		case "degraded":
			city.Degrade(l.value)
		case "broken":
			city.Break(l.value)
		}
	}
}

// Guard reads the rules as the assembly does.
func (fakeDaemon) Guard(_ context.Context, root string, more []string) (cli.Guarding, error) {
	city, err := config.Load(context.Background(), filepath.Join(root, client.CityFile), config.Catalog{RuleSets: guard.Shipped()})
	if err != nil {
		return cli.Guarding{}, err
	}
	src := policy.Source{City: city, Read: os.ReadFile}
	for i := range city.Agents {
		src.Agents = append(src.Agents, guard.Request{Agent: city.Agents[i].Name, Role: city.Agents[i].Name, Dir: root})
	}
	rules, err := policy.Compile(src)
	if err != nil {
		return cli.Guarding{}, err
	}
	out := cli.Guarding{Policy: rules.Policy(), On: rules.Guarded() || len(more) > 0, AskTimeout: rules.AskTimeout(), Agent: func(name string) (guard.Request, error) {
		req, known := rules.Request(name)
		if !known {
			return req, fmt.Errorf("%w: no agent is called %q; %s", client.ErrNotFound, name, config.Suggest(name, slices.Values(rules.Agents())))
		}
		return req, nil
	}}
	out.Policy, err = rules.With(more, os.ReadFile)
	if errors.Is(err, policy.ErrNoSet) {
		err = fmt.Errorf("%w: %w", client.ErrNotFound, err)
	}
	return out, err
}

func (fakeDaemon) InstallHooks(name, dir string) (string, error) {
	return hookrunner.InstallManually(name, "/opt/it's gc", dir)
}

func (fakeDaemon) UninstallHooks(name, dir string) error {
	return hookrunner.UninstallManually(name, dir)
}

// GuardCalls reads a file of calls.
func (fakeDaemon) GuardCalls(_ context.Context, root string, since time.Time) ([]guard.Call, error) {
	file, err := os.Open(filepath.Join(root, ".gc", "log", "guard.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return policy.ReadCalls(file, since)
}

// Remains finds the state folder, and what is called so in city.toml.
func (fakeDaemon) Remains(_ context.Context, root string) (client.Remains, error) {
	lines, err := readLines(root)
	if err != nil {
		return client.Remains{}, err
	}
	r := client.Remains{City: root, Folders: []client.Folder{}, Places: []string{}, Processes: []client.Process{}}
	for _, name := range []string{".gc", ".runtime"} {
		if path := filepath.Join(root, name); lines.first("empty") == "" && exists(path) {
			r.Folders = append(r.Folders, client.Folder{Path: path, Files: 3, Bytes: 4 << 20})
			r.History = 3 << 20
		}
	}
	if what := lines.first("foreign"); what != "" {
		r.Foreign = append(r.Foreign, client.Obstacle{What: what, Why: "it is a symbolic link"})
	}
	return r, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Uninstall removes the folders, unless city.toml says what stays.
func (d fakeDaemon) Uninstall(_ context.Context, root string, req client.UninstallRequest) (client.Uninstalled, error) {
	lines, err := readLines(root)
	if err != nil {
		return client.Uninstalled{}, err
	}
	if who := lines.first("held"); who != "" {
		return client.Uninstalled{}, fmt.Errorf("%w: the city has a controller already (process %s)", client.ErrRefused, who)
	}
	out := client.Uninstalled{Stopped: []string{}, Removed: []string{}, Left: []client.Obstacle{}, Clean: true}
	if what := lines.first("left"); what != "" {
		out.Left, out.Clean = append(out.Left, client.Obstacle{What: what, Why: "it cannot be reached"}), false
		if !req.LeaveUnreachable {
			return out, nil
		}
	}
	for _, name := range []string{".gc", ".runtime"} {
		path := filepath.Join(root, name)
		if err := os.RemoveAll(path); err != nil {
			return out, err
		}
		out.Removed = append(out.Removed, path)
	}
	return out, nil
}
