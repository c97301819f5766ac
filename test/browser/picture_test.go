package browser

import (
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

// picture saves a picture of the page in the directory that GC_TEST_PICTURES names, for people. It
// does nothing if the variable is not set.
func (p *page) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("GC_TEST_PICTURES")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), p.screenshot(), 0o600); err != nil {
		p.t.Error(err)
	}
}

// screenshot returns a picture of the whole page as PNG.
func (p *page) screenshot() []byte {
	p.t.Helper()
	text, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}
