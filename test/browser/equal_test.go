package browser

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gascity/runtime"
	"gascity/test/citytest"
)

// After any mixture of output, lost connections and opened pages the terminal of the page shows what
// gc peek shows. TestFramesEqualPeek of the drivers has changes of the size too.
func TestTheTerminalEqualsPeek(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	session := city.AwaitRunning("writer", runtime.ActivityIdle).Session
	p := openTab(t, city, desk)
	p.expect("WebSocket")
	p.visit(link(t, city))
	get[bool](p, `(() => {
		const Real = window.WebSocket;
		window.sockets = [];
		window.WebSocket = class extends Real { constructor(...args) { super(...args); window.sockets.push(this); } };
		return true;
	})()`)
	p.open("#/agent/writer")
	p.until("the terminal is watched", stateIs("Watching"))
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // a test
	pieces := []string{"plain text ", "größer ☃ ", "日本語 ", "\n", "line\n", "\x1b[31;1mred\x1b[0m ", strings.Repeat("long ", 3) + "\n"}
	for round := range 25 {
		for range 1 + random.IntN(4) {
			city.Agents.Print(session, pieces[random.IntN(len(pieces))])
		}
		switch random.IntN(4) {
		case 0:
			get[bool](p, `(window.sockets.at(-1).close(), true)`)
		case 1:
			p.open("#/fleet")
			p.open("#/agent/writer")
		}
		mark := fmt.Sprintf("mark %d", round)
		city.Agents.Print(session, mark+"\n")
		p.until("the mark is on the screen", stateIs("Watching")+` && `+shows(mark))
		want, err := city.Client.Peek(t.Context(), "writer", 0)
		if err != nil {
			t.Fatal(err)
		}
		flat := strings.NewReplacer("\n", "", " ", "", "\x1b[31;1m", "", "\x1b[0m", "")
		got := flat.Replace(strings.ReplaceAll(p.text(".xterm-rows"), "\u00a0", " "))
		if peek := flat.Replace(want.Text); len(got) == 0 || !strings.HasSuffix(peek, got) {
			t.Fatalf("round %d: the page shows\n%s\nand gc peek\n%s", round, got, peek)
		}
	}
}
