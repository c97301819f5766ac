package inject

import (
	"encoding/json"
	"fmt"
	"testing"
)

// What a person types leaves an unfinished line, unless a key ends it, or each character is removed again.
func TestUnfinishedLineIsFollowed(t *testing.T) {
	for _, c := range []struct {
		keys       []string
		unfinished bool
	}{
		{[]string{"a"}, true},
		{[]string{"a", "\x7f"}, false},
		{[]string{"ab\x7f", "\x7f"}, false},
		{[]string{"\u00e9\x7f"}, false},
		{[]string{"e\u0301", "\x7f"}, true}, // a program may remove both or one
		{[]string{"\x7f\x7fa"}, true},
		{[]string{"ab\r"}, false},
		{[]string{"a", "\x1b[D", "\x7f"}, true},
		{[]string{"\x1b"}, false},
		{[]string{"\x1b\x1b", "a", "\x1b", "\x7f"}, false},
		{[]string{"\x1bk"}, true}, // Alt and k
		{[]string{"\x1b[D\x1bOF", "\x1b[<64;10;20M\x1b[<0;1;1m"}, false},
		{[]string{"a", "\x1b[<0;1;1M", "\x7f"}, true},
		{[]string{"\x1b[A"}, true},     // may show an earlier line
		{[]string{"\t", "\x7f"}, true}, // a completion of unknown length
		{[]string{"\t", "a", "\x7f"}, true},
		{[]string{"\t", "\x03", "a", "\x7f"}, false},
		{[]string{"a\xc3", "\x7f\x7f"}, true},
		// Keys of the kitty keyboard protocol and of xterm's modifyOtherKeys.
		{[]string{"\x1b[27u", "\x1b[27u"}, false},
		{[]string{"\x1b[27;1:3u\x1b[27;129u"}, false},
		{[]string{"a", "\x1b[27u", "\x1b[127u"}, false},
		{[]string{"a", "\x1b[117;5u"}, false},         // C-u
		{[]string{"\t", "\x1b[99;5u"}, false},         // C-c
		{[]string{"a", "\x1b[27;5;117~"}, false},      // C-u
		{[]string{"a", "\x1b[13u"}, false},            // Enter
		{[]string{"a", "\x1b[13;2u"}, true},           // Shift and Enter
		{[]string{"\x1b[97;2u", "\x7f"}, false},       // A
		{[]string{"\x1b[97:65;2;65u", "\x7f"}, false}, // A, with its other forms
		{[]string{"\x1b[97u"}, true},
		{[]string{"\x1b[97;3u", "\x7f"}, true},                // Alt and a
		{[]string{"\x1b[57441;2u", "\x1b[57441;1:3u"}, false}, // Shift alone
		// What a terminal sends without a key.
		{[]string{"\x1b[I", "\x1b[O", "\x1b[?62;22c", "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b[?1u", "\x1b[?2026;2$y"}, false},
		{[]string{"a", "\x1b[I"}, true},
		{[]string{"\x1b[1;2R"}, true}, // a position of the cursor, or Shift and F3
		// Keys that look like one of the forms above and may leave a text.
		{[]string{"hello", "\x1b[106;5u"}, true}, // C-j
		{[]string{"hello", "\x1b[27;5;106~"}, true},
		{[]string{"hello", "\x1b[109;5u"}, true},       // C-m
		{[]string{"\x1b[120;;180:120u", "\x7f"}, true}, // a dead key and x: two characters
		{[]string{"\x1bPhello\x07"}, true},             // Alt and P, a text, C-g
		{[]string{"\x1b]hello\x07"}, true},
	} {
		var j DeliveryLog
		for _, keys := range c.keys {
			j.Touch()
			j.Typed([]byte(keys))
			data, err := json.Marshal(&j)
			if err != nil || json.Unmarshal(data, &j) != nil {
				t.Fatal(err)
			}
		}
		if got := j.Account("").Unfinished; got != c.unfinished {
			t.Errorf("after %q the line is unfinished: %v, want %v", c.keys, got, c.unfinished)
		}
	}
}

func TestJournalIsBounded(t *testing.T) {
	var j DeliveryLog
	for i := range DefaultLogLimit + 1 {
		if j.Forgot {
			t.Fatalf("forgot after %d", i)
		}
		j.Begin(fmt.Sprint(i), []byte("x"), nil)
	}
	if len(j.entries) != DefaultLogLimit || len(j.order) != DefaultLogLimit || !j.Forgot || j.entries["0"] != nil {
		t.Errorf("%d entries, forgot: %v", len(j.entries), j.Forgot)
	}
	for id, e := range j.entries {
		if open := e == j.last; e.Open != open || (e.Text != nil) != open {
			t.Errorf("%s: %+v", id, e)
		}
	}
}
