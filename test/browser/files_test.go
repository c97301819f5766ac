package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/citytest"
)

// tree is the git working tree of the agents of a city.
type tree struct {
	t    *testing.T
	city *citytest.City
}

// newTree makes the city's directory a git repository with one commit, and installs git for the city.
func newTree(t *testing.T, city *citytest.City) tree {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	if err := os.Symlink(git, filepath.Join(filepath.Dir(city.Root), "bin", "git")); err != nil {
		t.Fatal(err)
	}
	r := tree{t, city}
	r.git("init", "-q", "-b", "main")
	r.write(".gitignore", ".gc/\n.runtime/\n")
	r.write("README.md", "# Shop\n\nSells things.\n")
	r.write("src/cart/total.go", "package cart\n\n// Total returns the sum of the prices.\nfunc Total(prices []int) int {\n\tsum := 0\n\tfor _, p := range prices {\n\t\tsum += p\n\t}\n\treturn sum\n}\n")
	r.write("src/old_name.py", strings.Repeat("print('a line')\n", 12))
	r.write("web/cart.css", ".cart { color: red; }\n")
	r.write("data.bin", "\x00\x01")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "first")
	return r
}

func (r tree) git(args ...string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
	cmd.Dir = r.city.Root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (r tree) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.city.Root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// change changes files in every way, on a branch with a commit.
func (r tree) change() {
	r.t.Helper()
	r.git("checkout", "-q", "-b", "agent/cart")
	r.write("src/cart/tax.go", "package cart\n\nconst tax = 19 // percent\n")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "tax")
	r.write("src/cart/total.go", "package cart\n\n// Total returns the sum of the prices, with tax.\nfunc Total(prices []int) int {\n\tsum := 0\n\tfor _, p := range prices {\n\t\tsum += p\n\t}\n\treturn sum * (100 + tax) / 100\n}\n")
	r.git("mv", "src/old_name.py", "src/new_name.py")
	r.write("web/cart.css", "/* The cart. */\n.cart { color: \"#c00\"; }\n")
	r.write("docs/a directory with a long name/and-a-file-with-a-long-name-for-a-phone.md", "# Notes\n\nA long line that does not fit the width of a phone, because it has many words and then some more of them.\n")
	r.write("data.bin", "\x00\x02")
}

// A person reads what an agent changed: the list with its counts, the diff with colors, and what is
// committed on the branch. The list follows the turns of the agent.
func TestFilesOfAnAgent(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	r := newTree(t, city)
	r.change()
	city.AwaitRunning("writer", runtime.ActivityIdle)
	p := openConsole(t, city, desk)
	p.open("#/agent/writer/files")
	p.until("five files", `document.querySelectorAll('.file').length === 5`)
	if sum := p.text(".files-sum"); !strings.Contains(sum, "5 files") || !strings.Contains(sum, "+7") || !strings.Contains(sum, "−3") || !strings.Contains(sum, "agent/cart") {
		t.Errorf("the summary is %q", sum)
	}
	diff := `[...document.querySelectorAll('.file')].find((e) => e.innerText.includes('total.go'))`
	p.until("the diff of total.go is open", diff+`?.querySelector('.line.is-add') != null`)
	rows := get[string](p, `[...`+diff+`.querySelectorAll('.line:is(.is-add, .is-del)')].map((e) => [...e.querySelectorAll('.number')].map((n) => n.dataset.n ?? '').join('/') + ' ' + e.innerText.replace(/\n/g, '')).join('\n')`)
	want := "3/3 −// Total returns the sum of the prices.\n/3 +// Total returns the sum of the prices, with tax.\n9/9 −\treturn sum\n/9 +\treturn sum * (100 + tax) / 100"
	if rows != want {
		t.Errorf("the changed lines are\n%s\nwant\n%s", rows, want)
	}
	for kind, text := range map[string]string{"c": "// Total returns the sum of the prices, with tax.", "k": "return", "n": "100"} {
		if !get[bool](p, fmt.Sprintf(`[...%s.querySelectorAll('.is-add .t-%s')].some((e) => e.innerText === %q)`, diff, kind, text)) {
			t.Errorf("%q has not the color %s", text, kind)
		}
	}
	p.press("j")
	p.until("the first file has the focus", `document.activeElement.matches('.file-head') && document.activeElement.innerText.includes('data.bin')`)
	p.press("j", "j")
	p.until("the third file has the focus", `document.activeElement.innerText.includes('total.go')`)
	p.press("\r")
	p.until("it is closed", `document.activeElement.getAttribute('aria-expanded') === 'false'`)
	p.press("k", "\r", "\r")
	p.until("another file has the focus and is as before", `document.activeElement.innerText.includes('docs/') && location.hash === '#/agent/writer/files'`)
	r.write("during the turn.txt", "a new file\n")
	if _, err := city.Client.Nudge(t.Context(), "writer", client.NudgeRequest{Text: "hello", Wait: client.ReceiptConsumed}); err != nil {
		t.Fatal(err)
	}
	p.until("the new file is in the list after the turn", `document.querySelectorAll('.file').length === 6`)
	p.until("what was closed stays closed", diff+`.querySelector('.file-head').getAttribute('aria-expanded') === 'false'`)
	p.tap(".compare button", "Since main")
	p.until("the committed file is in the list", `document.querySelectorAll('.file').length === 7 && document.querySelector('.file-list').innerText.includes('tax.go')`)
	r.write("late.txt", "a new file\n")
	p.tap(".files-tools button", "Refresh")
	p.until("the late file is in the list", `document.querySelector('.file-list').innerText.includes('late.txt')`)
}

// A diff that is too large for the list is loaded when a person opens the file.
func TestALongDiffIsLoadedOnDemand(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	r := newTree(t, city)
	for i := range 5 {
		r.write(fmt.Sprintf("long-%d.txt", i), strings.Repeat("a line of a long file\n", 9000))
	}
	p := openConsole(t, city, phone)
	p.open("#/agent/writer/files")
	p.until("five files", `document.querySelectorAll('.file').length === 5`)
	for _, name := range []string{"long-0.txt", "long-4.txt"} {
		p.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(`[id="file-%s"]`, name))))
		file := fmt.Sprintf(`document.getElementById('file-%s').closest('.file')`, name)
		p.until(name+" has its first rows", file+`.querySelectorAll('.line.is-add').length > 300`)
		p.until(name+" has a button for more", `[...`+file+`.querySelectorAll('button')].some((e) => e.innerText.startsWith('Show '))`)
	}
	p.until("the cut is shown", `document.querySelector('.file-diff').innerText.includes('Not complete: its diff ends after 128 KiB')`)
}

// Names and contents of files are text: nothing runs, and what is invisible is shown.
func TestHostileFilesAreText(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	r := newTree(t, city)
	const script = `<img src=x onerror="window.attacked=1"><script>window.attacked=1`
	r.write(strings.ReplaceAll(script, "/", "")+".html", script+"</script>\n")
	r.write("name \u202etxt.exe", "if (admin\u202e \u2066) { \u200bgrant(); } // \x1b[31mred\n")
	r.write("line\nend\x1b[2J", "access = \"user\u2066\"\r\n")
	p := openConsole(t, city, desk)
	p.open("#/agent/writer/files")
	p.until("the files", `document.querySelectorAll('.file').length === 3`)
	get[bool](p, `(document.querySelectorAll('.file-head[aria-expanded=false]').forEach((e) => e.click()), true)`)
	p.until("all are open", `document.querySelectorAll('.file-diff').length === 3 && document.querySelector('.files').innerText.includes('access =')`)
	text := p.text(".files")
	for _, want := range []string{script, `name \u202etxt.exe`, `"line\nend\033[2J"`, `if (admin\u202e \u2066) { \u200bgrant(); } // \u001b[31mred`, `access = "user\u2066"\r`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %s:\n%s", want, text)
		}
	}
	if strings.ContainsAny(text, "\u202e\u2066\u200b\x1b") {
		t.Errorf("the page has invisible characters:\n%q", text)
	}
	if get[bool](p, `!!window.attacked || !!document.querySelector('.files :is(img, script)')`) {
		t.Error("the name or the content of a file became part of the page")
	}
}

// A directory without a repository is explained, and read again after a repair.
func TestNoRepositoryIsExplained(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	p := openConsole(t, city, phone)
	p.expect("/changes")
	p.open("#/agent/writer/files")
	p.until("the reason", `document.querySelector('.panel .empty')?.innerText.includes('git is not found in PATH')`)
	r := newTree(t, city)
	r.write("README.md", "# Shop\n")
	p.tap(".panel button", "Try again")
	p.until("the list", `document.querySelectorAll('.file').length === 1`)
	p.checkAccess("files")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "second")
	p.tap(".files-tools button", "Refresh")
	p.until("nothing is changed", `document.querySelector('.panel .empty')?.innerText.includes('No uncommitted change.')`)
	p.checkAccess("no files")
}

// The tab has no violation of accessibility, in both themes, on a phone and on desks.
func TestFilesAreAccessible(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	newTree(t, city).change()
	for _, width := range []int64{phone, desk, 1440} {
		p := openConsole(t, city, width)
		p.open("#/agent/writer/files")
		p.until("the files", `document.querySelectorAll('.file').length === 5`)
		get[bool](p, `(document.querySelectorAll('.file-head[aria-expanded=false]').forEach((e) => e.click()), true)`)
		p.until("all are open", `document.querySelectorAll('.file-diff').length === 5`)
		for _, theme := range []string{"light", "dark"} {
			p.setTheme(theme)
			p.checkAccess(fmt.Sprintf("files, %s, %d px", theme, width))
			if wide := get[int64](p, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("the files are %d px wide on a screen of %d px", wide, width)
			}
		}
	}
}

// A person downloads a file by keyboard: a changed one, and one by its path. The browser saves it under a safe name. A file that is too
// large for a browser, one that is missing and one outside the working directory are refused with the reason.
func TestAFileIsDownloaded(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	r := newTree(t, city)
	const content = "\x00\xff not text \u202e"
	r.write("docs/.hidden \u202etxt.exe", content)
	r.write("src/cart/total.go", "package cart\n")
	large, err := os.Create(filepath.Join(city.Root, "large.bin"))
	if err == nil {
		err = errors.Join(large.Truncate(65<<20), large.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	city.AwaitRunning("writer", runtime.ActivityIdle)
	p := openConsole(t, city, phone)
	p.expect("/copy-out") // of the refused ones
	downloads := t.TempDir()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: downloads})
		return err
	}))
	saved := func(name, want string) {
		t.Helper()
		city.Until("the browser has saved "+name, func(context.Context) bool {
			text, err := os.ReadFile(filepath.Join(downloads, name))
			return err == nil && string(text) == want
		})
	}
	p.open("#/agent/writer/files")
	head := `[...document.querySelectorAll('.file-head')].find((e) => e.innerText.includes('total.go'))`
	p.until("the files", head+` != null`)
	get[bool](p, `(`+head+`.getAttribute('aria-expanded') === 'true' || `+head+`.click(), `+head+`.focus(), true)`)
	button := head + `.closest('.file').querySelector('.file-diff .diff-end button')`
	p.until("the button of the file", button+`?.innerText === 'Download this file'`)
	p.press("\t")
	p.until("the button has the focus by keyboard", `document.activeElement === `+button)
	p.press("\r")
	saved("total.go", "package cart\n")

	get[bool](p, `(document.querySelector('#file-get').focus(), true)`)
	field := func(path string) {
		t.Helper()
		get[bool](p, `(document.querySelector('#file-get').select(), true)`)
		p.press(path, "\r")
	}
	get[bool](p, fmt.Sprintf(`(() => { const e = document.querySelector('#file-get'); e.value = %q; e.dispatchEvent(new Event('input', { bubbles: true })); return true; })()`, "docs/.hidden \u202etxt.exe"))
	p.press("\r")
	saved("_hidden _txt.exe", content)
	for path, want := range map[string]string{
		"large.bin": "more than 64 MiB, which is too much for a browser. Copy it in a terminal: gc copy writer:large.bin .",
		"absent":    "absent", "../x": "invalid",
	} {
		field(path)
		p.until("the reason for "+path, fmt.Sprintf(`document.querySelector('.file-get [role=alert]')?.innerText.includes(%q)`, want))
	}
	p.checkThemes("download", phone)
	if files, err := os.ReadDir(downloads); err != nil || len(files) != 2 {
		t.Errorf("the browser has saved %v, %v; want two files", files, err)
	}
}

// A device that may not manage gets no file: neither by a button nor by a request.
func TestADownloadNeedsTheScopeManage(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	r := newTree(t, city)
	r.write("src/cart/total.go", "package cart\n")
	city.AwaitRunning("writer", runtime.ActivityIdle)
	link(t, city)
	code, err := city.Client.NewWebCode(t.Context(), client.WebCodeRequest{Scope: client.ScopeType})
	if err != nil {
		t.Fatal(err)
	}
	p := openTab(t, city, desk)
	p.expect("/copy-out")
	p.visit(code.Link)
	p.open("#/agent/writer/files")
	p.until("the file is open", `!!document.querySelector('.file-diff .line')`)
	if get[bool](p, `!!document.querySelector('.file-get') || document.querySelector('.files').innerText.includes('Download')`) {
		t.Error("a device with the scope type has a button to download")
	}
	status := get[int](p, `fetch('/api/v1/sessions/writer/copy-out', { method: 'POST', headers: { 'Content-Type': 'application/json', 'Gc-Web-Key': localStorage.getItem('gc.key') }, body: '{"path":"README.md","plain":true}' }).then((r) => r.status)`)
	if status != http.StatusForbidden {
		t.Errorf("the request of a device with the scope type is answered with %d", status)
	}
}
