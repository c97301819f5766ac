package inject

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/test/terminal"
)

// slowReader is a program that leaves what it is sent unread for a while.
type slowReader struct {
	*fileLease
	until time.Time
}

func (u *slowReader) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	f, err := u.fileLease.Frame(ctx, after)
	f.Input = screen.InputRead
	if time.Now().Before(u.until) {
		f.Input = screen.InputWaiting
	}
	return f, err
}

// An Enter that lies unread is not followed by another one: a program that reads both at
// once may take the text twice.
func TestAnUnreadEnterIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := terminal.NewAgent(terminal.Face{Style: "rules", React: 4 * time.Second, Think: time.Second})
		u := &slowReader{&fileLease{Fake: a.T, account: new(string), steps: -1}, time.Now().Add(4 * time.Second)}
		out, err := Deliver(t.Context(), u, "1", Prompt{Text: "hello"}, a.Rules(t))
		if n := strings.Count(a.T.Input(), "\r"); err != nil || n != 1 {
			t.Errorf("%+v, %v: Enter was pressed %d times", out, err, n)
		}
		synctest.Wait()
	})
}
