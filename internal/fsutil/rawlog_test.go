package fsutil

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func readRaw(t *testing.T, path string, q RawLogQuery) string {
	t.Helper()
	var b bytes.Buffer
	if err := CopyRawLog(t.Context(), &b, path, q); err != nil {
		t.Fatalf("Copy: %v", err)
	}
	return b.String()
}

func writeRaw(t *testing.T, w *RawLogWriter, text string, at time.Time) {
	t.Helper()
	if err := w.Write([]byte(text), at); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

func TestSinceBeginsAtTheSecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "a.log")
	w, err := OpenRawLog(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 5 {
		writeRaw(t, w, fmt.Sprintf("line %d\n", i), noon.Add(time.Duration(i)*10*time.Second))
	}
	for since, want := range map[time.Duration]string{
		-time.Hour: "line 0\nline 1\nline 2\nline 3\nline 4\n", 0: "line 0\nline 1\nline 2\nline 3\nline 4\n",
		10 * time.Second: "line 1\nline 2\nline 3\nline 4\n", 35 * time.Second: "line 4\n", 40 * time.Second: "line 4\n", time.Hour: "",
	} {
		if got := readRaw(t, path, RawLogQuery{Since: noon.Add(since)}); got != want {
			t.Errorf("since noon%+v: %q, want %q", since, got, want)
		}
	}
}

func TestUntilEndsAtTheSecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	w, err := OpenRawLog(path, 28) // the first lines are in the previous file
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 7 {
		writeRaw(t, w, fmt.Sprintf("line %d\n", i), noon.Add(time.Duration(i)*10*time.Second))
	}
	if _, err := os.Stat(path + oldSuffix); err != nil {
		t.Fatalf("the log was not rotated: %v", err)
	}
	for _, c := range []struct {
		since, until time.Duration
		want         string
	}{
		{0, time.Hour, "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\n"},
		{0, 60 * time.Second, "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\n"},
		{10 * time.Second, 59 * time.Second, "line 1\nline 2\nline 3\nline 4\nline 5\n"},
		{10 * time.Second, 20 * time.Second, "line 1\nline 2\n"},
		{50 * time.Second, 55 * time.Second, "line 5\n"},
		{20 * time.Second, 10 * time.Second, ""},
		{-time.Hour, -time.Minute, ""},
	} {
		if got := readRaw(t, path, RawLogQuery{Since: noon.Add(c.since), Until: noon.Add(c.until)}); got != c.want {
			t.Errorf("from %v to %v: %q, want %q", c.since, c.until, got, c.want)
		}
	}
}

func TestRotationKeepsTheFormerFileAndTheBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	w, err := OpenRawLog(path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var all strings.Builder
	for i := range 500 {
		line := fmt.Sprintf("line number %d\n", i)
		all.WriteString(line)
		writeRaw(t, w, line, noon.Add(time.Duration(i)*time.Second))
	}
	got := readRaw(t, path, RawLogQuery{})
	if !strings.HasSuffix(all.String(), got) || len(got) < 1000 || len(got) > 2100 {
		t.Errorf("kept %d bytes, want the last 1,000 to 2,100: %.40q...", len(got), got)
	}
	if got := readRaw(t, path, RawLogQuery{Since: noon.Add(470 * time.Second)}); !strings.HasPrefix(got, "line number 470\n") {
		t.Errorf("since line 470: %.40q, want it first", got)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 4 {
		t.Errorf("%d files (%v), want 4", len(entries), err)
	}
}

func TestFollowCrossesRotations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	w, err := OpenRawLog(path, 500)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	writeRaw(t, w, "before\n", noon)
	ctx, cancel := context.WithCancel(t.Context())
	out := &gathered{grown: make(chan struct{}, 1)}
	done := make(chan error)
	go func() { done <- CopyRawLog(ctx, out, path, RawLogQuery{Follow: true}) }()
	want := "before\n"
	for i := range 100 {
		out.await(t, want)
		line := fmt.Sprintf("line number %d\n", i)
		want += line
		writeRaw(t, w, line, noon)
	}
	out.await(t, want)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Copy: %v", err)
	}
}

// gathered is a buffer that can be waited for.
type gathered struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	grown chan struct{}
}

func (g *gathered) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case g.grown <- struct{}{}:
	default:
	}
	return g.buf.Write(p)
}

func (g *gathered) await(t *testing.T, want string) {
	t.Helper()
	for {
		g.mu.Lock()
		got := g.buf.String()
		g.mu.Unlock()
		if got == want {
			return
		}
		select {
		case <-g.grown:
		case <-time.After(10 * time.Second):
			t.Fatalf("followed %q, want %q", got, want)
		}
	}
}

func TestDamagedIndexLosesNoOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	w, err := OpenRawLog(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	writeRaw(t, w, "text\n", noon)
	for _, index := range []string{"", "odd", strings.Repeat("\x00", 7)} {
		if err := os.WriteFile(path+indexSuffix, []byte(index), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readRaw(t, path, RawLogQuery{Since: noon}); got != "text\n" {
			t.Errorf("with the index %q: %q, want the text", index, got)
		}
	}
	if err := CopyRawLog(t.Context(), &bytes.Buffer{}, path+"x", RawLogQuery{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing log: %v, want ErrNotExist", err)
	}
}

func TestFailedLogIsTriedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	path := filepath.Join(dir, "a.log")
	w, err := OpenRawLog(path, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // nothing can be made there
		t.Fatal(err)
	}
	if err := w.Write([]byte("long enough to rotate\n"), noon); err == nil {
		t.Error("a log without a folder reports no error")
	}
	if err := w.Write([]byte("lost\n"), noon.Add(time.Minute)); err != nil {
		t.Errorf("the second failure in a row: %v, want silence", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	writeRaw(t, w, "lost\n", noon.Add(time.Minute+time.Second))
	writeRaw(t, w, "kept\n", noon.Add(2*time.Minute))
	if got := readRaw(t, path, RawLogQuery{}); got != "kept\n" {
		t.Errorf("after the failure: %q, want what came after it", got)
	}
}
