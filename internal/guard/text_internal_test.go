package guard

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// TestTextEqualsEncodingJSON checks that text returns the same as encoding/json for every JSON
// string.
func TestTextEqualsEncodingJSON(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{`\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u0026`, `\u0000`, `\ud83d\ude00`, `\uD83D`, `\ude00`, `'`, "`", "\x7f", "\xff", "\u2028", "é", "😀"}),
		rapid.StringMatching(`[ !#-\[\]-~]{0,8}`),
		rapid.StringMatching(`\\u[0-9a-fA-F]{4}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		raw := `"`
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			raw += piece.Draw(t, "piece")
		}
		raw += `"`
		var want string
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatalf("%q is not JSON: %v", raw, err)
		}
		if got := text(json.RawMessage(raw)); got != want {
			t.Fatalf("the text of %q is %q, want %q", raw, got, want)
		}
	})
}
