package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/worker"
)

// credentialCity has a shared login whose helper counts its calls, and prints what is
// in a file; an agent that gets it in a variable, one by its worker alone, and one that
// was not given it.
const credentialCity = `
[workspace]
name = "town"
[daemon]
shutdown_timeout = "200ms"
tick_debounce = "50ms"
worker_token_age = "1s"
[credentials.shared]
command = "echo x >> calls; cat login; test -s login || { echo 'log in again' >&2; exit 1; }"
type = "oauth"
variable = "VENDOR_LOGIN"
[[agents]]
name = "one"
credentials = ["shared"]
start_command = "env > $GC_CITY_PATH/one.tmp && mv $GC_CITY_PATH/one.tmp $GC_CITY_PATH/one.env; sleep 1000"
[[agents]]
name = "two"
credentials = ["shared"]
start_command = "env > $GC_CITY_PATH/two.tmp && mv $GC_CITY_PATH/two.tmp $GC_CITY_PATH/two.env; sleep 1000"
[[agents]]
name = "stranger"
start_command = "env > $GC_CITY_PATH/stranger.tmp && mv $GC_CITY_PATH/stranger.tmp $GC_CITY_PATH/stranger.env; sleep 1000"
`

// TestCredentialsOfAgents checks that two agents share one login, for which its command runs once;
// that a new value reaches a running worker; that the worker's own token is also replaced; and that
// the value is in no file, no argument and no environment of another process.
func TestCredentialsOfAgents(t *testing.T) {
	const first, second = "canary-first-4711", "canary-second-4711"
	d, root := newDaemon(t), newCity(t, credentialCity)
	login := func(value string, life time.Duration) {
		write(t, filepath.Join(root, "login"), fmt.Sprintf(`{"value":%q,"expires_at":%q}`, value, time.Now().Add(life).Format(time.RFC3339Nano)))
	}
	const life = 10 * time.Second // it is renewed after half of it
	began := time.Now()
	login(first, life)
	r := runController(t, d, root)
	for _, name := range []string{"one", "two", "stranger"} {
		r.until(name, "running", isRunning)
	}
	env := readAgentEnv(t, root, "one")
	if got, other := env["VENDOR_LOGIN"], readAgentEnv(t, root, "two")["VENDOR_LOGIN"]; got != first || other != first {
		t.Errorf("the agents were started with %q and %q", got, other)
	}
	if got, there := readAgentEnv(t, root, "stranger")["VENDOR_LOGIN"]; there {
		t.Errorf("an agent that was not given the login has %q", got)
	}
	if calls, err := os.ReadFile(filepath.Join(root, "calls")); (err != nil || string(calls) != "x\n") && time.Since(began) < life/2 {
		t.Errorf("the helper was called %q, %v; must be once", calls, err)
	}
	c := &worker.Client{Socket: env["GC_WORKER_SOCKET"], Token: env["GC_WORKER_TOKEN"], RunID: env["GC_RUN_ID"]}
	defer c.Close()
	if err := c.Report(t.Context(), worker.Started, worker.Detail{Offers: []string{worker.OfferIdentity}}); err != nil {
		t.Fatal(err)
	}
	got := make(chan worker.Credentials, 10)
	go func() {
		for m, err := range c.Messages(t.Context()) {
			var id worker.Identity
			if err == nil && m.Kind == worker.IdentityMessage && json.Unmarshal(m.Data, &id) == nil && id.Credentials != nil {
				got <- *id.Credentials
			}
			if err == nil {
				_ = c.Ack(t.Context(), worker.Ack{ID: m.ID, State: worker.Consumed}) // the test is over
			}
		}
	}()
	if now := <-got; now.Value != first || now.Account != "shared" || now.Type != "oauth" || now.ExpiresAt == nil {
		t.Errorf("the worker was given %+v", now)
	}
	login(second, 1000*time.Hour)
	if now := <-got; now.Value != second { // that it is in time is package credentials's to prove
		t.Errorf("the worker was given %+v after %s", now, time.Since(began))
	}
	await(t, "the worker has used a new token, twice", func() bool {
		events, err := c.Events(t.Context(), c.RunID, 0)
		return err == nil && strings.Contains(fmt.Sprint(texts(events)), "token-2")
	})
	found := filesContaining(t, root, []string{first, second})
	want := fmt.Sprint([]string{"login", "one.env", "two.env"})
	if fmt.Sprint(found) != want {
		t.Errorf("the value stands in %v, must stand only in %s, which the test itself wrote", found, want)
	}
	if mine := inProcesses(t, second); len(mine) != 0 {
		t.Errorf("the renewed value is in %v, and was given over a socket", mine)
	}
	for pid, where := range inProcesses(t, first) {
		if name := processName(pid); where != "environ" || name != "sh" && name != "sleep" {
			t.Errorf("the value is in the %s of process %s (%s)", where, pid, name)
		}
	}
	events, err := c.Events(t.Context(), c.RunID, 0)
	if text := fmt.Sprint(texts(events), err); strings.Contains(text, "canary") {
		t.Errorf("a value is in the events: %s", text)
	}
	r.stopCity()
}

func texts(events []worker.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.Kind+" "+string(e.Data))
	}
	return out
}

// filesContaining returns the files below root that have one of the values, except sockets.
func filesContaining(t *testing.T, root string, values []string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // files come and go while the city runs
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		for _, value := range values {
			if bytes.Contains(text, []byte(value)) {
				name, _ := filepath.Rel(root, path)
				found = append(found, name)
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// inProcesses returns the processes of this machine that have the value in their
// arguments or their environment, except this one.
func inProcesses(t *testing.T, value string) map[string]string {
	t.Helper()
	found := map[string]string{}
	paths, err := filepath.Glob("/proc/[0-9]*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		what := filepath.Base(path)
		if what != "environ" && what != "cmdline" {
			continue
		}
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(value)) {
			found[filepath.Base(filepath.Dir(path))] = what
		}
	}
	return found
}

func processName(pid string) string {
	name, _ := os.ReadFile("/proc/" + pid + "/comm")
	return strings.TrimSpace(string(name))
}
