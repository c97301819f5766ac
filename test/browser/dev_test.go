package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/citytest"
)

// The pages of a checkout work in a browser without a bundle, with a terminal and the number in the icon, and a reload shows an edit.
func TestThePagesOfACheckout(t *testing.T) {
	dir := t.TempDir()
	for _, part := range []string{"src", "static", "vendored"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("..", "..", "internal", "web", "ui", part))); err != nil {
			t.Fatal(err)
		}
	}
	city := citytest.New(t, agent("writer", idle)+agent("asker", asks(runtime.WaitPermission, migrate, "Yes", "No")))
	session := city.AwaitRunning("writer", runtime.ActivityIdle).Session
	awaitQuestions(city, 1)
	on, err := city.Client.StartWeb(t.Context(), client.WebRequest{Listen: "127.0.0.1:0", Dev: dir})
	if err != nil || on.Dev != dir {
		t.Fatalf("the web console is %+v, %v", on, err)
	}
	code, err := city.Client.NewWebCode(t.Context(), client.WebCodeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	p := openTab(t, city, desk)
	p.visit(code.Link)
	if scripts := get[[]string](p, `performance.getEntriesByType('resource').map((e) => e.name)`); !strings.Contains(strings.Join(scripts, " "), "/src/parts/question.js") {
		t.Errorf("the page has loaded %v, want the modules of the checkout", scripts)
	}
	if icon := get[string](p, `document.getElementById('favicon').getAttribute('href')`); icon != "/src/icons/1.svg" {
		t.Errorf("the icon is %q", icon)
	}
	p.open("#/agent/writer")
	p.until("the terminal is watched", stateIs("Watching"))
	city.Agents.Print(session, "without a bundle\n")
	p.until("the output is on the screen", shows("without a bundle"))
	p.picture("dev")
	file := filepath.Join(dir, "src", "parts", "terminalview.js")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), "'Watching'", "'Looking on'", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Reload())
	p.until("a reload shows the edit", stateIs("Looking on"))
}
