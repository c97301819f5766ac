package credentials_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gascity/internal/service/credentials"
	"gascity/worker"
)

// The test binary is also the command that logs in.
func TestMain(m *testing.M) {
	if address := os.Getenv("CREDENTIAL_TEST_LOGIN"); address != "" {
		os.Exit(login(address, os.Args[1]))
	}
	os.Exit(m.Run())
}

// login exchanges the refresh token in a file for an access token and the next refresh token.
func login(address, path string) int {
	token, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	res, err := http.Post(address, "text/plain", strings.NewReader(string(token))) //nolint:noctx // a program
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		fmt.Fprintln(os.Stderr, "invalid_grant: log in again")
		return 1
	}
	var grant struct {
		Access, Refresh string
		Expires         time.Time
	}
	if err := errors.Join(json.Unmarshal(body, &grant), os.WriteFile(path, []byte(grant.Refresh), 0o600)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return print(map[string]any{"value": grant.Access, "expires_at": grant.Expires})
}

func print(v any) int {
	if json.NewEncoder(os.Stdout).Encode(v) != nil {
		return 1
	}
	return 0
}

// vendor is a login service. A refresh token is valid once. A second use ends all logins.
type vendor struct {
	clock *clock
	life  time.Duration

	mu      sync.Mutex
	refresh string
	grants  int
	stolen  int
	down    bool
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.down:
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	case err != nil || string(body) != v.refresh:
		v.stolen++
		http.Error(w, "invalid_grant", http.StatusBadRequest)
		return
	}
	v.grants++
	v.refresh = fmt.Sprint("refresh-", v.grants)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may have disconnected
		"Access": fmt.Sprint("access-", v.grants), "Refresh": v.refresh, "Expires": v.clock.Now().Add(v.life),
	})
}

// counts returns the number of renewals and the number of reused tokens.
func (v *vendor) counts() (grants, stolen int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.grants, v.stolen
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// shared returns a login service and a source that uses it.
func shared(t *testing.T, c *clock) (*vendor, credentials.Source, credentials.Environment) {
	t.Helper()
	v := &vendor{clock: c, life: time.Hour, refresh: "refresh-0"}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "login")
	if err := os.WriteFile(path, []byte(v.refresh), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{"CREDENTIAL_TEST_LOGIN=" + server.URL, "GORACE=atexit_sleep_ms=0"}
	return v, credentials.Source{Command: "'" + self + "' '" + path + "'"}, credentials.Environment{Environ: environ, Dir: t.TempDir(), Now: c.Now}
}

// newBroker returns a broker that passes its states to onState; nil: to nothing.
func newBroker(world credentials.Environment, push func(string, worker.Credentials) error, onState func(context.Context, credentials.State)) *credentials.Broker {
	if onState == nil {
		onState = func(context.Context, credentials.State) {}
	}
	return credentials.New(credentials.Options{Environment: world, Push: push, OnState: onState, Hide: func(string) {}, Logger: slog.New(slog.DiscardHandler)})
}

// TestAgentsShareOneLogin: 24 agents in two cities use one login during 50 expiries, while the controllers are
// replaced. Each renewal happens once for all agents of a city, and no agent is logged out.
func TestAgentsShareOneLogin(t *testing.T) {
	c := &clock{now: time.Now()}
	v, source, world := shared(t, c)
	world.Locks = credentials.Locks{Dir: filepath.Join(t.TempDir(), "locks")}
	begin := func() *credentials.Broker {
		b := newBroker(world, nil, nil)
		b.Use([]credentials.Account{{Name: "shared", Source: source}}, nil)
		return b
	}
	cities := []*credentials.Broker{begin(), begin()}
	const rounds, agents = 24, 24
	for round := range rounds {
		for which := range cities {
			if round%4 == which {
				cities[which] = begin() // without the state of the previous one
			}
			b := cities[which]
			before, _ := v.counts()
			var wg sync.WaitGroup
			var other atomic.Int64
			for range agents {
				wg.Go(func() {
					got, err := b.Get(t.Context(), "shared")
					if err != nil || string(got.Secret) != fmt.Sprint("access-", before+1) {
						other.Add(1)
						t.Errorf("city %d: %q, %v", which, string(got.Secret), err)
					}
				})
			}
			wg.Wait()
			if grants, stolen := v.counts(); grants != before+1 || stolen != 0 {
				t.Fatalf("round %d: %d agents have renewed %d times, %d logged out", round, agents, grants-before, stolen)
			}
		}
		c.pass(2 * time.Hour)
	}
	both := sync.WaitGroup{} // at the same time; the lock makes them sequential
	for _, b := range cities {
		for range agents {
			both.Go(func() {
				if _, err := b.Get(t.Context(), "shared"); err != nil {
					t.Error(err)
				}
			})
		}
	}
	both.Wait()
	if grants, stolen := v.counts(); grants != 2*rounds+2 || stolen != 0 {
		t.Errorf("%d grants, %d used tokens came again", grants, stolen)
	}
}

// pushRecorder records pushed values and states.
type pushRecorder struct {
	mu     sync.Mutex
	had    map[string][]string // by session
	absent map[string]bool     // sessions without a worker
	states []credentials.State
	news   chan struct{}
}

func newPushRecorder() *pushRecorder {
	return &pushRecorder{had: map[string][]string{}, absent: map[string]bool{}, news: make(chan struct{}, 1000)}
}

func (b *pushRecorder) push(session string, c worker.Credentials) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.absent[session] {
		return worker.ErrRefused
	}
	if had := b.had[session]; len(had) == 0 || had[len(had)-1] != string(c.Value) {
		b.had[session] = append(had, string(c.Value))
		b.news <- struct{}{}
	}
	return nil
}

func (b *pushRecorder) recordState(_ context.Context, s credentials.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.states = append(b.states, s)
	b.news <- struct{}{}
}

func (b *pushRecorder) await(t *testing.T, what string, is func() bool) {
	t.Helper()
	end := time.After(30 * time.Second)
	for {
		b.mu.Lock()
		ok := is()
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-b.news:
		case <-end:
			t.Fatalf("not within 30 s: %s; %v, %v", what, b.had, b.states)
		}
	}
}

func (b *pushRecorder) phases() string {
	var out []string
	for _, s := range b.states {
		out = append(out, string(s.Phase))
	}
	return strings.Join(out, " ")
}

func run(t *testing.T, b *credentials.Broker) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- b.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestRenewalsReachEveryHolderBeforeTheEnd checks that renewals need no request. An outage is
// reported once, removes no value, and is over after one renewal.
func TestRenewalsReachEveryHolderBeforeTheEnd(t *testing.T) {
	c := &clock{now: time.Now()}
	v, source, world := shared(t, c)
	workers := newPushRecorder()
	workers.absent["late"] = true
	b := newBroker(world, workers.push, workers.recordState)
	leases := map[string][]string{"late": {"shared"}}
	for i := range 24 {
		leases[fmt.Sprint("s", i)] = []string{"shared"}
	}
	b.Use([]credentials.Account{{Name: "shared", Type: "oauth", Source: source, Before: 10 * time.Minute}}, leases)
	run(t, b)
	allHave := func(value string) func() bool {
		return func() bool {
			for i := range 24 {
				if had := workers.had[fmt.Sprint("s", i)]; len(had) == 0 || had[len(had)-1] != value {
					return false
				}
			}
			return true
		}
	}
	workers.await(t, "all agents have the first", allHave("access-1"))
	workers.mu.Lock()
	workers.absent["late"] = false
	workers.mu.Unlock()
	b.SessionChanged("late")
	workers.await(t, "who came late has it", func() bool { return len(workers.had["late"]) == 1 })

	c.pass(51 * time.Minute) // 9 minutes before the expiry
	b.SessionChanged("s0")
	workers.await(t, "all agents have the second", allHave("access-2"))

	v.mu.Lock()
	v.down = true
	v.mu.Unlock()
	c.pass(51 * time.Minute)
	b.SessionChanged("s0")
	workers.await(t, "the outage is reported", func() bool { return workers.phases() == "good failing" })
	if got, err := b.Get(t.Context(), "shared"); err != nil || got.Secret != "access-2" {
		t.Errorf("a failed renewal took away what is good still: %v", err)
	}
	for range 3 { // each renewal fails
		c.pass(4 * time.Minute)
		b.SessionChanged("s0")
	}
	workers.await(t, "the end is reported", func() bool { return workers.phases() == "good failing expired" })
	if why := b.PromptHold("s3"); !strings.Contains(why, "shared") || !strings.Contains(why, "log in again") {
		t.Errorf("held for %q", why)
	}
	if _, err := b.Get(t.Context(), "shared"); err == nil {
		t.Error("an ended credential is handed out")
	}
	v.mu.Lock()
	v.down = false
	v.mu.Unlock()
	c.pass(5 * time.Minute)
	b.SessionChanged("s0")
	workers.await(t, "all agents have the third", allHave("access-3"))
	workers.await(t, "the end of the outage is reported", func() bool { return workers.phases() == "good failing expired good" })
	if why := b.PromptHold("s3"); why != "" {
		t.Errorf("still held: %s", why)
	}
	if grants, stolen := v.counts(); grants != 3 || stolen != 0 {
		t.Errorf("%d grants, %d used tokens came again", grants, stolen)
	}
}

// TestExpiryReportedByAWorkerCounts covers a worker that knows an expiry time that the source did not report.
func TestExpiryReportedByAWorkerCounts(t *testing.T) {
	c := &clock{now: time.Now()}
	v, source, world := shared(t, c)
	v.life = 1000 * time.Hour
	workers := newPushRecorder()
	b := newBroker(world, workers.push, nil)
	b.Use([]credentials.Account{{Name: "shared", Source: source, Before: 5 * time.Minute}}, map[string][]string{"a": {"shared"}})
	run(t, b)
	workers.await(t, "the first is there", func() bool { return len(workers.had["a"]) == 1 })
	b.SessionChanged("a")
	c.pass(time.Minute)
	deadline := time.Now().Add(30 * time.Second)
	for b.States()[0].Expires.Sub(c.Now()) > time.Hour && time.Now().Before(deadline) { // until the broker has recorded the report
		b.Expiring("a", c.Now().Add(2*time.Minute))
		b.SessionChanged("a")
	}
	c.pass(time.Minute + 30*time.Second)
	b.SessionChanged("a")
	workers.await(t, "it is renewed", func() bool { return len(workers.had["a"]) == 2 })
}

func TestHelperCommands(t *testing.T) {
	const secret = "hunter2-4711"
	dir := t.TempDir()
	file := filepath.Join(dir, "cred")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	world := credentials.Environment{Environ: []string{"PATH=" + os.Getenv("PATH")}, Dir: dir, Now: time.Now, Lookup: func(name string) (string, bool) {
		return secret, name == "THERE"
	}}
	for name, row := range map[string]struct {
		source credentials.Source
		wrong  string // empty: it prints the secret
	}{
		"a variable":           {credentials.Source{Env: "THERE"}, ""},
		"a file":               {credentials.Source{File: file}, ""},
		"no file":              {credentials.Source{File: file + "x"}, "no such file"},
		"a folder":             {credentials.Source{File: dir}, "is not a file"},
		"a command":            {credentials.Source{Command: "cat cred"}, ""},
		"JSON":                 {credentials.Source{Command: `printf '{"value":"` + secret + `","expires_at":"2999-01-01T00:00:00Z"}'`}, ""},
		"nothing":              {credentials.Source{Command: "true"}, "empty"},
		"failure":              {credentials.Source{Command: "cat cred; echo 'please log in' >&2; exit 3"}, "please log in"},
		"garbage":              {credentials.Source{Command: `printf 'hunter2-4711\n\000\033[2Jmore'`}, "one line"},
		"half of JSON":         {credentials.Source{Command: `printf '{"value":"hunter2-4711'`}, "not a JSON object"},
		"JSON of another type": {credentials.Source{Command: `printf '{"value":["hunter2-4711"]}'`}, "not a JSON object"},
		"an ended one":         {credentials.Source{Command: `printf '{"value":"hunter2-4711","expires_at":"2020-01-01T00:00:00Z"}'`}, "it expired at"},
		"no end of output":     {credentials.Source{Command: "yes hunter2-4711", Timeout: 300 * time.Millisecond}, "within"},
		"a hang":               {credentials.Source{Command: "sleep 1000", Timeout: 300 * time.Millisecond}, "within"},
		"a hang with a child":  {credentials.Source{Command: "sleep 1000 & sleep 1000", Timeout: 300 * time.Millisecond}, "within"},
		"a lot":                {credentials.Source{Command: "head -c 200000 /dev/zero | tr '\\0' x"}, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := row.source.Read(t.Context(), world)
			switch {
			case row.wrong == "" && (err != nil || got.Secret != secret):
				t.Errorf("got %v", err)
			case row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)):
				t.Errorf("got %v, want something of %q", err, row.wrong)
			case err != nil && strings.Contains(err.Error(), "hunter2") && !strings.Contains(row.source.Command, "yes"):
				t.Errorf("the value is in the error: %v", err)
			}
			if text := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, "hunter2") {
				t.Errorf("a value formats as %s", text)
			}
		})
	}
}

// TestHangingHelperDelaysNoOtherAccount checks that other accounts are renewed meanwhile, and that
// the broker does not wait for the command when it stops.
func TestHangingHelperDelaysNoOtherAccount(t *testing.T) {
	workers := newPushRecorder()
	world := credentials.Environment{Environ: []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir(), Now: time.Now}
	b := newBroker(world, workers.push, nil)
	b.Use([]credentials.Account{
		{Name: "hangs", Source: credentials.Source{Command: "sleep 1000", Timeout: time.Second}}, {Name: "works", Source: credentials.Source{Command: "echo fine"}},
	}, map[string][]string{"a": {"hangs", "works"}})
	run(t, b)
	workers.await(t, "the other one is there", func() bool { return len(workers.had["a"]) == 1 && workers.had["a"][0] == "fine" })
}

// TestChangedFileIsReadAgain as soon as the configuration is.
func TestChangedFileIsReadAgain(t *testing.T) {
	workers := newPushRecorder()
	file := filepath.Join(t.TempDir(), "cred")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	b := newBroker(credentials.Environment{Now: time.Now}, workers.push, nil)
	use := func() {
		b.Use([]credentials.Account{{Name: "x", Source: credentials.Source{File: file}}}, map[string][]string{"a": {"x"}})
	}
	use()
	run(t, b)
	workers.await(t, "the first", func() bool { return len(workers.had["a"]) == 1 })
	write("two")
	use()
	workers.await(t, "the second", func() bool { return len(workers.had["a"]) == 2 && workers.had["a"][1] == "two" })
}
