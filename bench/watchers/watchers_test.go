// Package watchers measures live terminals: many watchers and one driver of an agent that floods its terminal.
//
//	go test -count=1 -v ./bench/watchers -watchers 100 -rate 20 -time 10s
package watchers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/term"

	"gascity/client"
	"gascity/internal/service/terminals"
	"gascity/internal/shim"
	"gascity/internal/web"
	"gascity/provider/pty"
	"gascity/runtime"
)

var (
	watchers = flag.Int("watchers", 100, "watchers of the session")
	rate     = flag.Int("rate", 20, "output of the agent in MB a second")
	length   = flag.Duration("time", 4*time.Second, "how long it is measured")
)

// TestMain is also the shim, the agent and the watchers: each is a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		var err error
		switch os.Args[1] {
		case "shim":
			err = shim.Run(ctx, os.Args[2], os.Stdin, os.Stdout)
		case "flood":
			err = flood(os.Args[2])
		case "watch":
			err = watch(ctx, os.Args[2])
		}
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// flood prints so many MB a second below the first row. The first row shows how many keys and SIGWINCH it got, and the MB that it
// has printed.
func flood(megabytes string) error {
	if _, err := term.MakeRaw(0); err != nil {
		return err
	}
	wanted, err := strconv.Atoi(megabytes)
	if err != nil {
		return err
	}
	resized := make(chan os.Signal, 64)
	signal.Notify(resized, syscall.SIGWINCH)
	keys := make(chan int, 64)
	go func() {
		buf := make([]byte, 64)
		for {
			n, err := os.Stdin.Read(buf)
			if err != nil {
				close(keys)
				return
			}
			keys <- n
		}
	}()
	var lines bytes.Buffer
	for i := range 500 {
		fmt.Fprintf(&lines, "\r\n\x1b[3%dmline %d \x1b[1mof\x1b[m some text that an agent prints, with a wide 日本 and %x", i%8, i, i*2654435761)
	}
	text := lines.Bytes()
	fmt.Print("\x1b[2;50r\x1b[50;1H")
	began, printed, count, winch := time.Now(), 0, 0, 0
	status := func() {
		fmt.Printf("\x1b7\x1b[1;1H\x1b[mkeys=%d; winch=%d; printed=%d;\x1b[K\x1b8", count, winch, printed>>20)
	}
	status()
	for {
		select {
		case n, ok := <-keys:
			if !ok {
				return nil
			}
			count += n
			status()
			continue
		case <-resized:
			winch++
			status()
			continue
		default:
		}
		if ahead := float64(printed)/1e6/float64(wanted) - time.Since(began).Seconds(); ahead > 0 {
			timer := time.NewTimer(time.Duration(ahead * float64(time.Second)))
			select {
			case n, ok := <-keys:
				if !ok {
					return nil
				}
				count += n
				status()
			case <-timer.C:
			}
			timer.Stop()
		}
		some := text[printed%len(text):]
		some = some[:min(len(some), 16<<10)]
		n, err := os.Stdout.Write(some)
		if err != nil {
			return err
		}
		if printed += n; printed%(1<<20) < n {
			status()
		}
	}
}

// watch opens the watchers of the URL and confirms their output, until standard input ends. It prints how many frames and bytes
// they got.
func watch(ctx context.Context, url string) error {
	var frames, total atomic.Int64
	ctx, cancel := context.WithCancel(ctx)
	count, err := strconv.Atoi(url[strings.LastIndexByte(url, '#')+1:])
	if err != nil {
		cancel()
		return err
	}
	url = url[:strings.LastIndexByte(url, '#')]
	var work sync.WaitGroup
	for range count {
		work.Go(func() {
			p, err := dial(ctx, url)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			for {
				n, err := p.read(ctx)
				if err != nil {
					return
				}
				frames.Add(1)
				total.Add(int64(len(n)))
			}
		})
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test ends
	fmt.Println(frames.Load(), total.Load())
	cancel()
	work.Wait()
	return nil
}

// page is the connection of a page.
type page struct {
	conn   *websocket.Conn
	output uint64
}

func dial(ctx context.Context, url string) (*page, error) {
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: []string{web.TerminalProtocol}}) //nolint:bodyclose // the connection has it
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(1 << 20)
	return &page{conn: conn}, nil
}

// read returns the content of the next message with output, and confirms it.
func (p *page) read(ctx context.Context) ([]byte, error) {
	for {
		_, m, err := p.conn.Read(ctx)
		if err != nil || m[0] != 'o' {
			if err != nil {
				return nil, err
			}
			continue
		}
		p.output += uint64(len(m) - 1)
		return m[1:], p.conn.Write(ctx, websocket.MessageBinary, binary.BigEndian.AppendUint64([]byte{'a'}, p.output))
	}
}

// TestWatchersOfAFirehose: an agent floods its terminal, many pages watch, and one types. Memory for a watcher is constant, a key's
// echo is quick, the agent prints as much as without watchers, and gets no SIGWINCH.
func TestWatchersOfAFirehose(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "gcw") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder
	p, err := pty.Open(pty.Config{Dir: filepath.Join(dir, "s"), WorkDir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Shim: []string{self, "shim"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), "a", runtime.Config{Command: fmt.Sprintf("exec '%s' flood %d", self, *rate), Lifecycle: runtime.LifecycleOneShot}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop("a"); err != nil {
			t.Error(err)
		}
		_ = p.Close()
	})
	service := terminals.New(terminals.Options{Open: func(ctx context.Context, session string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
		return runtime.OpenTerminal(ctx, p, session, opts)
	}})
	t.Cleanup(service.Close)
	serve := web.NewTerminals(web.TerminalOptions{Open: service.Open, Log: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve(r.Context(), w, r, web.Grant{Device: client.WebDevice{Name: "device"}, Session: "a", Type: r.FormValue("type") != ""})
	}))
	t.Cleanup(server.Close)

	driver, err := dial(t.Context(), server.URL+"?type=1")
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.conn.Write(t.Context(), websocket.MessageBinary, []byte("t")); err != nil {
		t.Fatal(err)
	}
	alone := driver.measure(t, *length)
	before := memory()
	others := exec.CommandContext(t.Context(), self, "watch", fmt.Sprintf("%s#%d", server.URL, *watchers))
	others.Stderr = os.Stderr
	in, err := others.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := others.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := others.Start(); err != nil {
		t.Fatal(err)
	}
	watched := driver.measure(t, *length)
	first := memory()
	again := driver.measure(t, *length)
	second := memory()
	_ = in.Close()
	text, _ := bufio.NewReader(out).ReadString('\n')
	_ = others.Wait()
	var frames, total int64
	if _, err := fmt.Sscan(text, &frames, &total); err != nil || frames == 0 {
		t.Errorf("the watchers print %q: %v", text, err)
	}
	perViewer := func(m uint64) int { return (int(m) - int(before)) / *watchers } //nolint:gosec // bytes of memory
	t.Logf("alone:    %v", alone)
	t.Logf("watched:  %v", watched)
	t.Logf("again:    %v", again)
	t.Logf("%d watchers got %d frames, %d MB, in %v: %.1f frames a second each", *watchers, frames, total>>20, 2**length, float64(frames)/float64(*watchers)/(2*length.Seconds()))
	t.Logf("memory of the server for each watcher: %d bytes, and %d bytes %v later", perViewer(first), perViewer(second), *length)
	for _, m := range []measurement{alone, watched, again} {
		if m.Winch != 0 {
			t.Errorf("the agent got %d SIGWINCH", m.Winch)
		}
		if m.p(99) > time.Second { // far above the aim of 50 ms, for a machine that does other work
			t.Errorf("the echo of a key took %v", m.p(99))
		}
	}
	if perViewer(second) > 512<<10 {
		t.Errorf("a watcher takes %d bytes", perViewer(second))
	}
}

// measurement is what the driver sees.
type measurement struct {
	Winch  int
	Rate   float64 // of the agent, in MB a second
	echoes []time.Duration
}

func (m measurement) p(percent int) time.Duration {
	return m.echoes[min(len(m.echoes)*percent/100, len(m.echoes)-1)]
}

func (m measurement) String() string {
	return fmt.Sprintf("%d keys, echo p50 %v, p95 %v, p99 %v, max %v; the agent prints %.1f MB/s, %d SIGWINCH", len(m.echoes),
		m.p(50).Round(100*time.Microsecond), m.p(95).Round(100*time.Microsecond), m.p(99).Round(100*time.Microsecond), m.p(100).Round(100*time.Microsecond), m.Rate, m.Winch)
}

// measure types a key, waits for its echo, and so on.
func (p *page) measure(t *testing.T, d time.Duration) measurement {
	t.Helper()
	var m measurement
	row := p.status(t, func(map[string]int) bool { return true })
	began, printed := time.Now(), row["printed"]
	for time.Since(began) < d {
		want := row["keys"] + 1
		sent := time.Now()
		if err := p.conn.Write(t.Context(), websocket.MessageBinary, []byte("ik")); err != nil {
			t.Fatal(err)
		}
		row = p.status(t, func(row map[string]int) bool { return row["keys"] >= want })
		m.echoes = append(m.echoes, time.Since(sent))
		next := time.NewTimer(10 * time.Millisecond)
		<-next.C
	}
	m.Winch, m.Rate = row["winch"], float64(row["printed"]-printed)*1.048576/time.Since(began).Seconds()
	slices.Sort(m.echoes)
	return m
}

// status reads output until a drawn first row fits, and returns its numbers.
func (p *page) status(t *testing.T, ok func(row map[string]int) bool) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		m, err := p.read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := bytes.Cut(m, []byte("keys="))
		if !found {
			continue
		}
		row := map[string]int{}
		for pair := range strings.SplitSeq("keys="+string(rest), "; ") {
			key, value, _ := strings.Cut(pair, "=")
			value, _, _ = strings.Cut(value, ";")
			row[key], _ = strconv.Atoi(value)
		}
		if ok(row) {
			return row
		}
	}
}

// memory returns the bytes of this process that are in use: heap and stacks.
func memory() uint64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
