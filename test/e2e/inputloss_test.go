package e2e

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/boxagent"
	"gascity/test/boxmodel"
)

// handoverKills returns how often the controller is killed during a delivery; GC_KILLS changes it.
func handoverKills(t *testing.T) int {
	t.Helper()
	n := 14
	if text := os.Getenv("GC_KILLS"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("GC_KILLS: %v", err)
		}
	}
	return n
}

// deliveryBound is the progress_timeout of the city of the test.
const deliveryBound = 10 * time.Second

// moment is a step of a delivery at which the controller is killed.
type moment string

const (
	atStart  moment = "start"  // the receipt says injected, and the agent has read nothing
	atPaste  moment = "paste"  // the agent has read text, and no Enter
	atEnter  moment = "enter"  // the agent has just read Enter
	atSettle moment = "settle" // the agent has consumed the prompt, and the receipt does not say so
	atRemove moment = "remove" // the controller after a killed one removes the text
)

// kind is an agent of the test: how its input box behaves, and what it is sent. Its flags
// begin with its program.
type kind struct {
	member

	moments []moment
	text    func(n int) string // what follows the number of the prompt
	changes bool               // the program changes some texts
	blocks  bool               // it does not show its input, so that its input may be blocked
}

// inputLossKinds returns the agents of the test.
func inputLossKinds(t *testing.T) []kind {
	t.Helper()
	all := []moment{atStart, atPaste, atEnter, atSettle, atRemove}
	short := func(int) string { return "a short text" }
	box := func(name string, o boxmodel.Options, more, toml string, text func(int) string) kind {
		o.Style = "line"
		flags, err := boxagent.Flags(o)
		if err != nil {
			t.Fatal(err)
		}
		toml += "\nready_prompt_prefix = \"> \"\n"
		return kind{member: member{name: name, flags: boxagent.Name + " " + flags + " " + more, toml: toml}, moments: all, text: text, changes: o.Completes != "", blocks: o.Hides}
	}
	odd := []string{"a short text", "ends with a backslash \\", "see @note", "cafe\u0301", "line\nline", "#tag"}
	return []kind{
		box("folds", boxmodel.Options{Folds: 1, OddFold: true, NoBack: true}, "", "", short),
		box("hides", boxmodel.Options{Hides: true}, "", "", short),
		box("slow", boxmodel.Options{Echo: 200 * time.Millisecond}, "--slow-read 100ms", "", short),
		box("tall", boxmodel.Options{NoBack: true}, "", "", func(int) string { return strings.Repeat("row\n", 90) + "end" }),
		box("raw", boxmodel.Options{Vim: true, NoPaste: true, Clears: boxmodel.ClearsLine}, "", "", short),
		box("menus", boxmodel.Options{Completes: "@/#!", Continues: true, Composes: true, Strips: true}, "", "", func(n int) string { return odd[n%len(odd)] }),
		box("mux", boxmodel.Options{Turn: 50 * time.Millisecond, TurnHides: true}, "", "session = \"tmux\"", short),
		{member: member{name: "piped", flags: "fakeagent " + piped, toml: "session = \"subprocess\"\n" + pipedToml}, moments: []moment{atStart, atSettle}, text: short},
		{member: member{name: "works", flags: "fakeagent --worker", toml: "prompt_mode = \"worker\"\n"}, moments: []moment{atStart, atSettle}, text: short},
	}
}

// newInputLossCity makes a city of these agents.
func newInputLossCity(t *testing.T) (*city, []kind) {
	t.Helper()
	c := newCityOf(t, fmt.Sprintf("[delivery]\nprogress_timeout = %q\n", deliveryBound), nil)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(c.root, boxagent.Name)); err != nil {
		t.Fatal(err)
	}
	kinds := inputLossKinds(t)
	text, err := os.ReadFile(filepath.Join(c.root, client.CityFile))
	if err != nil {
		t.Fatal(err)
	}
	toml := string(text)
	for _, k := range kinds {
		toml += fmt.Sprintf("[[agents]]\nname = %q\nstart_command = \"exec %s --ledger %s\"\n%s\n", k.name, filepath.Join(c.root, k.flags), c.ledgerOf(k.name), k.toml)
	}
	c.write(toml)
	return c, kinds
}

// killTest is the state of the test: what was sent, and when the controller was killed.
type killTest struct {
	*testing.T
	c      *city
	random *rand.Rand
	kinds  []kind
	sent   map[string]sending // by receipt
	began  time.Time
	n      int            // prompts so far
	hits   map[moment]int // kills at the intended moment
	missed map[moment]int // kills at another moment
	kills  int
}

type sending struct {
	kind
	n    int
	text string
}

func (s *killTest) send(k kind, what string) string {
	s.Helper()
	s.n++
	text := fmt.Sprintf("p%d.%s %s", s.n, k.name, what)
	for end := time.Now().Add(waitLimit); ; {
		r, err := s.c.client.Nudge(s.Context(), k.name, client.NudgeRequest{Text: text, Key: strings.Fields(text)[0]})
		if err == nil {
			s.sent[r.ID] = sending{k, s.n, text}
			return r.ID
		}
		if time.Now().After(end) {
			s.Fatalf("%s takes no prompt: %v", k.name, err)
		}
		pause(50 * time.Millisecond)
	}
}

// queued returns the open receipts of an agent.
func (s *killTest) queued(k kind) []client.Receipt {
	list, err := s.c.client.Queue(s.Context(), k.name, client.OnlyOpen)
	if err != nil {
		s.Fatal(err)
	}
	return list
}

// await waits until the agent is at the moment, for aimTime at most.
func (s *killTest) await(k kind, m moment, from int) {
	const aimTime = 4 * time.Second
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for end := time.Now().Add(aimTime); time.Now().Before(end); <-ticks.C {
		if m == atStart {
			if slices.ContainsFunc(s.queued(k), func(r client.Receipt) bool { return r.State == client.ReceiptInjected }) {
				return
			}
			continue
		}
		switch now := s.reached(k, from); {
		case m == atSettle && now == m:
			pause(time.Duration(s.random.IntN(30)) * time.Millisecond)
			return
		case now == m, m == atEnter && now == atSettle:
			return
		}
	}
}

// reached returns the moment that the agent's ledger shows after its first from records.
func (s *killTest) reached(k kind, from int) moment {
	records := s.c.records(s.T, k.name)
	at := atStart
	for _, r := range records[min(from, len(records)):] {
		keys, err := hex.DecodeString(r.Hex)
		if err != nil {
			s.Fatal(err)
		}
		input := string(keys)
		switch {
		case r.Kind == ledger.Prompt:
			at = atSettle
		case r.Kind != ledger.Key:
		case strings.ContainsAny(input, "\x15\x7f"):
			at = atRemove
		case strings.Contains(input, "\r"):
			at = atEnter
		default:
			at = atPaste
		}
	}
	return at
}

// kill ends the controller at a moment of a delivery to the agent, and starts another one.
func (s *killTest) kill(k kind, m moment) {
	from := len(s.c.records(s.T, k.name))
	open := []string{s.send(k, k.text(s.n))}
	for _, r := range s.queued(k) {
		open = append(open, r.ID)
	}
	s.await(k, m, from)
	s.c.kill()
	at, now := time.Now(), s.reached(k, from)
	s.kills++
	s.c.start()
	hit := now == m
	if m == atEnter || m == atSettle {
		hit = (now == atEnter || now == atSettle) && slices.ContainsFunc(open, func(id string) bool { return s.openAt(id, at) })
	}
	if hit {
		s.hits[m]++
	} else {
		s.missed[m]++
	}
}

// openAt reports whether the receipt was delivered to its agent at that time.
func (s *killTest) openAt(id string, at time.Time) bool {
	r, err := s.c.client.Receipt(s.Context(), id, "")
	if err != nil {
		s.Fatal(err)
	}
	state := ""
	for _, step := range r.Steps {
		if step.At.Before(at) {
			state = step.State
		}
	}
	return state == client.ReceiptInjected
}

// TestAgentsAcceptPromptsAfterKills kills the controller at each step of a delivery, to agents of nine kinds:
// before the first byte, after the paste, after Enter, before the result is saved, and while
// the next controller removes the text. Within the limit every receipt is final or has the reason why it waits,
// and each agent consumes its next prompt. By the ledgers of the agents, no prompt is consumed twice or joined
// with another one, and none that is reported as delivered is missing.
func TestAgentsAcceptPromptsAfterKills(t *testing.T) {
	c, kinds := newInputLossCity(t)
	c.start()
	c.await("running", running)
	seed := uint64(time.Now().UnixNano())
	s := &killTest{T: t, c: c, random: rand.New(rand.NewPCG(seed, 1)), kinds: kinds, sent: map[string]sending{}, began: time.Now(), hits: map[moment]int{}, missed: map[moment]int{}}
	type aim struct {
		kind   int
		moment moment
	}
	var aims []aim
	for i, k := range kinds {
		for _, m := range k.moments {
			aims = append(aims, aim{i, m})
		}
	}
	total := handoverKills(t)
	for s.kills < total {
		s.random.Shuffle(len(aims), func(i, j int) { aims[i], aims[j] = aims[j], aims[i] })
		for _, a := range aims {
			if s.kills >= total {
				break
			}
			for range 2 { // others have a delivery at the same time
				if k := kinds[s.random.IntN(len(kinds))]; len(s.queued(k)) < 3 {
					s.send(k, k.text(s.n))
				}
			}
			if a.moment == atRemove {
				s.kill(kinds[a.kind], atPaste)
			}
			s.kill(kinds[a.kind], a.moment)
		}
	}
	c.await("adopted", running)
	s.check()
	c.stop()
}

// check looks at the outcome of every prompt.
func (s *killTest) check() {
	s.rest()
	for _, k := range s.kinds {
		s.send(k, "the last text")
	}
	s.rest()
	states := map[string]map[string]int{}
	ended := map[string]client.Receipt{}
	for id, sent := range s.sent {
		r, err := s.c.client.Receipt(s.Context(), id, "")
		if err != nil {
			s.Fatal(err)
		}
		if !r.Ended() && (r.State != client.ReceiptQueued || r.Reason == "") {
			s.Errorf("%s: the receipt %s is %s (%s): neither final nor waiting for a stated cause", sent.name, id, r.State, r.Reason)
		}
		ended[id] = r
		if states[sent.name] == nil {
			states[sent.name] = map[string]int{}
		}
		states[sent.name][r.State]++
	}
	taken := s.compare(ended)
	for id, sent := range s.sent {
		blocked := sent.blocks && strings.HasPrefix(ended[id].Reason, client.RefusalBlocked)
		if sent.n > s.n-len(s.kinds) && taken[sent.n] != 1 && !blocked {
			shown, _ := s.c.client.Peek(s.Context(), sent.name, 10)
			s.Errorf("%s is deaf: its last prompt is %s (%s)\n%s", sent.name, ended[id].State, ended[id].Reason, strings.TrimSpace(shown.Text))
		}
	}
	s.Logf("%d kills, %d prompts, %s", s.kills, len(s.sent), time.Since(s.began).Round(time.Second))
	for _, m := range []moment{atStart, atPaste, atEnter, atSettle, atRemove} {
		s.Logf("%-7s %d kills, %d more that came too early or too late", m, s.hits[m], s.missed[m])
	}
	for _, k := range s.kinds {
		s.Logf("%-7s %v", k.name, states[k.name])
	}
}

// rest waits until no receipt is open, except of agents whose input is blocked, and until the ledgers have the
// consumed prompts.
func (s *killTest) rest() {
	s.Helper()
	s.c.await("at rest", func(st client.Status) bool {
		for _, k := range s.kinds {
			if agentIn(st, k.name).InputBlocked == "" && len(s.queued(k)) > 0 {
				return false
			}
		}
		return true
	})
}

var numbered = regexp.MustCompile(`p(\d+)\.[a-z]+ `)

// compare compares the receipts with the ledgers, and returns how often each prompt was consumed.
func (s *killTest) compare(ended map[string]client.Receipt) (taken map[int]int) {
	taken = map[int]int{}
	for _, k := range s.kinds {
		for _, r := range ledger.Prompts(s.c.records(s.T, k.name)) {
			found := numbered.FindAllStringSubmatch(r.Text, -1)
			if len(found) != 1 {
				s.Errorf("%s consumed %d prompts at once: %q", k.name, len(found), r.Text)
				continue
			}
			var n int
			if _, err := fmt.Sscan(found[0][1], &n); err != nil {
				s.Fatal(err)
			}
			taken[n]++
			if !k.changes && !slices.ContainsFunc(slices.Collect(maps.Values(s.sent)), func(sent sending) bool { return sent.n == n && r.Is(sent.text) }) {
				s.Errorf("%s consumed %q, which is not the text of prompt %d", k.name, r.Text, n)
			}
		}
	}
	for id, r := range ended {
		sent := s.sent[id]
		switch n := taken[sent.n]; {
		case n > 1:
			s.Errorf("%s consumed prompt %d %d times", sent.name, sent.n, n)
		case n == 0 && (r.State == client.ReceiptSubmitted || r.State == client.ReceiptConsumed):
			s.Errorf("%s: prompt %d is %s (%s), and was not consumed", sent.name, sent.n, r.State, r.Evidence)
		case n == 1 && r.State != client.ReceiptSubmitted && r.State != client.ReceiptConsumed && r.State != client.ReceiptUnconfirmed:
			s.Errorf("%s: prompt %d is %s (%s), and was consumed", sent.name, sent.n, r.State, r.Reason)
		}
		if r.State == client.ReceiptDead || r.State == client.ReceiptUnconfirmed && sent.name != "piped" {
			s.Logf("%s: prompt %d is %s, consumed %d times: %s", sent.name, sent.n, r.State, taken[sent.n], r.Reason)
		}
	}
	return taken
}
