// Package dashboard compares gc top with other programs that show many agents in one terminal, measured in turn in one run.
//
//	go test -count=1 -v -timeout 30m ./bench/dashboard -rounds 5 -agents 50
//
// It takes two to three minutes for each round. A program that is not installed is left out. ccmanager is a package of npm: install it into a
// temporary folder, and put its node_modules/.bin into PATH. To check the test itself: -rounds 1 -agents 4 -idle 1s.
package dashboard

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
)

var (
	rounds = flag.Int("rounds", 0, "how often each program is measured; 0: the test is skipped")
	agents = flag.Int("agents", 50, "agents of each program")
	idle   = flag.Duration("idle", 20*time.Second, "how long the processor time is measured")
	opens  = flag.Int("opens", 5, "how often each program is opened in a round")
)

// figures are what was measured of a tool. Each has one value for a round.
type figures struct {
	tool
	bench *bench
	rows  int // agents that fit into the list

	list, whole, returned    []float64 // ms
	own, servers, unobserved []float64 // ms of processor time in the time -idle
	keys                     []float64
}

// TestDashboards measures each tool in turn:
//
//   - list, and complete frame: the time from the start of the command until all rows of the list are shown, and until the screen of
//     the selected agent is shown too;
//   - processor time while nothing happens: of the program, and of the processes that work for it, with and without the program;
//   - the number of keys from the list, after an agent has asked a question, until it is answered and the list is shown again;
//   - the time from the key that returns from the screen of an agent until the list is shown.
func TestDashboards(t *testing.T) {
	if *rounds == 0 {
		t.Skip("it measures for minutes; run it by hand with -rounds")
	}
	var all []*figures
	for _, c := range []struct {
		program string // what must be installed; empty: nothing
		tool    func(*bench) tool
	}{{"", gcTop}, {"tmux", chooseTree}, {"screen", windowList}, {"ccmanager", ccManager}} {
		if _, err := exec.LookPath(c.program); err != nil && c.program != "" {
			t.Logf("%s is not installed", c.program)
			continue
		}
		b := newBench(t, *agents)
		all = append(all, &figures{tool: c.tool(b), bench: b})
	}
	for _, f := range all {
		f.start()
	}
	for _, f := range all { // what is read once is read now
		w := openTerminal(t, f.command())
		w.until("agents", func(screen string) bool { return listed(screen) > 0 })
		text := w.text(time.Second)
		f.rows = listed(text)
		w.close()
		t.Logf("%s shows:\n%s", f.name, text)
	}
	t.Logf("load at the begin: %s", load(t))
	for round := range *rounds {
		agent := min((2*round+1)**agents/(2**rounds), *agents-1) // the positions are spread evenly
		pause(*idle / 4)
		spent := map[*figures]time.Duration{}
		for _, f := range all {
			spent[f] = processorTime(t, f.serving())
		}
		pause(*idle)
		for _, f := range all {
			f.unobserved = append(f.unobserved, ms(processorTime(t, f.serving())-spent[f]))
		}
		for _, f := range all {
			f.first(t)
		}
		for _, f := range all {
			f.rest(t, agent)
		}
		t.Logf("after round %d:\n%s", round+1, table(all))
	}
	t.Logf("load at the end: %s", load(t))
}

// first measures the first frames. It opens the program several times, and takes the median.
func (f *figures) first(t *testing.T) {
	t.Helper()
	var list, whole []float64
	for range *opens {
		w := openTerminal(t, f.command())
		list = append(list, ms(w.until("the list", f.isList).Sub(w.began)))
		if f.preview {
			whole = append(whole, ms(w.until("the list and a screen", f.isWhole).Sub(w.began)))
		}
		w.text(300 * time.Millisecond)
		w.close()
	}
	f.list = append(f.list, median(list))
	if f.preview {
		f.whole = append(f.whole, median(whole))
	}
}

func (f *figures) isList(screen string) bool { return listed(screen) >= f.rows }

func (f *figures) isWhole(screen string) bool {
	return f.isList(screen) && strings.Contains(screen, footer)
}

// rest measures the program while nothing happens, then how a question is answered, and the return to the list.
func (f *figures) rest(t *testing.T, agent int) {
	t.Helper()
	w := openTerminal(t, f.command())
	defer w.close()
	w.until("the list", f.isList)
	pause(*idle / 4)
	own, servers := family(w.cmd.Process.Pid), f.serving()
	ownBefore, serversBefore := processorTime(t, own), processorTime(t, servers)
	pause(*idle)
	f.own = append(f.own, ms(processorTime(t, own)-ownBefore))
	f.servers = append(f.servers, ms(processorTime(t, servers)-serversBefore))

	if f.ask == nil {
		return
	}
	askedBefore, chosenBefore := f.bench.count(agent, ledger.Asked), f.bench.count(agent, ledger.Choice)
	f.ask(agent)
	f.bench.await(agent, ledger.Asked, askedBefore+1)
	w.text(time.Second)
	w.pressed = 0
	f.answer(w)
	w.until("the list", f.isList)
	f.keys = append(f.keys, float64(w.pressed))
	f.bench.await(agent, ledger.Choice, chosenBefore+1)

	f.leave(w)
	w.until("one agent", func(screen string) bool { return listed(screen) <= 1 && strings.Contains(screen, footer) })
	w.text(500 * time.Millisecond)
	f.back(w)
	f.returned = append(f.returned, ms(w.until("the list", f.isList).Sub(w.pressedAt)))
	w.text(300 * time.Millisecond)
}

// table returns the medians, and the medians of the ratios to the first tool.
func table(all []*figures) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| figure, of %d agents in %dx%d |", *agents, cols, rows)
	for _, f := range all {
		fmt.Fprintf(&b, " %s |", f.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, row := range []struct {
		name string
		of   func(*figures) []float64
	}{
		{"start until the list is shown, ms", func(f *figures) []float64 { return f.list }},
		{"start until the list and a screen are shown, ms", func(f *figures) []float64 { return f.whole }},
		{"return from an agent to the list, ms", func(f *figures) []float64 { return f.returned }},
		{"processor time while idle, of the program, ms", func(f *figures) []float64 { return f.own }},
		{"of its servers, ms", func(f *figures) []float64 { return f.servers }},
		{"of its servers without the program, ms", func(f *figures) []float64 { return f.unobserved }},
		{"keys to answer", func(f *figures) []float64 { return f.keys }},
	} {
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, f := range all {
			values, base := row.of(f), row.of(all[0])
			var ratios []float64
			for i := range min(len(values), len(base)) {
				ratios = append(ratios, base[i]/max(values[i], 0.001))
			}
			switch {
			case len(values) == 0:
				b.WriteString(" - |")
			case f == all[0]:
				fmt.Fprintf(&b, " %.4g (%.4g to %.4g) |", median(values), slices.Min(values), slices.Max(values))
			default:
				fmt.Fprintf(&b, " %.4g (%.4g to %.4g), ratio %.3g |", median(values), slices.Min(values), slices.Max(values), median(ratios))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func load(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Skip("processor time is read from /proc")
	}
	return strings.TrimSpace(string(text))
}

func pause(d time.Duration) { <-time.After(d) }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
