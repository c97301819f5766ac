package tui

import (
	"testing"

	"pgregory.net/rapid"

	"gascity/internal/terminal/vt"
)

// TestOutputShowsTheCanvas draws random canvases one after another: the terminal shows each as if it were the first.
func TestOutputShowsTheCanvas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols, rows := rapid.IntRange(1, 12).Draw(t, "cols"), rapid.IntRange(1, 4).Draw(t, "rows")
		screen := vt.New(cols, rows, nil)
		screen.Write([]byte(outputBegin))
		out := output{colors: TrueColors}
		for range 4 {
			c := newCanvas(cols, rows)
			for range rapid.IntRange(0, 6).Draw(t, "texts") {
				text := rapid.StringOfN(rapid.RuneFrom([]rune("ab 日本é́🙂│")), 0, 8, -1).Draw(t, "text")
				s := style{fg: vt.Indexed(rapid.Uint8Range(0, 255).Draw(t, "fg")), attr: rapid.SampledFrom([]vt.Attr{0, vt.Bold, vt.Reverse}).Draw(t, "attr")}
				c.all().text(rapid.IntRange(0, cols).Draw(t, "x"), rapid.IntRange(0, rows).Draw(t, "y"), text, s)
			}
			screen.Write(out.frame(c, cursor{}))
			for y := range rows {
				for x, got := range screen.Row(y) {
					want := c.row(y)[x]
					if want.text == "" && !want.right {
						want.text = " "
					}
					if got.Text != want.text || got.Style.FG != want.style.fg || got.Style.Attr != want.style.attr {
						t.Fatalf("column %d of row %d is %q %v, want %q %v", x, y, got.Text, got.Style, want.text, want.style)
					}
				}
			}
		}
	})
}

func TestColorsOfTheTerminal(t *testing.T) {
	for _, test := range []struct {
		colors Colors
		color  vt.Color
		want   string
	}{
		{NoColors, vt.Red, ""},
		{Colors16, vt.Red, ";31"},
		{Colors16, vt.Indexed(9), ";91"},
		{Colors16, vt.RGB(255, 0, 0), ";91"},
		{Colors16, vt.Indexed(244), ";37"},
		{Colors256, vt.RGB(255, 0, 0), ";38;5;196"},
		{Colors256, vt.RGB(128, 128, 128), ";38;5;244"},
		{TrueColors, vt.RGB(1, 2, 3), ";38;2;1;2;3"},
		{TrueColors, vt.Color(0), ""},
	} {
		o := output{colors: test.colors}
		if got := string(o.appendColor(nil, test.color, 30)); got != test.want {
			t.Errorf("color %x on a terminal of kind %d is %q, want %q", test.color, test.colors, got, test.want)
		}
	}
}
