package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/config"
)

// TestAHostileFileIsRefusedAtOnce checks that small files that would cost the decoder minutes, and files that exceed a limit, are
// refused within a short time, with the position and the limit.
func TestAHostileFileIsRefusedAtOnce(t *testing.T) {
	const n = 100_000
	for name, c := range map[string]struct{ text, want string }{
		"inline tables":      {"a=" + strings.Repeat("{a=", n) + "1" + strings.Repeat("}", n), `city.toml:1:48: the nesting is deeper than the limit of 16`},
		"arrays":             {"a=" + strings.Repeat("[", n) + strings.Repeat("]", n), `deeper than the limit of 16`},
		"arrays over lines":  {"a=" + strings.Repeat("[\n", n), `deeper than the limit of 16`},
		"not closed":         {strings.Repeat("a={", n), `deeper than the limit of 16`},
		"a dotted key":       {strings.Repeat("a.", n) + "a=1", `deeper than the limit of 16`},
		"quoted parts":       {strings.Repeat(`"a".`, n) + "a=1", `deeper than the limit of 16`},
		"a dotted header":    {"[" + strings.Repeat("a.", n) + "a]", `deeper than the limit of 16`},
		"dots and tables":    {strings.Repeat("a.b.c.d={", 14) + "x=1" + strings.Repeat("}", 14), `deeper than the limit of 16`},
		"agents":             {strings.Repeat("[[agents]]\nname='x'\n", 20_000), `city.toml:8001:1: there are more tables than the limit of 4000`},
		"keys":               {numbered("", "a%d=1\n", n), `city.toml:5001:6: the table has more keys than the limit of 5000`},
		"keys of a table":    {numbered("[a]\n", "b%d=1\n", 49_000), `city.toml:5002:6: the table has more keys than the limit of 5000`},
		"keys with dots":     {numbered("", "a.a.a.a.a.a.a.a.a.b%d=1\n", 49_000), `the table has more keys than the limit of 5000`},
		"keys of tables":     {strings.Repeat("[a]\n"+strings.Repeat("b=1\n", 4_000), 20), `more keys and array elements than the limit of 50000`},
		"elements":           {"a=[" + strings.Repeat("1,", n) + "]", `more keys and array elements than the limit of 50000`},
		"keys of one line":   {"a={" + strings.Repeat("b=1,", n) + "}", `the table has more keys than the limit of 5000`},
		"a long key":         {strings.Repeat("k", 5000) + "=1", `city.toml:1:1: the key is longer than the limit of 1024 bytes`},
		"a long header":      {"[" + strings.Repeat("k", 5000) + "]", `the key is longer than the limit of 1024 bytes`},
		"a long quoted key":  {"'" + strings.Repeat("k", 5000) + "'=1", `the key is longer than the limit of 1024 bytes`},
		"bytes":              {"#" + strings.Repeat("x", 5<<20), `the limit is 4194304`},
		"strings and quotes": {"a='''" + strings.Repeat("''", n), `city.toml:1`},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			_, err := config.Parse("/c/city.toml", []byte(c.text), config.Catalog{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %.300v, want %s", err, c.want)
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("it took %v to refuse the file", took)
			}
		})
	}
}

// numbered returns text followed by n lines of a format with a number.
func numbered(text, format string, n int) string {
	var b strings.Builder
	b.WriteString(text)
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestTheTextOfManyMistakesIsBounded checks that the error text for a file with a mistake in every line is short, because the
// status, the log and an event contain it.
func TestTheTextOfManyMistakesIsBounded(t *testing.T) {
	_, err := config.Parse("/c/city.toml", []byte(numbered("", "a%d=1\n", 4_000)), config.Catalog{})
	if errs, ok := config.AsErrors(err); !ok || len(errs) != 4_000 {
		t.Fatalf("%.300v", err)
	}
	text := err.Error()
	if len(text) > 10_000 || !strings.HasPrefix(text, "/c/city.toml:1:1: unknown key") || !strings.HasSuffix(text, "3980 more mistakes; gc config check shows them") {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}

// TestALargeCityWithinTheLimitsIsRead checks that a file near the limits is read, and that brackets and dots inside strings do
// not count.
func TestALargeCityWithinTheLimitsIsRead(t *testing.T) {
	var b strings.Builder
	b.WriteString("# [[[[[[[[[[[[[[[[[[[[ a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t\n")
	for i := range 500 {
		fmt.Fprintf(&b, "[[agents]]\nname = \"a%d\"\nstart_command = \"true\"\nenv = { TEXT = \"[[[[{{{{a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q = , \\\" %s\", OTHER = '''\n[[[[[[[[[[[[[[[[[\n''' }\n", i, strings.Repeat("x", 1500))
	}
	city, err := config.Parse("/c/city.toml", []byte(b.String()), config.Catalog{})
	if err != nil || len(city.Agents) != 500 {
		t.Fatalf("%.500v", err)
	}
}

// TestReadingTheConfigurationNeverWaits checks that a city.toml that is a pipe is an error, and that a read with a context that
// has ended returns at once.
func TestReadingTheConfigurationNeverWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "city.toml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("mkfifo:", err)
	}
	if _, err := config.Load(t.Context(), path, config.Catalog{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := config.ReadFile(t.Context(), path, 0); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.ReadFile(t.Context(), path, 4); err == nil || !strings.Contains(err.Error(), "more than 4 bytes") {
		t.Errorf("a file beyond the limit: %v", err)
	}
}
