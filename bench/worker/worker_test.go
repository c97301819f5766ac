package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/internal/server/workerapi"
	"gascity/internal/service/workers"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/servicetest"
	"gascity/test/storetest"
	"gascity/worker"
)

const instance = "instance"

// city is a controller with one session.
type city struct{ place runtime.Provider }

func (c city) Snapshot(name string) (session.Snapshot, error) {
	return session.Snapshot{Agent: "polecat", Session: name, Provider: c.place, Running: true, Token: instance}, nil
}
func (city) Sense(string)    {}
func (city) HasSynced() bool { return true }

// policy is 300 rules: those that are shipped, and more of their kinds.
func policy(b *testing.B) *guard.Policy {
	b.Helper()
	var sets []guard.Set
	n := 0
	for _, name := range []string{"dangerous-command", "protected-branch", "secrets-reading"} {
		set, err := guard.ShippedSet(name)
		if err != nil {
			b.Fatal(err)
		}
		sets = append(sets, set)
		n += len(set.Rules)
	}
	own := guard.Set{Name: "own"}
	for i := 0; n < 300; i++ {
		r := guard.Rule{ID: fmt.Sprint("own-", i), Action: guard.Deny, Reason: "own"}
		switch i % 3 {
		case 0:
			r.Commands, r.Any = []string{fmt.Sprintf("program%d sub", i)}, []string{"-f|--force"}
		case 1:
			r.Paths = []string{fmt.Sprintf("**/secret%d/*.pem", i)}
		default:
			r.Commands, r.Any = []string{"git push"}, []string{fmt.Sprintf("--option%d", i)}
		}
		own.Rules = append(own.Rules, r)
		n++
	}
	p, err := guard.Compile(guard.Source{Sets: append(sets, own)})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

var commands = []string{
	"git status", "git push --force origin main", "cd /src/app && go test ./... 2>&1 | tail -20", `sudo sh -c "rm -rf /tmp/x"`,
	`for f in *.go; do gofmt -l "$f"; done`, "cat <<EOF > notes.md\nsome text\nEOF",
}

// distinct is the number of distinct commands: more than a guard remembers.
const distinct = 12_000

// input returns a command as a tool's input. With a number it is like no other one.
func input(b *testing.B, command string, number int) json.RawMessage {
	b.Helper()
	switch {
	case number == 0:
	case strings.Contains(command, "\n"), strings.HasSuffix(command, "done"): // no word may follow
		command = fmt.Sprintf("cd /src/%d; %s", number, command)
	default:
		command += fmt.Sprintf(" --number%d", number)
	}
	text, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// inputs returns those of the commands, over and over again or each another one.
func inputs(b *testing.B, unique bool) []json.RawMessage {
	b.Helper()
	n := len(commands)
	if unique {
		n = distinct
	}
	var out []json.RawMessage
	for i := range n {
		number := 0
		if unique {
			number = i + 1
		}
		out = append(out, input(b, commands[i%len(commands)], number))
	}
	return out
}

// kinds are the two kinds of work: agents repeat themselves, and they do not.
var kinds = []struct {
	name   string
	unique bool
}{{"repeated", false}, {"distinct", true}}

// BenchmarkGuard is one decision by 300 rules, without a server.
func BenchmarkGuard(b *testing.B) {
	p := policy(b)
	for at, command := range commands {
		for _, k := range kinds {
			var all []json.RawMessage
			for i, in := range inputs(b, k.unique) {
				if i%len(commands) == at {
					all = append(all, in)
				}
			}
			b.Run(fmt.Sprintf("%.12s/%s", command, k.name), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					p.Decide(guard.Request{Tool: "Bash", Input: all[i%len(all)], Role: "polecat", Home: "/home/x", Dir: "/src/app"})
				}
			})
		}
	}
}

// judge decides by 300 rules.
func judge(b *testing.B) func(session.Snapshot, worker.Call) guard.Verdict {
	b.Helper()
	p := policy(b)
	return func(v session.Snapshot, c worker.Call) guard.Verdict {
		verdict := p.Decide(guard.Request{Tool: c.Tool, Input: c.Input, Role: v.Agent, Home: "/home/x"})
		if verdict.Action == guard.Ask { // no person can be asked
			verdict.Action = guard.Deny
		}
		return verdict
	}
}

// guardedServer is a server of the worker API with a guard of 300 rules, and one beside it
// whose handler reads its body and answers nothing.
type guardedServer struct {
	worker, empty *http.Client
	engine        *workers.Engine
}

func newGuardedServer(b *testing.B, judge func(session.Snapshot, worker.Call) guard.Verdict) guardedServer {
	b.Helper()
	dir, err := os.MkdirTemp("", "gcb") //nolint:usetesting // a socket path must be short
	if err != nil {
		b.Fatal(err)
	}
	below := fake.New()
	opts := servicetest.WorkerOptions(city{below}, storetest.NewEvents(1000, 0, time.Now))
	opts.Socket = "x"
	if judge != nil {
		opts.Judge = judge
	}
	e := workers.New(opts)
	cfg := runtime.Config{Command: "x", Env: map[string]string{"GC_INSTANCE_TOKEN": instance}}
	if err := e.WrapProvider(below).Start(b.Context(), "polecat", cfg); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	listen := func(name string) net.Listener {
		l, err := new(net.ListenConfig).Listen(b.Context(), "unix", filepath.Join(dir, name))
		if err != nil {
			b.Fatal(err)
		}
		return l
	}
	api, plain := listen("w.sock"), listen("e.sock")
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			b.Error(err)
		}
		w.WriteHeader(http.StatusNoContent)
	})}
	ended.Go(func() { _ = server.Serve(plain) }) // until it is closed
	ended.Go(func() {
		if err := workerapi.NewServer(e, workerapi.Options{}).Run(ctx, api); err != nil {
			b.Error(err)
		}
	})
	out := guardedServer{client(filepath.Join(dir, "w.sock")), client(filepath.Join(dir, "e.sock")), e}
	b.Cleanup(func() {
		out.worker.CloseIdleConnections()
		out.empty.CloseIdleConnections()
		cancel()
		_ = server.Close() // no client is connected any more
		ended.Wait()
		if err := os.RemoveAll(dir); err != nil {
			b.Error(err)
		}
	})
	return out
}

func client(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 256, DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
}

// request sends a request and reads its answer.
func request(ctx context.Context, c *http.Client, token string, body []byte) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://city/authorize", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

func bodies(b *testing.B, unique bool) [][]byte {
	b.Helper()
	var out [][]byte
	for i, input := range inputs(b, unique) {
		text, err := json.Marshal(worker.Call{ID: fmt.Sprint("c", i), Tool: "Bash", Input: input})
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, text)
	}
	return out
}

// BenchmarkAuthorize is one POST /authorize over the socket, beside one to an empty
// handler, in turns: ratio is what it costs in terms of that, with 300 rules and with
// none.
func BenchmarkAuthorize(b *testing.B) {
	for _, k := range kinds {
		b.Run("300rules/"+k.name, func(b *testing.B) { authorize(b, newGuardedServer(b, judge(b)), k.unique) })
	}
	b.Run("norules", func(b *testing.B) { authorize(b, newGuardedServer(b, nil), false) })
}

func authorize(b *testing.B, p guardedServer, unique bool) {
	b.Helper()
	all, token := bodies(b, unique), session.WorkerToken(instance, 0)
	var took, empty []time.Duration
	for i := 0; b.Loop(); i++ {
		body := all[i%len(all)]
		for _, side := range []struct {
			client *http.Client
			took   *[]time.Duration
			want   int
		}{{p.worker, &took, http.StatusOK}, {p.empty, &empty, http.StatusNoContent}} {
			began := time.Now()
			status, err := request(b.Context(), side.client, token, body)
			*side.took = append(*side.took, time.Since(began))
			if err != nil || status != side.want {
				b.Fatal(status, err)
			}
		}
	}
	b.ReportMetric(float64(quantile(took, 50))/float64(quantile(empty, 50)), "ratio")
	b.ReportMetric(float64(quantile(took, 50).Microseconds()), "us/decision")
	b.ReportMetric(float64(quantile(empty, 50).Microseconds()), "us/empty")
	b.ReportMetric(float64(quantile(took, 99).Microseconds()), "us/p99")
}

// callers is how many ask at once.
const callers = 200

// crowd has all callers ask until the benchmark has had enough, and reports how many
// decisions there were in a second, and how many calls were refused.
func crowd(b *testing.B, ask func(i int) bool) {
	b.Helper()
	var refused, next atomic.Int64
	var all sync.WaitGroup
	took := make([][]time.Duration, callers)
	b.ResetTimer()
	began, spent := time.Now(), processor(b)
	for i := range took {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				at := time.Now()
				if !ask(int(n)) {
					refused.Add(1)
				}
				took[i] = append(took[i], time.Since(at))
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "calls/s")
	b.ReportMetric(float64((processor(b)-spent).Microseconds())/float64(b.N), "cpu-us/call")
	b.ReportMetric(float64(quantile(slices.Concat(took...), 99).Microseconds()), "us/p99")
	b.ReportMetric(float64(refused.Load()), "refused")
}

// processor returns the time that this process has spent on processors, its clients with it.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkDecisions is 200 callers inside the process: the rules alone, and the whole
// decision, with its record.
func BenchmarkDecisions(b *testing.B) {
	for _, k := range kinds {
		decide, ins := judge(b), inputs(b, k.unique)
		call := func(i int) worker.Call {
			return worker.Call{ID: fmt.Sprint("c", i), Tool: "Bash", Input: ins[i%len(ins)]}
		}
		b.Run("rules/"+k.name, func(b *testing.B) {
			crowd(b, func(i int) bool { return decide(session.Snapshot{Agent: "polecat"}, call(i)).Action.IsValid() })
		})
		b.Run("recorded/"+k.name, func(b *testing.B) {
			p := newGuardedServer(b, decide)
			crowd(b, func(i int) bool {
				_, err := p.engine.Authorize(b.Context(), session.RunID(instance), call(i))
				return err == nil
			})
		})
	}
}

// BenchmarkThroughput is 200 callers over the socket, beside as many of an empty
// handler: what net/http can do here, with its clients on the same processors, is the
// ceiling.
func BenchmarkThroughput(b *testing.B) {
	token := session.WorkerToken(instance, 0)
	over := func(pick func(guardedServer) *http.Client, unique bool) func(b *testing.B) {
		return func(b *testing.B) {
			c, all := pick(newGuardedServer(b, judge(b))), bodies(b, unique)
			crowd(b, func(i int) bool {
				status, err := request(b.Context(), c, token, all[i%len(all)])
				return err == nil && status < 300
			})
		}
	}
	for _, k := range kinds {
		b.Run("authorize/"+k.name, over(func(p guardedServer) *http.Client { return p.worker }, k.unique))
	}
	b.Run("empty", over(func(p guardedServer) *http.Client { return p.empty }, false))
}

func quantile(took []time.Duration, percent int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[(len(took)-1)*percent/100]
}
