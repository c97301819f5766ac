package questions

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/proc"
	"gascity/test/tier"
)

func TestNotifierGetsTheQuestion(t *testing.T) {
	tier.Process(t)
	dir := t.TempDir()
	p := client.Pending{
		ID: "q-1", Agent: "town/a", Session: "s-a", Kind: "permission", Prompt: "Run \"this\"?\n$HOME `x` \x00ü", Options: []string{"Yes"},
		State: client.PendingOpen, Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
	c := Command{Line: `cat > json; env > env; pwd > pwd`, City: dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "ONLY=this"}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Notify(ctx, p); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var got client.Pending
	if err := json.Unmarshal([]byte(read("json")), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Errorf("the notifier read (-want +got):\n%s", diff)
	}
	env := read("env")
	for _, want := range []string{
		"GC_PENDING_ID=q-1\n", "GC_AGENT=town/a\n", "GC_SESSION_NAME=s-a\n", "GC_PENDING_KIND=permission\n", "ONLY=this\n",
		"GC_PENDING_PROMPT=Run \"this\"?\n$HOME `x` ü\n", "GC_CITY_PATH=" + dir + "\n", "GC_PENDING_ESCALATED=\n",
	} {
		if !strings.Contains(env, want) {
			t.Errorf("its environment lacks %q:\n%s", want, env)
		}
	}
	if strings.Contains(env, "HOME=") && os.Getenv("HOME") != "" && !strings.Contains(env, "$HOME") {
		t.Errorf("it inherited an environment:\n%s", env)
	}
}

func TestNotifierErrorHasItsOutput(t *testing.T) {
	tier.Process(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := Command{Line: "echo no bell here >&2; exit 3", City: t.TempDir()}.Notify(ctx, client.Pending{ID: "q-1"})
	if _, ok := errors.AsType[*proc.ShellError](err); !ok || !strings.Contains(err.Error(), "no bell here") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v, want its status and its output", err)
	}
	if err = (Command{Line: "true", City: filepath.Join(t.TempDir(), "none")}).Notify(ctx, client.Pending{}); err == nil {
		t.Error("a city that does not exist is no error")
	}
	if err = (Command{}).Notify(ctx, client.Pending{}); err != nil {
		t.Errorf("no notifier is an error: %v", err)
	}
}

func TestHangingNotifierIsKilledWithItsGroup(t *testing.T) {
	tier.Process(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	line := `trap '' TERM; sleep 300 & echo $! > child; mv child pid; wait`
	done := make(chan error, 1)
	go func() {
		done <- Command{Line: line, City: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}}.Notify(ctx, client.Pending{ID: "q-1"})
	}()
	deadline := time.After(20 * time.Second)
	for {
		if _, err := os.Stat(filepath.Join(dir, "pid")); err == nil {
			break
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case err := <-done:
			t.Fatalf("it ended with %v", err)
		case <-deadline:
			t.Fatal("it did not start")
		}
	}
	cancel(errSlow)
	select {
	case err := <-done:
		if !errors.Is(err, errSlow) {
			t.Errorf("got %v, want the reason", err)
		}
	case <-deadline:
		t.Fatal("it was not killed")
	}
}
