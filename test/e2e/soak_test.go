package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// setting reads a number from the environment that enlarges a test.
func setting(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		if _, err := fmt.Sscan(text, &otherwise); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
	}
	return otherwise
}

// sent is one prompt of a sender.
type sent struct {
	sender, n int
	agent     string
	text      string
	key       string
	receipt   client.Receipt
}

// TestPromptsReconcile has eight senders, agents with every fault, controllers and agents that are killed,
// and a person who types. Afterwards every receipt is compared with the ledgers of the agents. GC_E2E_PROMPTS
// and GC_E2E_SOAK_KILLS enlarge it,
// GC_E2E_PROVIDERS has the agents run on several providers, see [soakAgents].
func TestPromptsReconcile(t *testing.T) {
	const senders = 8
	total, deaths := setting(t, "GC_E2E_PROMPTS", 200), setting(t, "GC_E2E_SOAK_KILLS", 20)
	agents := soakAgents()
	c := newCityOf(t, "max_restarts = 1000\n", membersOf(agents))
	c.start()
	c.await("running", running)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	var helpers sync.WaitGroup
	working, enough := context.WithCancel(ctx)
	helpers.Go(func() { c.answerQuestions(working) })
	typists := map[string]*typist{}
	for _, s := range agents {
		if s.sat {
			p := c.sitDown(t, s.name)
			typists[s.name] = p
			helpers.Go(func() { p.typeOn(working) })
		}
	}

	prompts := make([][]sent, senders)
	var group sync.WaitGroup
	for i := range senders {
		group.Go(func() { prompts[i] = c.sendMany(ctx, t, agents, i, total/senders) })
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	c.disturb(t, agents, done, deaths)
	all := slices.Concat(prompts...)
	c.waitQueueEmpty(ctx, t)
	enough()
	helpers.Wait()
	for _, p := range typists {
		p.leave()
	}
	c.reconcile(t, agents, c.receipts(ctx, t, all), typists)
	c.stop()
}

// receipts returns the receipts of the prompts.
func (c *city) receipts(ctx context.Context, t *testing.T, all []sent) []sent {
	t.Helper()
	for i := range all {
		r, err := c.client.Receipt(ctx, all[i].receipt.ID, "")
		if err != nil {
			t.Fatalf("the receipt %s of %q is gone: %v", all[i].receipt.ID, all[i].key, err)
		}
		all[i].receipt = r
	}
	return all
}

// disturb kills the controller, and sometimes an agent, until the senders are done and enough were killed.
func (c *city) disturb(t *testing.T, agents []soakAgent, done <-chan struct{}, deaths int) {
	t.Helper()
	for n := range deaths {
		pause(time.Duration(50+rand.IntN(400)) * time.Millisecond)
		c.kill()
		c.start()
		if n%max(1, deaths/3) == 1 {
			for _, m := range agents {
				if s, err := c.client.Session(t.Context(), m.name); m.is("dies") && err == nil && s.PID > 0 {
					_ = exec.Command("kill", "-9", fmt.Sprint(s.PID)).Run() // it may have ended meanwhile
				}
			}
		}
	}
	<-done
}

// sizes of prompts: most are small.
func soakSize() int {
	switch n := rand.IntN(100); {
	case n < 80:
		return 1 + rand.IntN(300)
	case n < 95:
		return 1000 + rand.IntN(4000)
	case n < 99:
		return 60_000 + rand.IntN(10_000)
	}
	return 1 << 20
}

func soakText(sender, n int) string {
	head := fmt.Sprintf("s%d-%d ", sender, n)
	text := head + strings.Repeat("lorem ipsum dolor; ", soakSize()/19+1)
	return strings.TrimSpace(text[:max(len(head)+1, min(len(text), 1<<20))])
}

// sendMany sends one sender's prompts, each until it is accepted.
func (c *city) sendMany(ctx context.Context, t *testing.T, agents []soakAgent, sender, n int) []sent {
	var out []sent
	for i := range n {
		m := agents[rand.IntN(len(agents))]
		p := sent{sender: sender, n: i, agent: m.name, text: soakText(sender, i), key: fmt.Sprintf("s%d-%d", sender, i)}
		if m.is("asks") && rand.IntN(3) == 0 {
			p.text = fmt.Sprintf("s%d-%d [[ask:May I go on?|Yes|No]]", sender, i)
		}
		if c.post(ctx, t, &p) {
			out = append(out, p)
		}
		pause(time.Duration(rand.IntN(60)) * time.Millisecond)
	}
	return out
}

// post sends a prompt until it is accepted, and reports whether it was.
func (c *city) post(ctx context.Context, t *testing.T, p *sent) bool {
	for ctx.Err() == nil {
		r, err := c.client.Nudge(ctx, p.agent, client.NudgeRequest{Text: p.text, Key: p.key, Source: fmt.Sprintf("sender %d", p.sender)})
		if err == nil {
			p.receipt = r
			return true
		}
		if errors.Is(err, client.ErrInvalid) || errors.Is(err, client.ErrNotFound) {
			t.Errorf("prompt %s was not accepted: %v", p.key, err)
			return false
		}
		pause(50 * time.Millisecond) // no controller, or an agent that is about to be started again
	}
	return false
}

// answerQuestions answers what the agents ask.
func (c *city) answerQuestions(ctx context.Context) {
	for ctx.Err() == nil {
		open, _ := c.client.Pending(ctx, "", client.OnlyOpen) // no controller: next time
		for _, q := range open {
			_, _ = c.client.Respond(ctx, q.ID, client.RespondRequest{Option: "Yes", By: "soak"})
		}
		pause(100 * time.Millisecond)
	}
}

// waitQueueEmpty waits until no prompt is queued or being delivered.
func (c *city) waitQueueEmpty(ctx context.Context, t *testing.T) {
	t.Helper()
	for {
		open, err := c.client.Queue(ctx, "", client.OnlyOpen)
		if err == nil && len(open) == 0 {
			return
		}
		if ctx.Err() != nil {
			t.Errorf("these prompts never came to an end: %+v", open)
			return
		}
		pause(100 * time.Millisecond)
	}
}

// reconcile compares every receipt with the ledgers.
func (c *city) reconcile(t *testing.T, agents []soakAgent, all []sent, typists map[string]*typist) {
	t.Helper()
	taken := map[string]map[string]int{} // agent, hash: how often
	order := map[string][]string{}       // agent: hashes as they were taken
	tallies := map[string]*tally{}       // by the provider
	at := map[string]*tally{}            // by the agent
	for _, m := range agents {
		if tallies[m.place] == nil {
			tallies[m.place] = &tally{states: map[string]int{}, mute: m.mute}
		}
		at[m.name] = tallies[m.place]
		records, err := ledger.Read(c.ledgerOf(m.name))
		if err != nil {
			t.Fatal(err)
		}
		taken[m.name] = map[string]int{}
		for _, r := range ledger.Prompts(records) {
			taken[m.name][r.SHA256]++
			order[m.name] = append(order[m.name], r.SHA256)
		}
	}
	known, why := map[string]map[string]bool{}, map[string]int{}
	for _, p := range all {
		n := taken[p.agent][ledger.Sum(p.text)]
		at[p.agent].count(p.receipt.State, n)
		if p.receipt.State != client.ReceiptConsumed {
			why[fmt.Sprintf("%s: %s: %s (taken: %v)", p.agent, p.receipt.State, p.receipt.Reason, n > 0)]++
		}
		if known[p.agent] == nil {
			known[p.agent] = map[string]bool{}
		}
		known[p.agent][ledger.Sum(p.text)] = true
		low, high := 0, 0
		switch p.receipt.State {
		case client.ReceiptConsumed, client.ReceiptSubmitted:
			low, high = 1, 1
		case client.ReceiptUnconfirmed:
			high = 1
		}
		if n < low || n > high {
			t.Errorf("%s to %s (%d bytes) is %s (%s) and was taken %d times: %+v", p.key, p.agent, len(p.text), p.receipt.State, p.receipt.Reason, n, p.receipt.Steps)
		}
	}
	typed := 0
	for agent, p := range typists {
		for _, line := range p.lines {
			if n := taken[agent][ledger.Sum(line)]; n != 1 {
				t.Errorf("the person at %s typed %q, and it was taken %d times", agent, line, n)
			}
			if known[agent] == nil {
				known[agent] = map[string]bool{}
			}
			known[agent][ledger.Sum(line)] = true
		}
		typed += len(p.lines)
	}
	for agent, hashes := range taken {
		for hash := range hashes {
			if !known[agent][hash] {
				t.Errorf("%s took a prompt that was never sent: fused, cut or changed: %s", agent, c.textOf(agent, hash))
			}
		}
	}
	c.checkOrder(t, all, order)
	t.Logf("%d prompts, %d typed lines", len(all), typed)
	for _, place := range slices.Sorted(maps.Keys(tallies)) {
		tallies[place].report(t, cmp.Or(place, "the city's provider"))
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		t.Logf("%4d  %s", why[reason], reason)
	}
}

// tally counts the states of the prompts on one provider.
type tally struct {
	states map[string]int
	sent   int
	taken  int // by the ledgers
	mute   bool
}

func (y *tally) count(state string, taken int) {
	y.states[state]++
	y.sent++
	y.taken += taken
}

// report fails if too few prompts were delivered for a meaningful test.
func (y *tally) report(t *testing.T, place string) {
	t.Helper()
	t.Logf("%s: %d prompts, %d taken; receipts: %s", place, y.sent, y.taken, table(y.states))
	proved := y.states[client.ReceiptConsumed]
	if y.mute {
		proved = y.taken
	}
	if proved < y.sent/2 {
		t.Errorf("%s: only %d of %d prompts came through: the soak proves little", place, proved, y.sent)
	}
}

func table(states map[string]int) string {
	var rows []string
	for _, state := range slices.Sorted(maps.Keys(states)) {
		rows = append(rows, fmt.Sprintf("%s %d", state, states[state]))
	}
	return strings.Join(rows, ", ")
}

func (c *city) textOf(agent, hash string) string {
	records, err := ledger.Read(c.ledgerOf(agent))
	if err != nil {
		return err.Error()
	}
	for _, r := range ledger.Prompts(records) {
		if r.SHA256 == hash {
			return fmt.Sprintf("%d bytes, %.300q", r.Bytes, r.Text)
		}
	}
	return "?"
}

// checkOrder fails if an agent accepted two prompts of one sender in another order than they were sent.
func (c *city) checkOrder(t *testing.T, all []sent, order map[string][]string) {
	t.Helper()
	type line struct {
		agent  string
		sender int
	}
	sequence := map[line][]sent{}
	for _, p := range all {
		sequence[line{p.agent, p.sender}] = append(sequence[line{p.agent, p.sender}], p)
	}
	for l, prompts := range sequence {
		slices.SortFunc(prompts, func(a, b sent) int { return cmp.Compare(a.n, b.n) })
		last := -1
		for _, p := range prompts {
			at := slices.Index(order[l.agent], ledger.Sum(p.text))
			if at < 0 {
				continue
			}
			if at < last {
				t.Errorf("%s took %s before an earlier prompt of the same sender", l.agent, p.key)
			}
			last = at
		}
	}
}

// typist is a person at an agent's terminal.
type typist struct {
	t     *testing.T
	cmd   *exec.Cmd
	tty   *os.File
	lines []string
}

func (c *city) sitDown(t *testing.T, agent string) *typist {
	t.Helper()
	cmd := exec.Command(c.gc, "attach", agent, "--city", c.root)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	go func() { // the output that a person sees; ends with the terminal
		buf := make([]byte, 4096)
		for {
			if _, err := tty.Read(buf); err != nil {
				return
			}
		}
	}()
	c.await("with a person at "+agent, func(s client.Status) bool { // before that the keys do not count as a person's
		return slices.ContainsFunc(s.Agents, func(a client.Agent) bool { return a.Name == agent && a.Attached > 0 })
	})
	return &typist{t: t, cmd: cmd, tty: tty}
}

// typeOn types lines, key by key with pauses, and submits each.
func (p *typist) typeOn(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		line := fmt.Sprintf("person %d %s", n, strings.Repeat("x", rand.IntN(20)))
		line = strings.TrimSpace(line)
		for _, r := range line + "\r" {
			if _, err := p.tty.WriteString(string(r)); err != nil {
				p.t.Errorf("the person cannot type: %v", err)
				return
			}
			pause(time.Duration(2+rand.IntN(30)) * time.Millisecond)
		}
		p.lines = append(p.lines, line)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(500+rand.IntN(5500)) * time.Millisecond):
		}
	}
	pause(time.Second) // the agent takes the last line
}

func (p *typist) leave() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	_ = p.cmd.Wait()                          // by a signal
	_ = p.tty.Close()
}
