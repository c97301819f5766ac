package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/citytest"
)

// canvasOf returns an expression for the picture of an agent's screen.
func canvasOf(name string) string {
	return fmt.Sprintf(`document.querySelector('.thumb[data-agent=%q] canvas')`, name)
}

// drawn returns an expression that counts the pixels of a picture whose red, green and blue satisfy a condition.
func drawn(name, condition string) string {
	return fmt.Sprintf(`(() => {
		const c = %s;
		if (!c || !c.width) return 0;
		const p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
		let n = 0;
		for (let i = 0; i < p.length; i += 4) { const r = p[i], g = p[i + 1], b = p[i + 2]; if (p[i + 3] === 255 && (%s)) n++; }
		return n;
	})()`, canvasOf(name), condition)
}

// countRequests makes the page count the requests whose address contains the text, in window.requests.
const countRequests = `(() => {
	window.requests = 0;
	const real = window.fetch;
	window.fetch = (url, options) => { if (String(url).includes('/screens')) window.requests++; return real(url, options); };
	return true;
})()`

// The wall shows the screens of agents with their colors, follows changes without a request, says why an agent has no screen,
// and opens an agent by a key.
func TestTheWallShowsScreens(t *testing.T) {
	city := newCity(t)
	session := city.AwaitRunning("writer").Session
	p := openConsole(t, city, phone)
	p.expect("/terminal")
	get[bool](p, countRequests)
	p.open("#/fleet")
	p.tap(".views button", "Screens")
	p.until("there is a picture for each agent", `document.querySelectorAll('.thumb canvas').length === 5`)
	p.do(chromedp.ScrollIntoView(chromedp.CSS(`.thumb[data-agent=writer]`)))
	p.until("the text of the agent is drawn", drawn("writer", `r + g + b < 600`)+` > 8`)
	if red := get[int](p, drawn("writer", `r > 150 && g < 80`)); red > 0 {
		t.Errorf("%d red pixels before anything red was printed", red)
	}
	print := func(text string) {
		t.Helper()
		if !city.Agents.Print(session, text) {
			t.Fatal("the agent does not run")
		}
	}
	print("\x1b[41m        \x1b[m alarm <img src=x onerror=\"window.attacked=1\">")
	p.until("the color is drawn", drawn("writer", `r > 150 && g < 80`)+` > 50`)
	requests := get[int](p, `window.requests`)
	print("\x1b[44m        \x1b[m")
	p.until("the next color is drawn", drawn("writer", `b > 150 && r < 80`)+` > 50`)
	if again := get[int](p, `window.requests`); again != requests {
		t.Errorf("a change of a screen caused %d requests", again-requests)
	}
	if get[bool](p, `!!window.attacked || !!document.querySelector('.thumb img')`) {
		t.Error("text of an agent became part of the page")
	}

	if _, err := city.Client.Suspend(t.Context(), "writer", client.LifecycleRequest{Reason: "for the weekend"}); err != nil {
		t.Fatal(err)
	}
	p.until("the card says why there is no screen", `!`+canvasOf("writer")+` && document.querySelector('.thumb[data-agent=writer]').innerText.includes('for the weekend')`)
	if _, err := city.Client.Resume(t.Context(), "writer", client.LifecycleRequest{}); err != nil {
		t.Fatal(err)
	}
	city.AwaitRunning("writer", runtime.ActivityIdle)
	p.until("the next instance is drawn", drawn("writer", `r + g + b < 600`)+` > 8`)

	p.do(chromedp.Reload())
	p.until("the choice is remembered", `document.querySelectorAll('.thumb').length === 5`)
	get[bool](p, countRequests)
	p.press("w")
	p.until("the table is back", `document.querySelectorAll('.agent-row[data-agent]').length === 5 && !document.querySelector('.thumb')`)
	p.press("w", "j", " ")
	p.until("a card is selected", `document.querySelectorAll('.thumb input:checked').length === 1 && !!document.querySelector('.bulk')`)
	p.press("\x1b", "\r")
	p.until("the agent is shown", `location.hash.startsWith('#/agent/')`)
}

// Only screens that a person can see are read: of 200 agents, those on the screen. Without a wall none is.
func TestTheWallReadsWhatIsVisible(t *testing.T) {
	var config strings.Builder
	const agents = 200
	for i := range agents {
		config.WriteString(agent(fmt.Sprintf("worker-%03d", i), idle))
	}
	city := citytest.New(t, "[daemon]\nmax_wakes_per_tick = 50\n"+config.String())
	city.AwaitRunning(fmt.Sprintf("worker-%03d", agents-1), runtime.ActivityIdle)
	p := openConsole(t, city, desk)
	opened := func() int { return len(city.Agents.Calls("OpenTerminal")) }
	p.open("#/fleet")
	p.until("all agents are in the table", fmt.Sprintf(`document.querySelectorAll('.agent-row[data-agent]').length === %d`, agents))
	if n := opened(); n != 0 {
		t.Errorf("%d terminals were opened without a wall", n)
	}
	p.tap(".views button", "Screens")
	p.until("the first agent is drawn", drawn("worker-000", `r + g + b < 600`)+` > 8`)
	if n := opened(); n == 0 || n > 40 {
		t.Errorf("%d terminals were opened for one screen of the wall", n)
	}
	before := opened()
	p.do(chromedp.ScrollIntoView(chromedp.CSS(`.thumb[data-agent=worker-150]`)))
	p.until("an agent further down is drawn", drawn("worker-150", `r + g + b < 600`)+` > 8`)
	if n := opened() - before; n == 0 || n > 60 {
		t.Errorf("%d terminals were opened after a jump", n)
	}
}
