package controlapi_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/citytest"
)

const guardedCity = `
[guard]
sets = ["dangerous-command"]
[[agents]]
name = "worker"
start_command = "fake_agent"
`

// TestGuardIsAsked asks the guard of a running city what it would decide about a call.
func TestGuardIsAsked(t *testing.T) {
	city := citytest.New(t, guardedCity)
	ctx := bounded(t)
	got, err := city.Client.CheckTool(ctx, client.GuardCheckRequest{Command: `sudo sh -c "git push --force"`, Agent: "worker"})
	if err != nil || got.Action != "deny" || got.Rule != "force-push" || !got.Guarded || got.Agent != "worker" {
		t.Errorf("a force push is %+v, %v", got, err)
	}
	if !slices.ContainsFunc(got.Parts, func(p client.GuardPart) bool { return slices.Equal(p.Via, []string{"sudo", "sh"}) }) {
		t.Errorf("no part is run by sudo and sh: %+v", got.Parts)
	}
	for want, req := range map[error]client.GuardCheckRequest{
		client.ErrNotFound: {Command: "ls", Agent: "wroker"},
		client.ErrInvalid:  {Tool: "Write", Input: "{"},
	} {
		if _, err := city.Client.CheckTool(ctx, req); !errors.Is(err, want) {
			t.Errorf("%+v gave %v, want %v", req, err, want)
		}
	}
	if _, err := city.Client.CheckTool(ctx, client.GuardCheckRequest{Command: "ls", Tool: "Bash"}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a command and a tool gave %v", err)
	}
	if page, err := city.Client.GuardDecisions(ctx, client.GuardQuery{}); err != nil || len(page.Decisions) != 0 || !page.Guarded {
		t.Errorf("a check was recorded: %+v, %v", page, err)
	}
}

// TestDecisionsArePaged reads the recorded decisions in pages, over a rotated file and with equal
// times, and checks that each decision is in exactly one page, newest first.
func TestDecisionsArePaged(t *testing.T) {
	city := citytest.New(t, guardedCity)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	name := filepath.Join(city.Root, ".gc", "log", "guard.jsonl")
	for file, numbers := range map[string][2]int{name + ".1": {0, 20}, name: {20, 50}} {
		var lines strings.Builder
		for i := numbers[0]; i < numbers[1]; i++ {
			agent, action := "worker", "allow"
			if i%5 == 0 {
				agent, action = "other", "deny"
			}
			fmt.Fprintf(&lines, `{"at":%q,"session":"s","tool":"Bash","input":{"command":"echo %d"},"agent":%q,"action":%q}`+"\n",
				start.Add(time.Duration(i/4)*time.Second).Format(time.RFC3339Nano), i, agent, action)
		}
		lines.WriteString("{\"at\":\"202") // an interrupted write
		if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, 3, 7, 50, 500} {
		var got []string
		q := client.GuardQuery{Limit: limit}
		for pages := 0; pages == 0 || q.Before != ""; pages++ {
			page, err := city.Client.GuardDecisions(bounded(t), q)
			if err != nil || pages > 60 {
				t.Fatalf("page %d of %d: %v", pages, limit, err)
			}
			for _, d := range page.Decisions {
				got = append(got, d.Input)
			}
			q.Before = page.Next
		}
		if len(got) != 50 || got[0] != `{"command":"echo 49"}` || got[49] != `{"command":"echo 0"}` {
			t.Errorf("pages of %d have %d decisions: %v", limit, len(got), got)
		}
	}
	page, err := city.Client.GuardDecisions(bounded(t), client.GuardQuery{Agent: "other", Action: "deny"})
	if err != nil || len(page.Decisions) != 10 || page.Next != "" {
		t.Errorf("the denied calls of other are %+v, %v", page, err)
	}
	if _, err := city.Client.GuardDecisions(bounded(t), client.GuardQuery{Before: "yesterday"}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a wrong cursor gave %v", err)
	}
}

// TestCopyOut copies a file out of a session, as an archive and as it is.
func TestCopyOut(t *testing.T) {
	city := newCity(t)
	city.AwaitRunning("worker", runtime.ActivityIdle)
	read := func(req client.CopyOutRequest) (string, error) {
		body, err := city.Client.CopyOut(bounded(t), "worker", req)
		if err != nil {
			return "", err
		}
		defer body.Close()
		text, err := io.ReadAll(body)
		return string(text), err
	}
	if text, err := read(client.CopyOutRequest{Path: "city.toml", Plain: true}); err != nil || text != cityConfig {
		t.Errorf("the plain copy is %q, %v", text, err)
	}
	if text, err := read(client.CopyOutRequest{Path: "city.toml"}); err != nil || len(text)%512 != 0 || !strings.HasPrefix(text, "city.toml\x00") {
		t.Errorf("the archive is %.40q, %v", text, err)
	}
	for path, want := range map[string]error{"absent": client.ErrNotFound, "../x": client.ErrInvalid} {
		if _, err := read(client.CopyOutRequest{Path: path}); !errors.Is(err, want) {
			t.Errorf("the copy of %s gave %v, want %v", path, err, want)
		}
	}
	if _, err := read(client.CopyOutRequest{Path: "city.toml", Instance: "another"}); !errors.Is(err, client.ErrRefused) {
		t.Errorf("a copy of another instance gave %v", err)
	}
}
