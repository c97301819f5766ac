package e2e

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// updatePrevious makes testdata/previous again; scripts/previous-city sets it.
var updatePrevious = flag.Bool("update-previous", false, "make testdata/previous again with the gc of the commit in testdata/previous/COMMIT")

// previousDir holds a city that the previous version of gc has made: its database as SQL text,
// its city.toml, the ledgers of its agents, and what the commands of that gc printed about it.
const previousDir = "testdata/previous"

// previousProgram builds the gc of the commit in testdata/previous/COMMIT, once for each test
// process.
var previousProgram = sync.OnceValues(func() (string, error) {
	commit, err := os.ReadFile(filepath.Join(previousDir, "COMMIT"))
	if err != nil {
		return "", err
	}
	if _, err := program(); err != nil { // it makes the directory of the programs
		return "", err
	}
	source := filepath.Join(programDir, "previous")
	if err := checkOut(strings.TrimSpace(string(commit)), source); err != nil {
		return "", err
	}
	path := filepath.Join(programDir, "gc-previous")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "./cmd/gc")
	cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build of commit %s: %w\n%s", commit, err, out)
	}
	return path, os.RemoveAll(source)
})

// errNoHistory reports sources that cannot have the commit: they are a shallow clone, or no clone. errNoCommit
// reports a clone with another history. Neither names a tool, so such a skip is no failure under GC_TEST_REQUIRE.
var (
	errNoHistory = errors.New("the sources have no history")
	errNoCommit  = errors.New("the history does not have the commit")
)

// checkOut writes the files of a commit to dir.
func checkOut(commit, dir string) error {
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join("..", "..")
		return cmd.Output()
	}
	for _, tool := range []string{"git", "tmux"} {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	if shallow, err := run("rev-parse", "--is-shallow-repository"); err != nil {
		return fmt.Errorf("%w: they are no clone", errNoHistory)
	} else if _, err := run("cat-file", "-e", commit+"^{commit}"); err != nil {
		if strings.TrimSpace(string(shallow)) == "true" {
			return fmt.Errorf("%w: they are a shallow clone without the commit %s", errNoHistory, commit)
		}
		return fmt.Errorf("%w %s", errNoCommit, commit)
	}
	archive, err := run("archive", "--format=tar", commit, "--", "go.mod", "go.sum", "client", "cmd", "examples", "internal", "provider", "runtime", "worker", "test", "docs", "contrib")
	if err != nil {
		return fmt.Errorf("git archive %s: %w", commit, err)
	}
	return unpack(archive, dir)
}

// unpack writes the files of a tar archive below dir.
func unpack(archive []byte, dir string) error {
	for files := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		switch {
		case !filepath.IsLocal(h.Name):
			return fmt.Errorf("the archive has a file %q", h.Name)
		case h.Typeflag == tar.TypeDir:
			err = os.MkdirAll(path, 0o700)
		case h.Typeflag == tar.TypeReg:
			var content []byte
			if content, err = io.ReadAll(files); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600))
			}
		}
		if err != nil {
			return err
		}
	}
}

// previousGC returns the path of the previous gc. It skips the test where the sources cannot give it.
func previousGC(t *testing.T) string {
	t.Helper()
	path, err := previousProgram()
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, errNoHistory), errors.Is(err, errNoCommit):
		t.Skip(err.Error())
	case err != nil:
		t.Fatal(err)
	}
	return path
}

// newPreviousCity makes the city that both tests use, and starts nothing.
func newPreviousCity(t *testing.T) *city {
	t.Helper()
	c := newCityOf(t, "max_restarts = 2\npatrol_interval = \"1s\"\n", []member{
		{name: "term", talks: true},
		{name: "held", toml: "session = \"pty\""},
		{name: "tired", toml: "session = \"pty\""},
	})
	path := filepath.Join(c.root, client.CityFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	more := "[[agents]]\nname = \"broken\"\nstart_command = \"echo the licence is gone >&2; exit 3\"\n" +
		fmt.Sprintf("[[agents]]\nname = \"work\"\nsession = \"subprocess\"\nprompt_mode = \"worker\"\nstart_command = \"exec %s --worker --ledger %s\"\n", c.agent, c.ledgerOf("work")) +
		"[[usage.budgets]]\nname = \"all\"\nscope = \"city\"\nmeasure = \"tokens\"\nlimit = 1000000\nwindow = \"24h\"\n"
	if err := os.WriteFile(path, append(text, more...), 0o600); err != nil {
		t.Fatal(err)
	}
	c.addPiped("pipe", "subprocess")
	c.addFor("pane", "tmux")
	return c
}

// asking are the agents of newPreviousCity whose prompts wait behind a question.
var asking = []string{"term", "work", "pane"}

// live brings the running city into the state that the next controller takes over: prompts with every outcome, answered and open questions, prompts behind the open ones, usage, a wait, and
// sessions that run, are held, sleep and are quarantined.
func (c *city) live(t *testing.T) {
	t.Helper()
	calm := func(s client.Status) bool {
		for _, a := range s.Agents {
			if a.Name == "broken" && a.State != client.StateQuarantined || a.Name != "broken" && (a.State != client.StateRunning || a.PID == 0) {
				return false
			}
		}
		return len(s.Agents) > 0
	}
	c.await("running, one in quarantine", calm)
	c.run(t, "session", "suspend", "held", "--reason", "until Monday", "--wait")
	c.run(t, "session", "sleep", "tired", "--reason", "nothing to do", "--wait")
	for _, agent := range asking {
		c.run(t, "send", agent, "first of "+agent, "--wait", "consumed")
		c.run(t, "send", agent, "[[ask:May "+agent+" go on?|Yes|No]]", "--no-wait")
		id := c.waitQuestion(agent)
		c.run(t, "respond", id, "Yes")
		c.await(agent+" without a question", func(client.Status) bool {
			open, err := c.client.Pending(t.Context(), agent, client.OnlyOpen)
			return err == nil && len(open) == 0
		})
		c.run(t, "send", agent, "[[ask:Which branch, "+agent+"?|main|next]]", "--no-wait")
		c.waitQuestion(agent)
		c.run(t, "send", agent, "later of "+agent, "--no-wait", "--successor", "--key", "later-"+agent)
		c.run(t, "send", agent, "sooner of "+agent, "--no-wait", "--ttl", "20h")
		cancelled := c.queue(t, agent, "never of "+agent)
		c.run(t, "queue", "cancel", cancelled.ID)
		c.run(t, "send", agent, "too late for "+agent, "--no-wait", "--ttl", "10ms")
		c.await("without the prompt that expires", func(client.Status) bool {
			open, err := c.client.Queue(t.Context(), agent, client.OnlyOpen)
			return err == nil && !slices.ContainsFunc(open, func(r client.Receipt) bool { return strings.HasPrefix(r.Text, "too late") })
		})
		second := c.promptOf(t, agent, "sooner of "+agent)
		c.run(t, "queue", "edit", second.ID, "--priority", "system", "--text", "sooner of "+agent)
	}
	r := c.queue(t, "pipe", "on a pipe")
	c.await("without a prompt to the pipe", func(client.Status) bool {
		r, err := c.client.Receipt(t.Context(), r.ID, "")
		return err == nil && r.Ended()
	})
	c.run(t, "wait", "--for", "test -e "+filepath.Join(c.root, "go"), "--register", "--owner", "term", "--text", "the file is there")
}

// queue queues a prompt.
func (c *city) queue(t *testing.T, agent, text string) client.Receipt {
	t.Helper()
	r, err := c.client.Nudge(t.Context(), agent, client.NudgeRequest{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// promptOf returns the prompt of an agent that has this text.
func (c *city) promptOf(t *testing.T, agent, text string) client.Receipt {
	t.Helper()
	all, err := c.client.Queue(t.Context(), agent, client.WithEnded)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(r client.Receipt) bool { return r.Text == text })
	if i < 0 {
		t.Fatalf("%s has no prompt %q: %+v", agent, text, all)
	}
	return all[i]
}

// printed are the outputs of commands with --json, by the command.
type printed map[string]any

// shown runs the commands that show a city.
func (c *city) shown(t *testing.T) printed {
	t.Helper()
	out := printed{}
	show := func(words ...string) any {
		text := c.run(t, append(words, "--json")...)
		var all []any
		for values := json.NewDecoder(strings.NewReader(text)); ; {
			var value any
			if err := values.Decode(&value); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("gc %v prints %q: %v", words, text, err)
			}
			all = append(all, value)
		}
		var value any = all
		if len(all) == 1 {
			value = all[0]
		}
		if list, ok := value.(map[string]any); ok && words[0] == "events" {
			value = list["events"] // the previous gc printed one event a line
		}
		out[strings.Join(words, " ")] = value
		return value
	}
	show("status")
	show("pending", "--all")
	if usage, ok := show("usage", "--since", "8760h").(map[string]any); ok {
		delete(usage, "since") // a year before the command
	}
	show("usage", "budgets")
	show("wait", "list", "--all")
	show("queue", "--all")
	all, err := c.client.Queue(t.Context(), "", client.WithEnded)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		show("receipt", r.ID)
	}
	status, err := c.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range status.Agents {
		show("session", "show", a.Name)
	}
	show("events")
	return out
}

// moving are the fields that always differ: times of readings, the controller, and the current activity of a
// process.
var moving = map[string]bool{
	"at": true, "read_at": true, "active_at": true, "heard_at": true, "controller": true, "plan": true, "burn": true, "uptime_seconds": true,
	"processes": true, "activity": true, "last_sign": true, "attached": true,
}

// derived are the fields of an agent whose text the present gc generates. No file stores them.
var derived = map[string]bool{"reason": true}

// tried are the fields of a prompt that waits which an attempt to deliver it changes.
var tried = map[string]bool{"attempts": true, "updated_at": true, "reason": true}

// lacks returns what differs in after from before. Fields that only after has are not compared:
// a newer gc may print more.
func lacks(path string, before, after any) (differences []string) {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: was %v, is %v", path, before, after)}
		}
		for _, key := range slices.Sorted(maps.Keys(b)) {
			_, agent := b["epoch"]
			if !moving[key] && (!agent || !derived[key]) && (b["state"] != client.ReceiptQueued || !tried[key]) {
				differences = append(differences, lacks(path+"."+key, b[key], a[key])...)
			}
		}
	case []any:
		a, ok := after.([]any)
		if !ok || len(a) < len(b) {
			return []string{fmt.Sprintf("%s: was %v, is %v", path, before, after)}
		}
		for i := range b {
			differences = append(differences, lacks(fmt.Sprintf("%s[%d]", path, i), b[i], a[i])...)
		}
	default:
		if !reflect.DeepEqual(before, after) && !sameTime(before, after) {
			return []string{fmt.Sprintf("%s: was %v, is %v", path, before, after)}
		}
	}
	return differences
}

func sameTime(a, b any) bool {
	x, xok := a.(string)
	y, yok := b.(string)
	if !xok || !yok {
		return false
	}
	at, aerr := time.Parse(time.RFC3339Nano, x)
	bt, berr := time.Parse(time.RFC3339Nano, y)
	return aerr == nil && berr == nil && at.Equal(bt)
}

// TestACityOfThePreviousVersionIsTakenOver runs a city with the gc of an earlier commit: sessions
// in terminals, in tmux and behind pipes, with open questions and prompts behind them. The present
// gc takes it over: it shows what the earlier one showed, no process ends, the questions can be
// answered, each prompt that waited arrives once and in order, and a stop leaves nothing.
func TestACityOfThePreviousVersionIsTakenOver(t *testing.T) {
	t.Parallel()
	previous := previousGC(t)
	c := newPreviousCity(t)
	present := c.gc
	c.gc = previous
	c.start()
	c.live(t)
	before := c.shown(t)
	status, err := c.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.run(t, "controller", "stop")
	if err := <-c.ended; err != nil {
		t.Errorf("the previous controller ended with %v", err)
	}
	if *updatePrevious {
		c.writePrevious(t, before)
	}
	c.gc = present
	c.start()
	var differences []string
	for limit := time.Now().Add(time.Minute); ; { // its first readings take a moment
		differences = differences[:0]
		after := c.shown(t)
		for _, command := range slices.Sorted(maps.Keys(before)) {
			differences = append(differences, lacks("gc "+command, before[command], after[command])...)
		}
		if len(differences) == 0 || time.Now().After(limit) {
			break
		}
	}
	for _, difference := range differences {
		t.Error(difference)
	}
	for _, agent := range asking {
		c.run(t, "respond", c.waitQuestion(agent), "main")
	}
	if err := os.WriteFile(filepath.Join(c.root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.drained(t)
	now, err := c.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range status.Agents {
		if n := agentIn(now, a.Name); n.PID != a.PID || n.Restarts != a.Restarts || n.Epoch != a.Epoch || n.Instance != a.Instance {
			t.Errorf("%s was process %d, instance %s, epoch %d, %d restarts, and is %+v", a.Name, a.PID, a.Instance, a.Epoch, a.Restarts, n)
		}
	}
	for _, agent := range append(slices.Clone(asking), "pipe") {
		if n := len(ledger.Of(c.records(t, agent), ledger.Start)); n != 1 {
			t.Errorf("%s was started %d times", agent, n)
		}
	}
	c.worked(t)
	r := c.queue(t, "pipe", "on the previous pipe")
	c.await("the prompt to the pipe of the previous shim", func(client.Status) bool {
		r, err := c.client.Receipt(t.Context(), r.ID, "")
		return err == nil && r.Ended() && r.State == c.promptOf(t, "pipe", "on a pipe").State &&
			slices.ContainsFunc(ledger.Prompts(c.records(t, "pipe")), func(r ledger.Record) bool { return r.Text == "on the previous pipe" })
	})
	if named := c.namedDeliveries(t); len(named) > 0 {
		t.Errorf("%q: shims of the previous gc cannot type prompts", named)
	}
	c.run(t, "restart", "term")
	c.run(t, "send", "term", "to the present shim", "--wait", "consumed")
	if named := c.namedDeliveries(t); len(named) != 1 {
		t.Errorf("%q: the shim of the present gc types prompts", named)
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("the census of the end is %+v", census)
	}
	for _, a := range status.Agents {
		if left := processes(c.ledgerOf(a.Name)); len(left) > 0 {
			t.Errorf("the processes %v of %s are left", left, a.Name)
		}
		if a.PID != 0 && syscall.Kill(a.PID, 0) == nil {
			t.Errorf("the process %d of %s is left", a.PID, a.Name)
		}
	}
}

// namedDeliveries returns the files in which shims store the deliveries that they have begun.
func (c *city) namedDeliveries(t *testing.T) (files []string) {
	t.Helper()
	dir, err := os.ReadFile(filepath.Join(c.root, ".gc", "runtime-dir"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(strings.TrimSpace(string(dir)), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "deliveries.json" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// drained waits until no prompt waits.
func (c *city) drained(t *testing.T) {
	t.Helper()
	c.await("without waiting prompts", func(client.Status) bool {
		open, err := c.client.Queue(t.Context(), "", client.OnlyOpen)
		if err != nil || len(open) > 0 {
			return false
		}
		return !slices.ContainsFunc(asking, func(agent string) bool {
			return c.promptOf(t, agent, "later of "+agent).State != client.ReceiptConsumed
		})
	})
}

// worked checks that each agent worked on each of its prompts once, in the order of the queue.
func (c *city) worked(t *testing.T) {
	t.Helper()
	for _, agent := range asking {
		var order []string
		for _, r := range ledger.Prompts(c.records(t, agent)) {
			if strings.HasSuffix(r.Text, " of "+agent) || r.Text == "the file is there" || strings.HasPrefix(r.Text, "never") || strings.HasPrefix(r.Text, "too late") {
				order = append(order, r.Text)
			}
		}
		want := []string{"first of " + agent, "sooner of " + agent, "later of " + agent}
		if got := slices.DeleteFunc(slices.Clone(order), func(s string) bool { return s == "the file is there" }); !slices.Equal(got, want) {
			t.Errorf("%s worked on %q, want %q", agent, got, want)
		}
	}
}
