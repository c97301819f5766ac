package runtimetest

import (
	"strings"
	"time"

	"gascity/runtime"
)

// metaCases returns the cases about metadata of a session.
func metaCases() []Case {
	return []Case{
		prove("meta.round-trip", "GetMeta returns the value that SetMeta stored last under the key.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			s.setMeta("one", "first")
			s.setMeta("two", "other")
			s.setMeta("one", "second")
			s.wantMeta(t, "one", "second")
			s.wantMeta(t, "two", "other")
		}),
		prove("meta.unset", "GetMeta of a key that is not set returns an empty value and nil.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			s.setMeta("key-1", "x")
			s.wantMeta(t, "key", "")
		}),
		prove("meta.remove", "RemoveMeta removes only that key; for an unset key it returns nil.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			s.setMeta("one", "x")
			s.setMeta("one-1", "y")
			for range 2 {
				expect(t, nil, w.Provider.RemoveMeta(s.Name, "one"), "RemoveMeta")
			}
			s.wantMeta(t, "one", "")
			s.wantMeta(t, "one-1", "y")
		}),
		prove("meta.values", "Values are any UTF-8 text up to 64 KiB, byte for byte.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			for _, value := range []string{"-x", "a=b", "line\nline\n", " blank ", "'\"\\$`;%", "☃ größer", "\t", strings.Repeat("v", 64<<10)} {
				s.setMeta("key", value)
				s.wantMeta(t, "key", value)
			}
		}),
		prove("meta.keys", "Keys are 1 to 256 bytes without NUL, \"/\" or newline.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			keys := []string{"GC_CONFIG_HASH", "a.b", "a b", "-x", "k=v", "größe", "..", "KEY", "key", strings.Repeat("k", 256)}
			for _, key := range keys {
				s.setMeta(key, "of "+key)
			}
			for _, key := range keys {
				s.wantMeta(t, key, "of "+key)
			}
		}),
		prove("meta.missing", "SetMeta, GetMeta and RemoveMeta of a missing session return ErrSessionNotFound.", func(t T, w *World) {
			w.Start("worker-10", Behaviour{}).setMeta("key", "of ten")
			name := w.Name("worker-1")
			expect(t, runtime.ErrSessionNotFound, w.Provider.SetMeta(name, "key", "value"), "SetMeta")
			expect(t, runtime.ErrSessionNotFound, w.Provider.RemoveMeta(name, "key"), "RemoveMeta")
			_, err := w.Provider.GetMeta(name, "key")
			expect(t, runtime.ErrSessionNotFound, err, "GetMeta")
		}),
		prove("meta.own", "Each session has its own metadata.", func(t T, w *World) {
			one, ten := w.Start("worker-1", Behaviour{}), w.Start("worker-10", Behaviour{})
			one.setMeta("key", "of one")
			ten.wantMeta(t, "key", "")
			ten.setMeta("key", "of ten")
			one.wantMeta(t, "key", "of one")
		}),
		prove("meta.incarnation", "Metadata is deleted with its instance; a later instance of the same name never sees it.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			s.setMeta("key", "old")
			s.Stop()
			_, err := w.Provider.GetMeta(s.Name, "key")
			expect(t, runtime.ErrSessionNotFound, err, "GetMeta after Stop")
			w.Start("a", Behaviour{Hang: true, ExitAfter: 500 * time.Millisecond}, fireAndForget).wantMeta(t, "key", "")
			if err := w.Provider.SetMeta(s.Name, "key", "old"); err != nil {
				t.Logf("the agent was gone before it got metadata: %v", err)
			}
			s.AwaitEnd()
			s.startsAgain()
			s.wantMeta(t, "key", "")
		}),
	}
}

func (s *Session) setMeta(key, value string) {
	s.w.t.Helper()
	if err := s.w.Provider.SetMeta(s.Name, key, value); err != nil {
		s.w.t.Fatalf("SetMeta(%s, %q, %d bytes) = %v, want nil", s.Name, shorten(key), len(value), err)
	}
}

func (s *Session) wantMeta(t T, key, want string) {
	t.Helper()
	if got, err := s.w.Provider.GetMeta(s.Name, key); err != nil || got != want {
		t.Errorf("GetMeta(%s, %q) = %q, %v, want %q", s.Name, shorten(key), shorten(got), err, shorten(want))
	}
}
