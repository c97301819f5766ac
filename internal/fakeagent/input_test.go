package fakeagent

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// joined feeds chunks and merges neighbouring texts, which cuts may part.
func joined(chunks ...[]byte) []inputEvent {
	d := keyDecoder{Brackets: true}
	var events []inputEvent
	for _, c := range chunks {
		for _, e := range d.Feed(c) {
			if n := len(events); n > 0 && e.Kind == textEvent && events[n-1].Kind == textEvent {
				events[n-1].Data = append(events[n-1].Data, e.Data...)
				continue
			}
			events = append(events, e)
		}
	}
	return append(events, d.Flush()...)
}

var pieces = []string{
	"a", "text ", "ä", "世", "\r", "\n", "\x7f", "\x03", "\x1b[A", "\x1bOD", "\x1b[3~", "\x1b[1;5C", "\x1b[200~", "\x1b[201~",
	"\x1b", "[", "~", "201~", "\x1b]0;t\x07", "\x1b]0;t\x1b\\", "\x00", "\xff",
}

func TestChunksMayBeCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "input"), ""))
		want := joined(input)
		var chunks [][]byte
		for rest := input; len(rest) > 0; {
			n := rapid.IntRange(1, min(5, len(rest))).Draw(t, "cut")
			chunks = append(chunks, rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, joined(chunks...), cmp.AllowUnexported(inputEvent{})); diff != "" {
			t.Fatalf("%q cut into %q:\n%s", input, chunks, diff)
		}
	})
}

func TestPasteIsVerbatim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Byte()).Filter(func(b []byte) bool { return !bytes.Contains(b, []byte(pasteEnd)) }).Draw(t, "paste")
		if bytes.Contains(append(bytes.Clone(want), pasteEnd...)[:len(want)+len(pasteEnd)-1], []byte(pasteEnd)) {
			t.Skip("the text and the mark make an earlier mark")
		}
		events := joined([]byte("a" + pasteStart + string(want) + pasteEnd + "b"))
		if len(events) != 3 || events[1].Kind != pasteEvent || !bytes.Equal(events[1].Data, want) {
			t.Fatalf("events %+v", events)
		}
	})
}

func FuzzDecoder(f *testing.F) {
	for _, p := range pieces {
		f.Add([]byte(p), 1)
	}
	f.Add([]byte(pasteStart+"x"+pasteEnd), 3)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = max(0, min(cut, len(data)))
		joined(data[:cut], data[cut:])
		c := inputBox{}
		d := keyDecoder{}
		for _, e := range append(d.Feed(data), d.Flush()...) {
			switch e.Kind {
			case textEvent:
				c.insert(e.Data)
			case pasteEvent:
				c.paste(e.Data)
			case keyEvent:
				c.edit(e.Key)
			}
			if c.cursor < 0 || c.cursor > len(c.text) {
				t.Fatalf("cursor %d in %d bytes", c.cursor, len(c.text))
			}
			if lines, row, _ := c.view(20, 5); row < 0 || row >= len(lines) || len(lines) > 5 {
				t.Fatalf("cursor in row %d of %d", row, len(lines))
			}
		}
	})
}

// The input box against a list of characters.
func TestInputBoxBehavesLikeAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c inputBox
		var left, right []string // around the cursor; a placeholder is one element
		t.Repeat(map[string]func(*rapid.T){
			"text": func(t *rapid.T) {
				s := rapid.SampledFrom([]string{"a", "世", " "}).Draw(t, "s")
				c.insert([]byte(s))
				left = append(left, s)
			},
			"small paste": func(*rapid.T) {
				c.paste([]byte("xyz"))
				left = append(left, "x", "y", "z")
			},
			"large paste": func(t *rapid.T) {
				big := "1\n2\n3\n" + rapid.SampledFrom([]string{"", "é"}).Draw(t, "big")
				c.paste([]byte(big))
				left = append(left, big)
			},
			"backspace": func(*rapid.T) {
				c.edit("backspace")
				left = left[:max(0, len(left)-1)]
			},
			"delete": func(*rapid.T) {
				c.edit("delete")
				right = right[min(1, len(right)):]
			},
			"left": func(*rapid.T) {
				c.edit("left")
				if n := len(left); n > 0 {
					right = append([]string{left[n-1]}, right...)
					left = left[:n-1]
				}
			},
			"right": func(*rapid.T) {
				c.edit("right")
				if len(right) > 0 {
					left = append(slices.Clip(left), right[0])
					right = right[1:]
				}
			},
			"clear": func(*rapid.T) {
				c.edit("c-u")
				left, right = nil, nil
			},
			"": func(t *rapid.T) {
				before, all := strings.Join(left, ""), strings.Join(append(slices.Clip(left), right...), "")
				if string(c.text) != all || c.cursor != len(before) {
					t.Fatalf("text %q cursor %d, want %q cursor %d", c.text, c.cursor, all, len(before))
				}
				if lines, row, col := c.view(30, 4); row >= len(lines) || col > 30 || !utf8.ValidString(strings.Join(lines, "")) {
					t.Fatalf("view %q, cursor %d/%d", lines, row, col)
				}
			},
		})
	})
}

func TestFakeagentArguments(t *testing.T) {
	for text, want := range map[string][]string{
		"":                      nil,
		"  a  b ":               {"a", "b"},
		`--x "a b" 'c "d'`:      {"--x", "a b", `c "d`},
		`--a=""`:                {"--a="},
		`'' x`:                  {"", "x"},
		"--stderr='two  words'": {"--stderr=two  words"},
	} {
		got, err := splitArgs(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
	if _, err := splitArgs("'open"); err == nil {
		t.Error("an open quote is accepted")
	}
}
