package pty

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func newKeys(t rapid.TB, names ...string) *detachKeys {
	t.Helper()
	k, err := newDetachKeys(names)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestDetachKeys(t *testing.T) {
	for _, c := range []struct {
		names  []string
		typed  string
		input  string
		detach bool
	}{
		{nil, "plain text", "plain text", false},
		{nil, "\x02d", "", true},
		{nil, "ab\x02dcd", "ab", true},
		{nil, "\x1c", "", true},
		{nil, "\x02x", "\x02x", false},
		{nil, "\x02\x02", "\x02", false},
		{nil, "\x02\x02d", "\x02d", false},
		{nil, "\x02\x02\x02d", "\x02", true},
		{nil, "\x02\x1c", "\x02", true},
		{nil, "\x02", "", false},
		{[]string{"C-a C-a q"}, "\x01\x01q", "", true},
		{[]string{"C-a C-a q"}, "\x01\x01x\x02d\x1c", "\x01\x01x\x02d\x1c", false},
		{[]string{"F12"}, "\x1b[24~", "", true},
		{[]string{"F12"}, "\x1b[23~", "\x1b[23~", false},
	} {
		input, detach := newKeys(t, c.names...).feed([]byte(c.typed))
		if string(input) != c.input || detach != c.detach {
			t.Errorf("%q with %q: %q, %v; want %q, %v", c.typed, c.names, input, detach, c.input, c.detach)
		}
	}
	for _, bad := range []string{"", " ", "Nonsense"} {
		if _, err := newDetachKeys([]string{bad}); err == nil {
			t.Errorf("detach key %q is accepted", bad)
		}
	}
}

// The split of the input into pieces does not change what is sent. Input without the first key of a detach
// sequence is sent unchanged.
func TestDetachKeysInPieces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typed := rapid.SliceOfN(rapid.SampledFrom([]byte{'a', 'd', 0x02, 0x1c, 0x1b, 'x'}), 0, 30).Draw(rt, "typed")
		whole, wholeDetach := newKeys(rt).feed(typed)
		k := newKeys(rt)
		var pieces []byte
		detach := false
		for rest := typed; len(rest) > 0 && !detach; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			var input []byte
			input, detach = k.feed(rest[:n])
			pieces = append(pieces, input...)
			rest = rest[n:]
		}
		if detach != wholeDetach || !bytes.Equal(pieces, whole) {
			rt.Fatalf("in pieces %q, %v; whole %q, %v", pieces, detach, whole, wholeDetach)
		}
		if !slices.Contains(typed, 0x02) && !slices.Contains(typed, 0x1c) && !bytes.Equal(whole, typed) {
			rt.Fatalf("%q became %q", typed, whole)
		}
	})
}
