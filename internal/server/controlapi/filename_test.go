package controlapi

import (
	"mime"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"gascity/client"
)

func TestNamesOfCopies(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 200)
	for _, c := range []struct {
		path, want string
	}{
		{"src/main.go", "main.go"},
		{"größe und preis+1 100%.txt", "größe und preis+1 100%.txt"},
		{"", "worker"},
		{"..", "worker"},
		{"a/../..", "worker"},
		{".env", "_env"},
		{"...", "file"},
		{"a\u202etxt.exe", "a_txt.exe"},
		{"line\nend\x00\x1b[2J.txt", "line_end__[2J.txt"},
		{`..\..\evil"name.bat`, `_._.._evil_name.bat`},
		{"C:evil", "C_evil"},
		{"con.txt", "_on.txt"},
		{"nul", "_ul"},
		{"trailing. . ", "trailing"},
		{"bad\xffbytes", "bad_bytes"},
		{long + ".tar.gz", strings.Repeat("ä", (maxFileName-3)/2) + ".gz"},
		{"x." + long, "x." + strings.Repeat("ä", (maxFileName-2)/2)},
	} {
		header := disposition(copyName("worker", client.CopyOutRequest{Path: c.path, Plain: true}))
		kind, parameters, err := mime.ParseMediaType(header)
		if err != nil || kind != "attachment" || parameters["filename"] != c.want {
			t.Errorf("%q: %s names %q, want %q; %v", c.path, header, parameters["filename"], c.want, err)
		}
	}
	if name := copyName("rig/worker", client.CopyOutRequest{}); safeName(name) != "rig_worker.tar" {
		t.Errorf("the archive of the working directory is %q", safeName(name))
	}
}

// Any name becomes one that is safe, and a safe name stays as it is.
func TestAnyNameBecomesSafe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := safeName(string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")) + rapid.StringMatching(`[.a-z /\\"\x{202e}]*`).Draw(t, "text"))
		hidden := strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
		if name == "" || len(name) > maxFileName || !utf8.ValidString(name) || hidden || !filepath.IsLocal(name) || strings.ContainsAny(name, `/\:*?"<>|`) || strings.HasPrefix(name, ".") || strings.TrimRight(name, ". ") != name {
			t.Fatalf("%q is not safe", name)
		}
		if again := safeName(name); again != name {
			t.Fatalf("%q becomes %q", name, again)
		}
	})
}
