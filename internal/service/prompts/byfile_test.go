package prompts_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/service/prompts"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// files stores the texts of prompts in a real directory. none is the error of writes.
type files struct {
	prompts.FileStore

	mu    sync.Mutex
	none  error
	stuck error // the error of removals
}

func (f *files) fail(none, stuck error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.none, f.stuck = none, stuck
}

func (f *files) failures() (none, stuck error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.none, f.stuck
}

func (f *files) Remove(session, id string) error {
	if _, stuck := f.failures(); stuck != nil {
		return stuck
	}
	return f.FileStore.Remove(session, id)
}

func (f *files) Write(v session.Snapshot, id, text string) (string, error) {
	if none, _ := f.failures(); none != nil {
		return "", none
	}
	return f.FileStore.Write(v.Session, id, text)
}

// left returns the existing files.
func (f *files) left(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(f.Dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const (
	oddText = "odd \u200b text"
	odd     = "characters are removed: U+200B"
)

// changing returns a delivery to an agent whose input box changes texts with U+200B. allowed reports whether
// the current delivery allows that.
func changing(allowed *bool) func(context.Context, *agent, string) (runtime.Outcome, error) {
	return func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
		out := runtime.Outcome{}
		if strings.Contains(text, "\u200b") {
			if !*allowed {
				return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedChanged, Detail: odd}, nil
			}
			out.Changes = []string{odd}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		took := a.accept(text)
		took.Changes = out.Changes
		return took, nil
	}
}

// testWithFiles runs a test with an agent whose input box changes texts, and with files.
func testWithFiles(t *testing.T, do func(r *engineTest, f *files)) {
	t.Helper()
	f := &files{FileStore: prompts.FileStore{Dir: filepath.Join(t.TempDir(), "prompts")}}
	if _, err := f.Open("s-a"); err != nil {
		t.Fatal(err)
	}
	inVirtualTime(t, func(r *engineTest) {
		r.texts = f
		r.crash() // the next process has the files
		allowed := false
		r.watch = func(d runtime.Delivery) { allowed = d.AllowChanges }
		r.edit("a", func(a *agent) { a.deliver = changing(&allowed) })
		do(r, f)
	}, newAgent("a"))
}

// TestChangedTextIsSentInAFile: a text that the input box would change is written to a file
// that only the user of the agent can read. The receipt names the file. It is removed when the agent is idle
// after its turn, not before.
func TestChangedTextIsSentInAFile(t *testing.T) {
	testWithFiles(t, func(r *engineTest, f *files) {
		sent := r.send("a", oddText)
		servicetest.Advance(time.Second)
		got := r.want(sent.ID, client.ReceiptConsumed)
		left := f.left(t)
		if len(left) != 1 || got.ByFile != left[0] {
			t.Fatalf("the receipt says %q, and there is %q", got.ByFile, left)
		}
		text, err := os.ReadFile(got.ByFile)
		info, statErr := os.Stat(got.ByFile)
		folder, folderErr := os.Stat(filepath.Dir(got.ByFile))
		if err := errors.Join(err, statErr, folderErr); err != nil {
			t.Fatal(err)
		}
		if string(text) != oddText || info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700 {
			t.Errorf("the file has %q, mode %o in a folder of mode %o", text, info.Mode().Perm(), folder.Mode().Perm())
		}
		if want := []string{prompt.FileLine(got.ByFile)}; !slices.Equal(r.find("a").ledger, want) {
			t.Errorf("the agent got %q, want %q", r.find("a").ledger, want)
		}
		r.edit("a", func(a *agent) {
			a.view.Activity = session.Activity{State: runtime.ActivityBusy, Since: time.Now()}
			a.view.ReadAt = time.Now()
		})
		servicetest.Advance(10 * time.Minute)
		if len(f.left(t)) != 1 {
			t.Error("the file was removed during the turn")
		}
		r.edit("a", func(a *agent) {
			a.view.Activity = session.Activity{State: runtime.ActivityIdle, Since: time.Now()}
			a.view.ReadAt = time.Now()
		})
		servicetest.Advance(time.Minute)
		if left := f.left(t); len(left) != 0 {
			t.Errorf("after the turn there is %q", left)
		}
	})
}

// TestUnusedFilesAreRemoved: a file is removed if its agent is replaced during the turn, and if the next controller has no
// receipt for it. The file of a busy agent stays.
func TestUnusedFilesAreRemoved(t *testing.T) {
	testWithFiles(t, func(r *engineTest, f *files) {
		sent := r.send("a", oddText)
		servicetest.Advance(time.Second)
		r.edit("a", func(a *agent) {
			a.view.Activity, a.view.ReadAt = session.Activity{State: runtime.ActivityBusy, Since: time.Now()}, time.Now()
		})
		if _, err := f.FileStore.Write("s-a", "of-nobody", "x"); err != nil {
			t.Fatal(err)
		}
		r.crash()
		servicetest.Advance(time.Minute)
		if left := f.left(t); len(left) != 1 || !strings.Contains(left[0], sent.ID) {
			t.Errorf("under the next controller there is %q, want the file of %s", left, sent.ID)
		}
		r.edit("a", func(a *agent) { a.start() })
		servicetest.Advance(time.Minute)
		if left := f.left(t); len(left) != 0 {
			t.Errorf("after the agent was replaced there is %q", left)
		}
	})
}

// TestChangedTextIsRefusedWithACommand: if the agent cannot read a file, the prompt is dead
// before its first byte. The reason has a command that sends it anyway. The receipt of that lists the changes,
// and no file remains.
func TestChangedTextIsRefusedWithACommand(t *testing.T) {
	testWithFiles(t, func(r *engineTest, f *files) {
		f.none = errors.New("its agent CLI asks before it reads")
		sent := r.send("a", oddText)
		command := r.send("a", "/"+oddText)
		servicetest.Advance(time.Second)
		r.want(command.ID, client.ReceiptDead)
		got := r.want(sent.ID, client.ReceiptDead)
		for _, part := range []string{odd, f.none.Error(), "gc queue retry " + sent.ID + " --allow-changes"} {
			if !strings.Contains(got.Reason, part) {
				t.Errorf("the reason %q does not say %q", got.Reason, part)
			}
		}
		again, err := r.engine.RetryPrompt(r.Context(), sent.ID, client.RetryRequest{AllowChanges: true})
		if err != nil {
			t.Fatal(err)
		}
		servicetest.Advance(time.Second)
		if got := r.want(again.ID, client.ReceiptConsumed); !slices.Equal(got.Changes, []string{odd}) || got.ByFile != "" {
			t.Errorf("the receipt lists %q, by file %q", got.Changes, got.ByFile)
		}
		if want := []string{oddText}; !slices.Equal(r.find("a").ledger, want) || len(f.left(t)) != 0 {
			t.Errorf("the agent got %q, want %q; files %q", r.find("a").ledger, want, f.left(t))
		}
	})
}

// TestByteOrderMarkIsNotSentInAFile: a program that reads a file removes U+FEFF at its beginning.
func TestByteOrderMarkIsNotSentInAFile(t *testing.T) {
	testWithFiles(t, func(r *engineTest, f *files) {
		sent := r.send("a", "\ufeff"+oddText)
		servicetest.Advance(time.Second)
		if got := r.want(sent.ID, client.ReceiptDead); !strings.Contains(got.Reason, "U+FEFF") || len(f.left(t)) != 0 {
			t.Errorf("the reason is %q, the files %q", got.Reason, f.left(t))
		}
	})
}

// TestFullDiskDelaysAPromptInAFile: a text that cannot be written stays in the queue with the
// reason, and is sent when there is space. A file that cannot be removed is removed later.
func TestFullDiskDelaysAPromptInAFile(t *testing.T) {
	testWithFiles(t, func(r *engineTest, f *files) {
		f.fail(fmt.Errorf("cannot write: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), nil)
		sent := r.send("a", oddText)
		servicetest.Advance(time.Minute)
		if got := r.want(sent.ID, client.ReceiptQueued); !strings.Contains(got.Reason, "no space left") {
			t.Errorf("it waits because of %q", got.Reason)
		}
		f.fail(nil, syscall.EIO)
		servicetest.Advance(2 * time.Minute)
		r.want(sent.ID, client.ReceiptConsumed)
		rests := func() {
			r.edit("a", func(a *agent) {
				a.view.Activity, a.view.ReadAt = session.Activity{State: runtime.ActivityIdle, Since: time.Now()}, time.Now()
			})
			servicetest.Advance(2 * time.Minute)
		}
		rests()
		if len(f.left(t)) != 1 {
			t.Fatal("the file that cannot be removed is gone")
		}
		f.fail(nil, nil)
		rests()
		if left := f.left(t); len(left) != 0 {
			t.Errorf("there is still %q", left)
		}
	})
}
