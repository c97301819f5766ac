package guard_test

import (
	"os"
	"strings"
	"testing"

	"gascity/internal/guard"
)

// TestEverydayCommandsPass checks that the rule sets of a new city allow the commands in
// testdata/everyday.txt, except those under [asked], about which a person is asked. The list was
// written before the guard was run on it.
func TestEverydayCommandsPass(t *testing.T) {
	p := policy(t, "dangerous-command", "protected-branch", "secrets-reading")
	data, err := os.ReadFile("testdata/everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	scripts := strings.Split(strings.TrimSpace(string(data)), "\n%\n")
	passed := 0
	for _, script := range scripts {
		v := p.Decide(shellCall(script))
		want, held := asked[script]
		switch {
		case v.Action == guard.Allow && !held:
			passed++
		case held && v.Rule != want:
			t.Errorf("%s\n\tgot %s by %q, want the rule %q", script, v.Action, v.Rule, want)
		case !held:
			t.Errorf("%s\n\tgot %s by %q (%s; %s), want allow", script, v.Action, v.Rule, v.Part, v.Reason)
		}
	}
	t.Logf("%d of %d everyday commands are allowed", passed, len(scripts))
}

// asked are the everyday commands that the guard holds up on purpose, with the rule. In most, a
// variable or a program says what is read, removed or signaled, and so it is not known.
var asked = map[string]string{
	`tmp="$(mktemp)" && trap 'rm -f "$tmp"' EXIT && curl -fsSL https://example.org/v.json > "$tmp" && jq -r .version "$tmp"`: "secret-file",
	`tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT; cp -r src "$tmp/"`:                                                         "remove-root",
	`[ -f "$pidfile" ] && kill "$(cat "$pidfile")" && rm -f "$pidfile"`:                                                      "secret-file",
	`while IFS=, read -r name url; do curl -sSL "$url" -o "downloads/$name"; done < urls.csv`:                                "secret-file",
	`parallel -j4 'gzip -k {}' ::: *.log`:                                                                                    "secret-file",
	`kill $(lsof -t -i:3000)`:                                                                                                "kill-all",
	`./server & pid=$!; sleep 2; curl -s localhost:8080; kill "$pid"; wait "$pid" || true`:                                   "kill-all",
	`env | grep -c '^CI'`: "secret-environment-all",
	`sudo apt-get update && sudo apt-get install -y build-essential`: "become-root",
}
