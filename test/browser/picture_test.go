package browser

import (
	"context"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

// picture saves a picture of the whole page in the directory that GC_TEST_PICTURES names, for people.
// It does nothing if the variable is not set.
func (p *page) picture(name string) {
	p.t.Helper()
	if os.Getenv("GC_TEST_PICTURES") != "" {
		p.savePicture(name, p.screenshot())
	}
}

// savePicture saves a PNG in the directory that GC_TEST_PICTURES names, if the variable is set.
func (p *page) savePicture(name string, text []byte) {
	p.t.Helper()
	dir := os.Getenv("GC_TEST_PICTURES")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), text, 0o600); err != nil {
		p.t.Error(err)
	}
}

// screenshot returns a picture of the whole page as PNG.
func (p *page) screenshot() []byte {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}
