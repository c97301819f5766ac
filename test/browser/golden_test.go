package browser

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/citytest"
)

var update = flag.Bool("update", false, "write the golden pictures")

const (
	goldenScale = 4   // a pixel of a golden picture is the mean of 4 by 4 pixels of the page
	tolerance   = 24  // difference of a color, of 255, that counts as different
	maxDiffer   = .03 // share of the pixels that may differ: fonts differ between machines
)

// frozen is a script with which all ages, dates and ids of the page are the same in each run: the
// clock stands, and the answers of the server have fixed times.
const frozen = `(() => {
	const at = Date.UTC(2026, 0, 2, 12, 0, 0), RealDate = Date, parse = JSON.parse;
	window.Date = class extends RealDate {
		constructor(...args) { args.length ? super(...args) : super(at); }
		static now() { return at; }
	};
	const loaded = RealDate.now(), base = at - 200_000; // all is 3 minutes old, and in its order
	const order = (ms) => new RealDate(base + Math.floor(ms)).toISOString().replace('Z', String(Math.floor((ms - Math.floor(ms)) * 1000)).padStart(3, '0') + 'Z'); // with microseconds: the order stays
	JSON.parse = (text) => parse(text, (key, value) => {
		if (typeof value === 'string' && /^20\d\d-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(value)) return order((RealDate.parse(value) - loaded) / 50);
		if (typeof value === 'number' && (key === 'pid' || key.endsWith('_seconds'))) return 42;
		return value;
	});
	Response.prototype.json = async function () { return JSON.parse(await this.text()); };
})()`

// Each page looks as in its golden picture, on a phone, a tablet and a desk. -update writes the
// pictures; look at them before you commit them. GC_TEST_PICTURES names a directory for the pictures
// in full size.
func TestPagesLookAsInTheirPictures(t *testing.T) {
	city := citytest.New(t, guarded("deploy")+
		agent("checkout", asks(runtime.WaitPermission, migrate, "Yes", "No"))+
		agent("payments", asks(runtime.WaitPermission, migrate, "Yes", "No"))+
		agent("frontend", fake.Script{Busy: true}.Command())+
		agent("writer", idle))
	awaitQuestions(city, 2)
	city.AwaitRunning("writer", runtime.ActivityIdle)
	city.AwaitRunning("frontend")
	authorize(t, city, "deploy", "sudo sh -c 'make install'")
	awaitQuestions(city, 3)
	if _, err := city.Client.Nudge(t.Context(), "writer", client.NudgeRequest{Text: "Write the release notes", Wait: client.ReceiptSubmitted}); err != nil {
		t.Fatal(err)
	}
	if !city.Agents.Print(city.AwaitRunning("writer").Session, "\x1b[1mRelease notes\x1b[0m\r\n\x1b[32m+ web console\x1b[0m\r\n") {
		t.Fatal("the agent does not run")
	}
	pages := []struct{ name, hash, ready string }{
		{"needs", "#/needs", `document.querySelectorAll('[data-question]').length === 2`},
		{"fleet", "#/fleet", `document.querySelectorAll('.agent-row[data-agent]').length === 5`},
		{"agent", "#/agent/writer", stateIs("Watching") + ` && ` + shows("web console")},
		{"queue", "#/agent/writer/queue", `!!document.querySelector('.prompt-full')`},
		{"timeline", "#/agent/checkout/timeline", `!!document.querySelector('.event')`},
		{"explain", "#/agent/checkout/explain", `!!document.querySelector('.explain')`},
		{"city", "#/city", `!!document.querySelector('main #page-title')`},
	}
	for _, width := range []int64{phone, 768, 1440} {
		p := openTab(t, city, width)
		p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: frozen})
			if err == nil {
				_, err = cdp.Call(ctx, target, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
			}
			return err
		}))
		p.visit(link(t, city))
		for _, one := range pages {
			p.open(one.hash)
			p.until("the page is loaded", fmt.Sprintf(`location.hash === %q && !!document.querySelector('main #page-title') && !document.querySelector('.loading') && (%s)`, one.hash, one.ready))
			get[bool](p, `(document.activeElement?.blur(), scrollTo(0, 0), document.fonts.ready.then(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))))`)
			p.compare(fmt.Sprintf("%s-%d", one.name, width))
		}
	}
}

// compare compares the part of the page that is on the screen with its golden picture.
func (p *page) compare(name string) {
	p.t.Helper()
	text, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	p.savePicture(name, text)
	full, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		p.t.Fatal(err)
	}
	small := shrink(full)
	file := filepath.Join("testdata", "golden", name+".png")
	if *update {
		var out bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatalf("%v; write the pictures with: go test ./test/browser -run PagesLook -update", err)
	}
	want, err := png.Decode(bytes.NewReader(golden))
	if err != nil {
		p.t.Fatal(err)
	}
	if share := difference(want, small); share > maxDiffer {
		p.t.Errorf("%.1f%% of the picture %s differ from its golden picture; look at it with GC_TEST_PICTURES=DIR, and if it is right: go test ./test/browser -run PagesLook -update", 100*share, name)
	} else {
		p.t.Logf("%s: %.2f%% differ", name, 100*share)
	}
}

// shrink returns a gray picture with the means of squares of pixels.
func shrink(full image.Image) *image.Gray {
	b := full.Bounds()
	out := image.NewGray(image.Rect(0, 0, b.Dx()/goldenScale, b.Dy()/goldenScale))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			sum := 0
			for dy := range goldenScale {
				for dx := range goldenScale {
					c, _ := color.GrayModel.Convert(full.At(b.Min.X+x*goldenScale+dx, b.Min.Y+y*goldenScale+dy)).(color.Gray)
					sum += int(c.Y)
				}
			}
			out.SetGray(x, y, color.Gray{Y: uint8(sum / (goldenScale * goldenScale))}) //nolint:gosec // a mean of bytes
		}
	}
	return out
}

// difference returns the share of the pixels that differ, 1 if the sizes differ.
func difference(want image.Image, got *image.Gray) float64 {
	if want.Bounds().Size() != got.Rect.Size() {
		return 1
	}
	differ := 0
	for y := range got.Rect.Dy() {
		for x := range got.Rect.Dx() {
			c, _ := color.GrayModel.Convert(want.At(x, y)).(color.Gray)
			if d := int(c.Y) - int(got.GrayAt(x, y).Y); max(d, -d) > tolerance {
				differ++
			}
		}
	}
	return float64(differ) / float64(got.Rect.Dx()*got.Rect.Dy())
}
