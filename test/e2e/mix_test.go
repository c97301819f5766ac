package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// piped are the flags of a fake agent that runs everywhere, also without a
// terminal, and pipedToml what its entry says.
const (
	piped     = "--plain --framed"
	pipedToml = "ready_prompt_prefix = \"fakeagent ready\"\nenv = { GC_STDIN = \"framed\" }\n"
)

// places returns the runtime providers that work on this machine, as values of the key session.
func (c *city) places(t *testing.T) []string {
	t.Helper()
	var listed struct{ Providers []client.Provider }
	if err := json.Unmarshal([]byte(c.run(t, "provider", "list", "--json")), &listed); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, row := range listed.Providers {
		switch {
		case row.Name == "auto", row.Name == "hybrid":
		case row.Name == "k8s": // needs a cluster: test/cluster
		case row.Problem != "":
			t.Logf("%s is left out: %s", row.Name, row.Problem)
		case row.Name == "exec:<script>":
			out = append(out, c.screenScript(t)...)
		case !strings.ContainsAny(row.Name, "<["):
			out = append(out, row.Name)
		}
	}
	return out
}

// screenScript copies the session script of GNU screen into the city, if screen works here.
func (c *city) screenScript(t *testing.T) []string {
	t.Helper()
	const tool = "screen"
	if _, err := exec.LookPath(tool); err != nil {
		if slices.Contains(strings.Split(os.Getenv("GC_TEST_REQUIRE"), ","), tool) {
			t.Fatal(err)
		}
		t.Logf("the session script of %s is left out: %v", tool, err)
		return nil
	}
	for from, to := range map[string]string{"gc-session-screen": "session-screen", "gc-session-common.sh": "gc-session-common.sh"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "contrib", "session-scripts", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.root, to), text, 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	return []string{"exec:./session-screen"}
}

// addPiped adds an agent that runs everywhere to city.toml.
func (c *city) addPiped(name, session string) { c.add(name, session, piped, pipedToml) }

// addFor adds an agent that can be prompted where it runs.
func (c *city) addFor(name, session string) {
	switch session {
	case "subprocess":
		c.addPiped(name, session)
		return
	case "acp":
		c.add(name, session, "--acp", "")
		return
	}
	c.add(name, session, "", "ready_prompt_prefix = \"❯\"\n")
}

func (c *city) add(name, session, flags, toml string) {
	c.t.Helper()
	path := filepath.Join(c.root, client.CityFile)
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	own := ""
	if session != "" {
		own = fmt.Sprintf("session = %q\n", session)
	}
	c.write(string(text) + fmt.Sprintf("[[agents]]\nname = %q\nstart_command = \"exec %s %s --ledger %s\"\n%s%s",
		name, c.agent, flags, c.ledgerOf(name), toml, own))
}

// waitPlaced waits until each agent runs once at its provider, and returns the processes by agent.
func (c *city) waitPlaced(want map[string]string) map[string]int {
	c.t.Helper()
	c.await(fmt.Sprintf("running at %v", want), func(s client.Status) bool {
		for name, provider := range want {
			if a := agentIn(s, name); a.State != client.StateRunning || a.Provider != provider {
				c.applyNow()
				return false
			}
		}
		return true
	})
	out := map[string]int{}
	for name := range want {
		alive := processes(c.ledgerOf(name))
		if len(alive) != 1 {
			c.t.Errorf("%s runs in the processes %v, want one", name, alive)
			continue
		}
		out[name] = alive[0]
	}
	return out
}

// applyNow applies what waits for agents of unknown activity.
func (c *city) applyNow() {
	_, _ = c.client.Apply(c.t.Context()) // a caller that waits for the outcome sees a failure
}

// promptOnce prompts an agent and waits until its ledger has the prompt, once: not every
// provider can report that it arrived.
func (c *city) promptOnce(t *testing.T, name, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := c.client.Nudge(ctx, name, client.NudgeRequest{Text: text})
	if err != nil {
		t.Errorf("%s is not prompted: %v", name, err)
		return
	}
	for ctx.Err() == nil {
		if prompts := ledger.Prompts(c.records(t, name)); len(prompts) == 1 && prompts[0].Text == text {
			return
		}
		pause(50 * time.Millisecond)
	}
	r, err = c.client.Receipt(t.Context(), r.ID, "")
	t.Errorf("%s never got its prompt; the receipt is %+v, %v", name, r, err)
}

// once checks that no two instances of an agent ran at the same time.
func (c *city) once(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if dup := hasOverlap(c.records(t, name)); dup != "" {
			t.Errorf("%s: %s", name, dup)
		}
	}
}

// TestCityWithAllProviders runs an agent at every available provider, and two at missing ones. Each agent is
// observed, prompted, killed and adopted, and all are stopped with the city. The two have a reason, and delay no
// other agent.
func TestCityWithAllProviders(t *testing.T) {
	c := newCityOf(t, "[session]\nprovider = \"auto\"\n", nil)
	where := map[string]string{"plain": "pty"} // where auto sends agents without a configured place
	c.addFor("plain", "")
	for i, place := range c.places(t) {
		where[fmt.Sprintf("at%d", i)] = place
		c.addFor(fmt.Sprintf("at%d", i), place)
	}
	if len(where) < 3 {
		t.Fatalf("there are only the places %v", where)
	}
	t.Logf("places: %v", where)
	c.addPiped("typo", "ptty")
	c.addPiped("talker", "warp")
	c.start()
	before := c.waitPlaced(where)
	for name, words := range map[string]string{"typo": `there is no runtime provider "ptty"`, "talker": `there is no runtime provider "warp"`} {
		c.await(name+" with the reason why it cannot start", func(s client.Status) bool {
			a := agentIn(s, name)
			return a.State != client.StateRunning && strings.Contains(a.Reason, words)
		})
	}
	for name := range where {
		c.promptOnce(t, name, "hello "+name)
	}
	c.kill()
	c.unwatched()
	c.start()
	after := c.waitPlaced(where)
	for name, pid := range before {
		if after[name] != pid {
			t.Errorf("%s at %s was process %d and is %d after a restart of the controller", name, where[name], pid, after[name])
		}
		if r, err := c.client.Kill(t.Context(), name, client.LifecycleRequest{}); err != nil || len(r.Survivors) > 0 {
			t.Errorf("cannot kill %s at %s: %+v, %v", name, where[name], r, err)
		}
	}
	c.await("running again", func(client.Status) bool {
		for name, pid := range after {
			if alive := processes(c.ledgerOf(name)); len(alive) != 1 || alive[0] == pid {
				return false
			}
		}
		return true
	})
	c.waitPlaced(where)
	census := c.stop()
	c.unwatched()
	if !census.Clean {
		t.Errorf("the census of the end is %+v", census)
	}
	for name := range where {
		if alive := processes(c.ledgerOf(name)); len(alive) > 0 {
			t.Errorf("%s at %s lives on as %v", name, where[name], alive)
		}
		if !slices.ContainsFunc(census.Sessions, func(r client.StopResult) bool { return r.Agent == name }) {
			t.Errorf("%s is not in the census %+v", name, census)
		}
	}
	c.once(t, slices.Sorted(maps.Keys(where))...)
}

// unwatched waits until the watching scripts of a previous controller have exited.
func (c *city) unwatched() {
	c.t.Helper()
	var left []string
	for end := time.Now().Add(waitLimit); ; pause(50 * time.Millisecond) {
		left = nil
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			c.t.Fatal(err)
		}
		for _, file := range files {
			line, err := os.ReadFile(file)
			if err != nil {
				continue // it has just ended
			}
			words := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
			if n := len(words); n > 1 && words[n-1] == "watch" && strings.HasPrefix(words[n-2], c.root) {
				left = append(left, file+" "+strings.Join(words, " "))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("these outlive the controller that they watched for: %q", left)
		}
	}
}

// TestAgentMovesBetweenProviders moves an agent through all providers by changes of its key session,
// one of them while no controller runs. It is stopped at the old provider before it starts at the new one, and
// the other agent is not restarted.
func TestAgentMovesBetweenProviders(t *testing.T) {
	c := newCityOf(t, "", nil)
	c.addPiped("stays", "")
	c.addPiped("moves", "pty")
	places := slices.DeleteFunc(c.places(t), func(place string) bool { return place == "acp" }) // who moves there has to speak it
	c.start()
	neighbour := c.waitPlaced(map[string]string{"stays": "pty", "moves": "pty"})["stays"]
	at := "pty"
	for i, next := range append(slices.Clone(places[1:]), "pty") {
		if i == 1 { // the controller is away during this edit
			c.kill()
			text, err := os.ReadFile(filepath.Join(c.root, client.CityFile))
			if err != nil {
				t.Fatal(err)
			}
			c.write(strings.Replace(string(text), fmt.Sprintf("session = %q", at), fmt.Sprintf("session = %q", next), 1))
			c.start()
		} else {
			c.edit(fmt.Sprintf("session = %q", at), fmt.Sprintf("session = %q", next))
		}
		now := c.waitPlaced(map[string]string{"stays": "pty", "moves": next})
		if now["stays"] != neighbour {
			t.Errorf("the neighbour was restarted when the other moved from %s to %s", at, next)
		}
		at = next
	}
	if starts := len(ledger.Of(c.records(t, "moves"), ledger.Start)); starts != len(places)+1 {
		t.Errorf("it was started %d times, want once at each of %v and once more", starts, places)
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("the census of the end is %+v", census)
	}
	c.once(t, "stays", "moves")
	if left := processes(c.ledgerOf("moves")); len(left) > 0 {
		t.Errorf("it lives on as %v", left)
	}
}

// TestSessionsAreRoutedByName routes by GC_SESSION=hybrid and changes the pattern:
// only agents with a changed route move, and are stopped at the old provider first, also across a restart of
// the controller.
func TestSessionsAreRoutedByName(t *testing.T) {
	c := newCityOf(t, "[session]\nremote_match = \"far\"\n[session.hybrid]\nremote = \"subprocess\"\n", nil)
	c.env = []string{"GC_SESSION=hybrid"}
	for _, name := range []string{"near", "far", "home"} {
		c.addPiped(name, "")
	}
	c.start()
	first := c.waitPlaced(map[string]string{"near": "pty", "far": "subprocess", "home": "pty"})
	c.kill()
	c.start()
	routes := map[string]string{"near": "pty", "far": "subprocess", "home": "pty"}
	for name, pid := range c.waitPlaced(routes) {
		if first[name] != pid {
			t.Errorf("%s was routed otherwise after a restart: process %d, then %d", name, first[name], pid)
		}
	}
	c.edit("remote_match = \"far\"", "remote_match = \"near\"")
	second := c.waitPlaced(map[string]string{"near": "subprocess", "far": "pty", "home": "pty"})
	if second["home"] != first["home"] {
		t.Error("an agent was restarted whose route did not change")
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("the census of the end is %+v", census)
	}
	c.once(t, "near", "far", "home")
}

// TestMissingToolIsReported runs a city on a machine that lacks the tool of one
// provider, with an agent there and one at an unknown provider. The list, the doctor and the status name the
// tool and the fix, the check of the configuration names the mistake, and the third agent works normally.
func TestMissingToolIsReported(t *testing.T) {
	c := newCityOf(t, "", nil)
	c.addPiped("typo", "ptty")
	c.addPiped("toolless", "tmux")
	c.addPiped("plain", "")
	bin := filepath.Join(c.root, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"sh", "env"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	c.env = []string{"PATH=" + bin}
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for _, command := range []struct {
		words []string
		fails bool
		says  []string
	}{
		{words: []string{"provider", "list"}, says: []string{"hybrid", "auto", "tmux is not in PATH", "install tmux", "pty"}},
		{words: []string{"config", "check"}, fails: true, says: []string{`did you mean "pty"?`, `session = "ptty"`}},
		{words: []string{"doctor"}, fails: true, says: []string{
			"provider.ptty", `there is no runtime provider "ptty"`, "used by typo",
			"provider.tmux", "tmux is not in PATH", "used by toolless", "install tmux",
		}},
	} {
		out, err := c.runGC(ctx, command.words...)
		for _, words := range command.says {
			if (err != nil) != command.fails || !strings.Contains(out, words) {
				t.Errorf("gc %v (%v) does not say %q:\n%s", command.words, err, words, out)
			}
		}
	}
	c.start()
	c.waitPlaced(map[string]string{"plain": "pty"})
	for name, words := range map[string]string{"typo": `there is no runtime provider "ptty"`, "toolless": "install tmux"} {
		c.await(name+" with the reason why it cannot start", func(s client.Status) bool {
			return strings.Contains(agentIn(s, name).Reason, words)
		})
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("the census of the end is %+v", census)
	}
}

// runGC runs a command of gc and returns what it says and how it ended.
func (c *city) runGC(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.gc, append(args, "--city", c.root)...)
	cmd.Env = append(append(os.Environ(), "COLUMNS=500", "NO_COLOR=1"), c.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
