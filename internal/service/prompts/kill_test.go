package prompts_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/internal/store"
	"gascity/test/storetest"
)

// soak multiplies the prompts and kills of TestKilledControllersReconcile. The documented guarantee has 20:
// 2,000 prompts and 200 kills.
var soak = flag.Int("soak", 1, "multiply the prompts of the tests that reconcile, and the kills")

// order is a request to a controller process on its standard input, and answer is the response.
type order struct {
	N    int
	Name string
	Req  client.NudgeRequest
	Wait string // the id of a receipt: the response is that receipt when it is final, and no prompt is sent
}

type answer struct {
	N       int
	Receipt client.Receipt
	Error   string
}

// engineMain is a small controller process: it opens the store, takes over the sessions and delivers prompts.
// It reads requests from standard input.
func engineMain(dir string, names []string) error {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // this is a main
	defer cancel()
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "city.db")})
	if err != nil {
		return err
	}
	h, err := newPTYCity(dir, db)
	if err != nil {
		return err
	}
	for _, name := range names {
		h.read(ctx, name)
	}
	ended := make(chan error, 1)
	go func() { ended <- h.run(ctx) }()
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	var serving sync.WaitGroup
	in := json.NewDecoder(os.Stdin)
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			break
		}
		serving.Go(func() {
			a := answer{N: o.N}
			var err error
			if o.Wait == "" {
				a.Receipt, err = h.engine.Nudge(ctx, o.Name, o.Req)
			} else {
				bound, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				a.Receipt, err = h.engine.Receipt(bound, o.Wait, client.ReceiptConsumed)
			}
			if err != nil {
				a.Error = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(a) // the reader may be gone
		})
	}
	serving.Wait()
	cancel()
	return errors.Join(<-ended, db.Close())
}

// controllerProcess is a controller process that the test kills.
type controllerProcess struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan struct{} // closed after it has exited

	mu   sync.Mutex
	n    int
	asks map[int]chan answer
}

func startControllerProcess(t *testing.T, dir string, names []string) *controllerProcess {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	v := &controllerProcess{cmd: exec.Command(self, append([]string{"engine", dir}, names...)...), done: make(chan struct{}), asks: map[int]chan answer{}}
	v.cmd.Stderr = os.Stderr
	if v.in, err = v.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(v.done)
		for scan := json.NewDecoder(bufio.NewReader(out)); ; {
			var a answer
			if scan.Decode(&a) != nil {
				_ = v.cmd.Wait() // it was killed, or its input ended
				return
			}
			v.mu.Lock()
			ask := v.asks[a.N]
			delete(v.asks, a.N)
			v.mu.Unlock()
			ask <- a
		}
	}()
	return v
}

// ask sends a request. After an error the result is unknown.
func (v *controllerProcess) ask(o order) (client.Receipt, error) {
	ask := make(chan answer, 1)
	v.mu.Lock()
	v.n++
	o.N = v.n
	v.asks[o.N] = ask
	line, err := json.Marshal(o)
	if err == nil {
		_, err = v.in.Write(append(line, '\n'))
	}
	v.mu.Unlock()
	if err != nil {
		return client.Receipt{}, err
	}
	select {
	case a := <-ask:
		if a.Error != "" {
			return a.Receipt, errors.New(a.Error)
		}
		return a.Receipt, nil
	case <-v.done:
		return client.Receipt{}, errDead
	}
}

func (v *controllerProcess) kill9() {
	_ = v.cmd.Process.Kill() // it may have ended
	<-v.done
}

// Controllers are killed at random while senders send prompts to real sessions. At the end the receipts agree
// with the ledgers of the agents.
func TestKilledControllersReconcile(t *testing.T) {
	t.Parallel()
	prompts, kills := 100*(*soak), 10*(*soak)
	dir := shortDir(t)
	h, err := newPTYCity(dir, &storetest.Receipts{}) // starts and stops the agents, and sends no prompts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.close(t) })
	ledgers := map[string]string{
		"plain": h.begin(t, "plain", "--think", "20ms"),
		"lossy": h.begin(t, "lossy", "--think", "5ms", "--ignore-first-enter"),
		"osc":   h.begin(t, "osc", "--think", "10ms", "--osc7501"),
		"slow":  h.begin(t, "slow", "--think", "60ms"),
	}
	names := []string{"lossy", "osc", "plain", "slow"}
	w := &killTest{T: t, dir: dir, names: names, peek: h.Peek, receipts: map[string]sentPrompt{}}
	w.current = startControllerProcess(t, dir, names)
	var killing sync.WaitGroup
	killing.Go(func() { w.killRepeatedly(kills) })
	var sending sync.WaitGroup
	for id := range 8 {
		sending.Go(func() { w.sender(id, prompts/8) })
	}
	sending.Wait()
	killing.Wait()
	w.checkDelivered(ledgers)
}

// killTest is the state of the test.
type killTest struct {
	*testing.T
	dir   string
	names []string

	mu       sync.Mutex
	current  *controllerProcess
	kills    int
	peek     func(name string, lines int) (string, error)
	receipts map[string]sentPrompt
}

// killRepeatedly kills controllers at random times.
func (w *killTest) killRepeatedly(kills int) {
	for range kills {
		life := 50 + rand.IntN(500)
		if rand.IntN(3) == 0 {
			life += 1000 // long enough to finish deliveries of the previous one
		}
		<-time.After(time.Duration(life) * time.Millisecond)
		w.current.kill9()
		w.kills++
		v := startControllerProcess(w.T, w.dir, w.names)
		w.mu.Lock()
		w.current = v
		w.mu.Unlock()
	}
}

var sizes = []int{0, 0, 0, 0, 100, 600, 1015, 4096, 9995, 70_000}

func (w *killTest) sender(id, prompts int) {
	for n := range prompts {
		name := w.names[(id+n)%len(w.names)]
		text := fmt.Sprintf("sender %d prompt %04d for %s", id, n, name)
		if size := sizes[rand.IntN(len(sizes))]; size > 0 {
			text += " " + sized(size)
		}
		if n == prompts/2 && id == 0 {
			text = fmt.Sprintf("sender %d prompt %04d for %s ", id, n, name) + sized(1<<20-40)
		}
		req := client.NudgeRequest{Text: text, Key: fmt.Sprintf("%d-%d", id, n)}
		for end := time.Now().Add(time.Minute); ; {
			w.mu.Lock()
			v := w.current
			w.mu.Unlock()
			got, err := v.ask(order{Name: name, Req: req})
			if err == nil {
				w.mu.Lock()
				w.receipts[got.ID] = sentPrompt{name, text, id, n}
				w.mu.Unlock()
				break
			}
			if time.Now().After(end) {
				w.Errorf("%.40q was never accepted: %v", text, err)
				return
			}
			<-time.After(10 * time.Millisecond)
		}
		<-time.After(time.Duration(rand.IntN(400)) * time.Millisecond)
	}
}

// checkDelivered waits until the last controller has delivered everything, and compares receipts and ledgers.
func (w *killTest) checkDelivered(ledgers map[string]string) {
	final := w.drain()
	taken := map[string]int{} // by checksum
	for name, path := range ledgers {
		records, err := ledger.Read(path)
		if err == nil {
			err = ledger.Verify(records)
		}
		if err != nil {
			w.Fatal(err)
		}
		last := map[int]int{}
		for _, r := range ledger.Prompts(records) {
			taken[r.SHA256]++
			if r.Text == "" {
				continue // too long for the ledger
			}
			var sender, n int
			var agent string
			if _, err := fmt.Sscanf(r.Text, "sender %d prompt %d for %s", &sender, &n, &agent); err != nil || agent != name {
				w.Errorf("%s took %.60q", name, r.Text)
			} else if before, ok := last[sender]; ok && n <= before {
				w.Errorf("%s took prompt %d of sender %d after %d", name, n, sender, before)
			} else {
				last[sender] = n
			}
		}
	}
	count, arrived := map[string]int{}, map[string]bool{}
	for id, p := range w.receipts {
		r, ok := final[id]
		count[r.State]++
		n := taken[ledger.Sum(p.text)]
		switch took := r.State == client.ReceiptConsumed || r.State == client.ReceiptSubmitted && r.Closed; {
		case ok && (took && n == 1 || r.State == client.ReceiptUnconfirmed && n <= 1):
		default:
			w.Errorf("%.40q with %d bytes is %q (%s) and was taken %d times; steps %v", p.text, len(p.text), r.State, r.Reason, n, r.Steps)
		}
		arrived[id] = n > 0
		delete(taken, ledger.Sum(p.text))
	}
	for sum, n := range taken {
		w.Errorf("%s was taken %d times and has no receipt", sum, n)
	}
	var states []string
	for state, n := range count {
		states = append(states, fmt.Sprintf("%s %d", state, n))
	}
	slices.Sort(states)
	for id, r := range final {
		if r.State == client.ReceiptUnconfirmed {
			w.Logf("%s: %d attempts, taken %v, %s", r.Agent, r.Attempts, arrived[id], r.Reason)
		}
	}
	w.Logf("%d prompts, %d kills: %s", len(w.receipts), w.kills, strings.Join(states, ", "))
}

// drain waits until no receipt is open, stops the last controller, and returns the receipts.
func (w *killTest) drain() map[string]client.Receipt {
	final := map[string]client.Receipt{}
	for id := range w.receipts {
		got, err := w.current.ask(order{Wait: id})
		if err != nil {
			screen, _ := w.peek(got.Session, 40) // it may be gone
			w.Fatalf("the receipt %s: %v: %+v\n%s", id, err, got, screen)
		}
		final[id] = got
	}
	if err := w.current.in.Close(); err != nil {
		w.Error(err)
	}
	<-w.current.done
	return final
}
