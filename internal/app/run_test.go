package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/domain/plan"
	"gascity/internal/fsutil"
	"gascity/internal/proc"
	"gascity/internal/redact"
	"gascity/worker"
)

const twoAgents = `
[workspace]
name = "town"
[daemon]
shutdown_timeout = "200ms"
tick_debounce = "50ms"
[[agents]]
name = "echo"
start_command = "printf 'ready> '; while IFS= read -r line; do printf 'answer: %s\nready> ' \"$line\"; done"
ready_prompt_prefix = "ready>"
[[agents]]
name = "sleeper"
start_command = "sleep 1000"
`

// TestACityLivesFromStartToStop runs a city from its start to its stop.
func TestACityLivesFromStartToStop(t *testing.T) {
	d, root := newDaemon(t), newCity(t, twoAgents)
	r := runController(t, d, root)
	echo := r.until("echo", "running", isRunning)
	r.until("sleeper", "running", isRunning)

	result, err := r.client.Nudge(t.Context(), "echo", client.NudgeRequest{Text: "hello there", Wait: client.ReceiptSubmitted})
	if err != nil || !result.Ended() {
		t.Fatalf("nudge gives %+v, %v", result, err)
	}
	p, err := d.Provider(t.Context(), root, "pty")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := awaitText(ctx, p, echo.Session, "answer: hello there"); err != nil {
		t.Error(err)
	}

	if err := syscall.Kill(echo.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	back := r.until("echo", "back", func(a client.Agent) bool { return isRunning(a) && a.PID != echo.PID })
	if back.Restarts != 1 || back.Instance == echo.Instance {
		t.Errorf("after kill -9: %+v, want one restart and another instance", back)
	}

	census := r.stopCity()
	if !census.Clean || len(census.Sessions) != 2 || census.Sessions[0].Processes == 0 {
		t.Errorf("census is %+v, want two sessions with their processes, clean", census)
	}
	for _, pid := range []int{back.PID, echo.PID} {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d survived the stop", pid)
		}
	}
	if _, err := os.Stat(client.SocketPath(root)); err == nil {
		t.Error("the control socket survived the stop")
	}
	if dirs, _ := filepath.Glob("/tmp/gc-*/" + citydir.ID(root)); len(dirs) > 0 {
		t.Errorf("the stop left %v", dirs)
	}
}

// TestStopCountsAllProcessesOfASession checks that gc stop counts a server beside the agent's own process.
func TestStopCountsAllProcessesOfASession(t *testing.T) {
	d, root := newDaemon(t), newCity(t, `
[workspace]
name = "town"
[daemon]
shutdown_timeout = "200ms"
[[agents]]
name = "pair"
process_names = ["sleep"]
start_command = "tail -f /dev/null & sleep 1000 & timeout 0.2 tail -f /dev/null; echo started; wait" # gc looks for the agent's process when it is ready
ready_prompt_prefix = "started"
`)
	r := runController(t, d, root)
	r.until("pair", "running with its own process found", func(a client.Agent) bool {
		info, err := proc.Stat(a.PID)
		return isRunning(a) && err == nil && info.Comm == "sleep"
	})
	census := r.stopCity()
	if !census.Clean || len(census.Sessions) != 1 || census.Sessions[0].Processes != 3 {
		t.Errorf("census is %+v, want one session with the shell, the server and the agent, clean", census)
	}
}

// TestAgentsOutliveTheController checks that agents keep running when the controller exits, and
// that the next controller adopts them.
func TestAgentsOutliveTheController(t *testing.T) {
	d, root := newDaemon(t), newCity(t, twoAgents)
	r := runController(t, d, root)
	before := r.until("echo", "running", isRunning)
	sleeper := r.until("sleeper", "running", isRunning)
	r.leave()
	if err := syscall.Kill(before.PID, 0); err != nil {
		t.Fatalf("the agent died with its controller: %v", err)
	}
	// A different environment later must find the same sessions.
	r = runController(t, newDaemon(t, "XDG_RUNTIME_DIR="+t.TempDir(), "EXTRA=1"), root)
	after := r.until("echo", "adopted", isRunning)
	if after.PID != before.PID || after.Instance != before.Instance {
		t.Errorf("before %+v, after %+v; want the same process and instance", before, after)
	}
	if got := r.until("sleeper", "adopted", isRunning); got.PID != sleeper.PID {
		t.Errorf("sleeper was process %d and is %d", sleeper.PID, got.PID)
	}
	r.stopCity()
}

// TestOneControllerForEachCity checks that a second controller of the same city is refused.
func TestOneControllerForEachCity(t *testing.T) {
	d, root := newDaemon(t), newCity(t, "[workspace]\nname = \"town\"\n")
	r := runController(t, d, root)
	err := d.RunController(t.Context(), root, cli.ControllerOptions{})
	if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "process ") {
		t.Errorf("a second controller gets %v, want a refusal that names the process", err)
	}
	r.leave()
}

// TestStartWaitsForTheLockOfAKilledController checks that a start waits for a moment if a
// controller that was just killed still has its lock.
func TestStartWaitsForTheLockOfAKilledController(t *testing.T) {
	root := newCity(t, "[workspace]\nname = \"town\"\n")
	release, err := citydir.Lock(t.Context(), root, 4242)
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan error)
	go func() {
		<-time.After(5 * 20 * time.Millisecond)
		released <- release()
	}()
	again, err := citydir.Lock(t.Context(), root, 4243)
	if err != nil {
		t.Errorf("a lock that is about to be free gives %v", err)
	} else if err := again(); err != nil {
		t.Error(err)
	}
	if err := <-released; err != nil {
		t.Error(err)
	}
}

// TestControllerExitsIfItsDirectoriesAreRemoved checks that a controller whose state directory or
// socket directory was removed exits, and that the agents keep running.
func TestControllerExitsIfItsDirectoriesAreRemoved(t *testing.T) {
	for _, taken := range []string{citydir.StateFolder, citydir.RuntimeFolder} {
		t.Run(taken, func(t *testing.T) {
			d, root := newDaemon(t), newCity(t, twoAgents)
			d.watchEvery = 10 * time.Millisecond
			r := runController(t, d, root)
			echo := r.until("echo", "running", isRunning)
			choice, err := os.ReadFile(filepath.Join(root, citydir.StateFolder, citydir.ChoiceFile))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(root, taken)); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-r.done:
				r.over = true
				if !errors.Is(err, citydir.ErrOwnershipLost) {
					t.Errorf("the controller ended with %v, want that it was ousted", err)
				}
			case <-time.After(patience):
				t.Fatal("a controller without " + taken + " goes on")
			}
			write(t, filepath.Join(root, citydir.StateFolder, citydir.ChoiceFile), string(choice))
			next := runController(t, d, root)
			if again := next.until("echo", "running", isRunning); again.PID != echo.PID {
				t.Errorf("the next controller has process %d, want %d: agents go on", again.PID, echo.PID)
			}
			next.stopCity()
		})
	}
}

// TestAnAgentCanAskAboutItsCity checks that gc works in the environment of an agent, where
// GC_SESSION is the name of the session and not a runtime provider.
func TestAnAgentCanAskAboutItsCity(t *testing.T) {
	root := newCity(t, twoAgents)
	d := newDaemon(t, "GC_SESSION=gc-town-echo", "GC_SESSION_NAME=gc-town-echo", "GC_AGENT=echo")
	if faults, err := d.CheckConfig(t.Context(), root); err != nil || len(faults) > 0 {
		t.Errorf("an agent that checks the configuration gets %+v, %v", faults, err)
	}
	if _, err := d.Prime(t.Context(), root, "echo", worker.FullContext); err != nil {
		t.Errorf("an agent that asks who it is gets %v", err)
	}
	d = newDaemon(t, "GC_SESSION=tmuxx", "GC_SESSION_NAME=gc-town-echo")
	if faults, err := d.CheckConfig(t.Context(), root); err != nil || len(faults) != 1 {
		t.Errorf("a selection of an unknown provider gives %+v, %v, want one fault", faults, err)
	}
}

// TestEditsAreReadAndMistakesAreReported checks that an edit of city.toml is read, and that an edit
// with a mistake is reported and changes nothing.
func TestEditsAreReadAndMistakesAreReported(t *testing.T) {
	d, root := newDaemon(t), newCity(t, twoAgents)
	r := runController(t, d, root)
	echo := r.until("echo", "running", isRunning)
	path := filepath.Join(root, client.CityFile)

	write(t, path, twoAgents+"\n[[agents]]\nname = \"third\"\nnonsense = 1\n")
	r.until("echo", "running under a broken edit", func(a client.Agent) bool {
		status, err := r.client.Status(t.Context())
		return err == nil && strings.Contains(status.Plan.Error, "nonsense") && a.PID == echo.PID
	})
	write(t, path, twoAgents+"\n[[agents]]\nname = \"third\"\nstart_command = \"sleep 1000\"\n")
	r.until("third", "running", isRunning)
	if status, _ := r.client.Status(t.Context()); status.Plan.Error != "" {
		t.Errorf("the corrected edit left the error %q", status.Plan.Error)
	}
	write(t, path, strings.Replace(twoAgents, `name = "sleeper"`, "name = \"sleeper\"\nsuspended = true", 1))
	r.until("sleeper", "suspended", func(a client.Agent) bool { return a.State == client.StateSuspended })
	if got := r.until("echo", "running", isRunning); got.PID != echo.PID {
		t.Errorf("edits of other agents restarted echo")
	}
	r.stopCity()
}

// TestConstantEditsAreRead checks that city.toml is read although it is saved again all the time.
func TestConstantEditsAreRead(t *testing.T) {
	slow := strings.Replace(twoAgents, `tick_debounce = "50ms"`, `tick_debounce = "500ms"`, 1)
	d, root := newDaemon(t), newCity(t, slow)
	r := runController(t, d, root)
	r.until("echo", "running", isRunning)
	edited := slow + "\n[[agents]]\nname = \"third\"\nstart_command = \"sleep 1000\"\n"
	ctx, stop := context.WithCancel(t.Context())
	saved := make(chan struct{})
	go func() {
		defer close(saved)
		again := time.NewTicker(20 * time.Millisecond)
		defer again.Stop()
		for ctx.Err() == nil {
			if err := replaceFile(filepath.Join(root, client.CityFile), edited); err != nil {
				t.Error(err)
				return
			}
			<-again.C
		}
	}()
	r.until("third", "running", isRunning)
	stop()
	<-saved
	r.stopCity()
}

// replaceFile replaces a file by another one, as editors do.
func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// TestAgentsGetAnAllowedEnvironment checks which variables of the controller's environment agents
// get.
func TestAgentsGetAnAllowedEnvironment(t *testing.T) {
	d := newDaemon(t, "ANTHROPIC_API_KEY=sk-1", "GC_SESSION_NAME=outer", "AWS_SECRET_ACCESS_KEY=no", "LC_ALL=C", "TERM=dumb", "OPENAI_API_KEY=sk-2")
	base := strings.Join(d.ProviderConfig("/r", "/d", nil).Env, "\n")
	for _, want := range []string{"PATH=", "HOME=", "LANG=C.UTF-8", "LC_ALL=C", "ANTHROPIC_API_KEY=sk-1", "OPENAI_API_KEY=sk-2"} {
		if !strings.Contains(base, want) {
			t.Errorf("agents do not get %s; they get:\n%s", want, base)
		}
	}
	for _, hidden := range []string{"GC_SESSION_NAME", "AWS_SECRET", "TERM="} {
		if strings.Contains(base, hidden) {
			t.Errorf("agents get %s, which agents must not see", hidden)
		}
	}
}

// TestOtherEnvironmentIsNoDrift checks that a controller that is started from a shell with other
// variables does not restart the agents.
func TestOtherEnvironmentIsNoDrift(t *testing.T) {
	root := newCity(t, twoAgents)
	a, err := newDaemon(t).Load(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newDaemon(t, "LC_ALL=C", "ANTHROPIC_API_KEY=other").Load(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Desired.Sessions {
		if a.Desired.Sessions[i].Core != b.Desired.Sessions[i].Core {
			t.Errorf("%s has another fingerprint in another shell", a.Desired.Sessions[i].Agent)
		}
	}
}

// TestTheLogIsBoundedAndHidesCredentials checks that the log of the controller is rotated and has
// no credentials.
func TestTheLogIsBoundedAndHidesCredentials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "controller.log")
	file, err := fsutil.OpenLog(path, 4<<10)
	if err != nil {
		t.Fatal(err)
	}
	hidden := redact.Writer{Redactor: &redact.Redactor{}, To: file}
	hidden.HideEnvironment([]string{"MY_TOKEN=very-secret-value", "OTHER=plain-value-here"})
	logger := redact.NewLogger(hidden)
	for range 500 {
		logger.Info("a message with very-secret-value in it", "api_key", "also-secret", "other", "plain-value-here")
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(path + "*")
	if err != nil || len(all) != fsutil.KeptLogs+1 {
		t.Errorf("files are %v (%v), want the log and %d old ones", all, err, fsutil.KeptLogs)
	}
	for _, name := range all {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if len(data) > 4<<10 || strings.Contains(text, "very-secret") || strings.Contains(text, "also-secret") || !strings.Contains(text, "plain-value-here") {
			t.Errorf("%s has %d bytes, too much or secret: %.300s", name, len(data), text)
		}
	}
}

// TestTheRuntimeFolderIsChosenOnce checks that a city keeps the directory for its sockets once it
// was chosen.
func TestTheRuntimeFolderIsChosenOnce(t *testing.T) {
	short, err := os.MkdirTemp("/tmp", "xdg-") //nolint:usetesting // socket paths are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) }) // nothing runs there
	root := newCity(t, "")
	first, err := citydir.RuntimeDir(root, short)
	if err != nil || !strings.HasPrefix(first, short) {
		t.Fatalf("chose %s, %v; want a folder in XDG_RUNTIME_DIR", first, err)
	}
	if again, err := citydir.RuntimeDir(root, t.TempDir(), ""); err != nil || again != first {
		t.Errorf("another environment gets %s, %v; want %s", again, err, first)
	}
	if err := os.Chmod(first, 0o755); err != nil {
		t.Fatal(err)
	}
	if dir, err := citydir.RuntimeDir(root, ""); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("a folder that others may enter gives %s, %v; want a refusal", dir, err)
	}
	other := newCity(t, "")
	long, err := citydir.RuntimeDir(other, "/tmp/"+strings.Repeat("x", 90))
	if err != nil || len(long)+citydir.TailLength > client.MaxSocketPath {
		t.Errorf("with a long XDG_RUNTIME_DIR got %s, %v; want a short folder", long, err)
	}
}

// TestTheRuntimeFolderIsNobodyElses checks that a directory of another user, one that others can
// write to, and one with a path that is too long are not used for sockets: the next possible one is
// used, and an error says what to do if there is none.
func TestTheRuntimeFolderIsNobodyElses(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to give a folder to another user")
	}
	bases := make([]string, 3)
	for i := range bases {
		dir, err := os.MkdirTemp("/tmp", "xdg-") //nolint:usetesting // socket paths are short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) }) // nothing runs there
		bases[i] = dir
	}
	foreign, open := filepath.Join(bases[0], "gc"), filepath.Join(bases[1], "gc")
	if err := errors.Join(os.Mkdir(foreign, 0o700), os.Chown(foreign, 12345, 12345), os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	root := newCity(t, "")
	dir, err := citydir.RuntimeDir(root, bases...)
	if err != nil || filepath.Dir(filepath.Dir(dir)) != bases[2] {
		t.Errorf("chose %s, %v; want a folder in %s", dir, err, bases[2])
	}
	for _, path := range []string{foreign, open} {
		if err := citydir.MakePrivate(filepath.Join(path, "x")); !errors.Is(err, client.ErrForbidden) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s is taken: %v", path, err)
		}
	}
}

// TestPrimeReturnsThePromptUnquoted checks that gc prime prints the first prompt as the agent gets
// it.
func TestPrimeReturnsThePromptUnquoted(t *testing.T) {
	root := newCity(t, `
[workspace]
name = "town"
[[agents]]
name = "a"
start_command = "cat"
prompt_mode = "arg"
prompt_template = "p.md"
`)
	write(t, filepath.Join(root, "p.md"), "It's {{.Agent}}'s \"job\".\nTwo lines; $HOME stays.\n")
	sections, err := newDaemon(t).Prime(t.Context(), root, "a", worker.FullContext)
	if text := plan.ContextText(sections); err != nil || !strings.Contains(text, "It's a's \"job\".\nTwo lines; $HOME stays.") {
		t.Errorf("prime gives %q, %v", text, err)
	}
	if _, err := newDaemon(t).Prime(t.Context(), root, "b", worker.FullContext); !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), `did you mean "a"?`) {
		t.Errorf("priming an unknown agent gives %v", err)
	}
}

// TestProvidersAreDescribed checks the list of runtime providers.
func TestProvidersAreDescribed(t *testing.T) {
	rows, err := newDaemon(t).Providers(t.Context())
	if err != nil || len(rows) < 2 || !rows[0].Default || len(rows[0].Extensions) < 5 {
		t.Errorf("got %+v, %v; want the default first, with its extensions", rows, err)
	}
	if _, err := newDaemon(t).Provider(t.Context(), newCity(t, ""), "nope"); !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), rows[0].Name) {
		t.Errorf("an unknown provider gives %v, want not found with the known", err)
	}
}
