package browser

import (
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/citytest"
)

// A person changes the order and the text of prompts that wait, by buttons and keys. The events name the device.
func TestTheQueueIsReorderedAndEdited(t *testing.T) {
	city := citytest.New(t, agent("worker", asks(runtime.WaitPermission, "May I?", "Yes", "No")))
	awaitQuestions(city, 1)
	ids := map[string]string{}
	for _, text := range []string{"one", "two", "three"} {
		r, err := city.Client.Nudge(t.Context(), "worker", client.NudgeRequest{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		ids[text] = r.ID
	}
	p := openConsole(t, city, phone)
	p.expect("/terminal")
	p.open("#/agent/worker/queue")
	order := `[...document.querySelectorAll('.prompt-full')].map((e) => e.innerText).join()`
	p.until("the prompts are in their order", order+` === 'one,two,three'`)
	button := func(text, step string) string {
		return `[data-prompt="` + ids[text] + `"] [data-step="` + step + `"]`
	}
	p.do(chromedp.Click(chromedp.CSS(button("three", "-1"))))
	p.until("the prompt is earlier", order+` === 'one,three,two'`)
	p.until("the focus stays at the button", `document.activeElement.matches('`+button("three", "-1")+`')`)
	p.press("\r")
	p.until("a key moves it again", order+` === 'three,one,two'`)
	p.until("the first prompt cannot be earlier", `document.activeElement.matches('`+button("three", "1")+`')`)
	p.do(chromedp.Click(chromedp.CSS(button("one", "1"))))
	p.until("the prompt is later", order+` === 'three,two,one'`)
	if wide := get[int64](p, `document.documentElement.scrollWidth`); wide > phone {
		t.Errorf("the page is %d px wide", wide)
	}
	for _, theme := range []string{"light", "dark"} {
		p.setTheme(theme)
		p.checkAccess("queue, " + theme)
	}
	p.do(chromedp.Click(chromedp.CSS(`[data-prompt="` + ids["two"] + `"] .queue-buttons button:nth-last-child(2)`)))
	p.until("the whole text is in the dialog", `document.querySelector('dialog textarea')?.value === 'two'`)
	p.press(" and more")
	p.tap("dialog button", "Save")
	p.until("the text is changed", order+` === 'three,two and more,one'`)

	queue, err := city.Client.Queue(t.Context(), "worker", client.OnlyOpen)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range queue {
		got = append(got, r.ID)
	}
	if want := []string{ids["three"], ids["two"], ids["one"]}; !slices.Equal(got, want) {
		t.Errorf("the queue is %v, want %v", got, want)
	}
	page, err := city.Client.PastEvents(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]int{}
	for _, e := range page.Events {
		if (e.Kind == "prompt.moved" || e.Kind == "prompt.edited") && e.Data["by"] != "" {
			by[e.Kind]++
		}
	}
	if by["prompt.moved"] != 3 || by["prompt.edited"] != 1 {
		t.Errorf("the events of the device are %v", by)
	}
}
