package httpkit

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// TestCheckUnicode checks that exactly the texts are refused that encoding/json would change.
func TestCheckUnicode(t *testing.T) {
	for text, want := range map[string]bool{
		`"plain"`: true, `"é 😀"`: true, `"\ud83d\ude00"`: true, `"\\ud800"`: true, `"\ufffd"`: true, `"\"\u0041"`: true,
		`"\ud800"`: false, `"\udc00"`: false, `"\ud800\ud800"`: false, `"\ud800x"`: false, `"\uD83D\u0041"`: false, "\"\xff\"": false, "\"\xed\xa0\x80\"": false,
	} {
		if err := CheckUnicode([]byte(text)); (err == nil) != want {
			t.Errorf("CheckUnicode(%q) = %v, want accepted: %v", text, err, want)
		}
	}
}

func FuzzCheckUnicode(f *testing.F) {
	f.Add(`"\ud83d\ude00"`)
	f.Add(`"\ud800\u0041"`)
	f.Fuzz(func(t *testing.T, text string) {
		var s string
		if json.Unmarshal([]byte(text), &s) != nil || CheckUnicode([]byte(text)) != nil {
			return
		}
		again, err := json.Marshal(s)
		if err != nil || !utf8.ValidString(s) || CheckUnicode(again) != nil {
			t.Errorf("%q was accepted and decodes to %q", text, s)
		}
	})
}
