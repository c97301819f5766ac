package bed

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/test/tier"
)

// npmOf answers npm view with versions, and fails to install all versions of absent, and
// of pi those that end with .9.
const npmOf = `#!/bin/sh
case $1 in
view) cat <<'JSON'
{"versions": ["0.8.0", "1.9.9", "1.10.0-linux-x64", "1.10.0", "1.10.9", "1.11.0-rc.1", "2.0.0"], "dist-tags": {"latest": "1.10.9", "next": "2.0.0"}}
JSON
	exit ;;
esac
while [ "$1" != --prefix ]; do shift; done
echo "$3" >>"$LOG"
case $3 in
absent@* | *.9) echo 'npm error 404'; exit 1 ;;
esac
mkdir -p "$2/node_modules/.bin" "$2/node_modules/${3%@*}"
echo >"$2/node_modules/.bin/pi"
echo '{"version": "'"${3##*@}"'"}' >"$2/node_modules/${3%@*}/package.json"
`

// TestNewestThatCanBeInstalled: where the newest version of a CLI cannot be installed, the next older
// stable one is taken, and the reasons are known. A process asks once.
func TestNewestThatCanBeInstalled(t *testing.T) {
	tier.Process(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	t.Setenv("LOG", log)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s := Shelf{Dir: filepath.Join(dir, "shelf"), Latest: true}
	done := filepath.Join(s.Dir, "node-"+node().Version)
	if err := os.MkdirAll(done, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(dir, "npm"): npmOf, filepath.Join(done, "complete"): ""} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // one is a program
			t.Fatal(err)
		}
	}
	for range 2 {
		found, err := s.Install(t.Context(), CLI{"pi", "@x/pi", "0.8.0", "pi"})
		if err != nil || found.Version != "1.10.0" || len(found.Refused) != 1 || !strings.Contains(found.Refused[0], "pi 1.10.9: npm install @x/pi@1.10.9: ") || !strings.Contains(found.Refused[0], "404") {
			t.Errorf("Install: %+v, %v", found, err)
		}
	}
	if _, err := s.Install(t.Context(), CLI{"absent", "absent", "0.8.0", "absent"}); err == nil || !strings.Contains(err.Error(), "none of the newest versions of absent can be installed:\nabsent 1.10.9: ") {
		t.Errorf("Install of a package that never can be installed: %v", err)
	}
	raw, err := os.ReadFile(log)
	want := []string{"@x/pi@1.10.9", "@x/pi@1.10.0", "absent@1.10.9", "absent@1.10.0", "absent@1.9.9", "absent@0.8.0"}
	if got := strings.Fields(string(raw)); err != nil || !slices.Equal(got, want) {
		t.Errorf("npm installed %q, want %q: %v", got, want, err)
	}
}
