package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity/client"
)

// A city that does not come up, or is not waited for, is reported, and its controller has
// ended.
func TestACityThatDoesNotComeUp(t *testing.T) {
	broken := errors.New("it is broken")
	for name, c := range map[string]struct {
		run    func(ctx context.Context) error
		cancel bool
		want   error
	}{
		"it ends at once":  {func(context.Context) error { return broken }, false, broken},
		"without a waiter": {func(ctx context.Context) error { <-ctx.Done(); return nil }, true, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if c.cancel {
				cancel()
			}
			dir, ended := t.TempDir(), false
			err := runSmokeTest(ctx, smokeCity{
				Root: dir, TOML: []byte("# made"), Agents: []string{"a"}, Timeout: time.Second,
				Run: func(ctx context.Context, _ string, _ func()) error {
					defer func() { ended = true }()
					return c.run(ctx)
				},
			}, func(a smokeResult) { t.Errorf("an answer is reported: %+v", a) })
			if !errors.Is(err, c.want) || !ended {
				t.Errorf("Ask = %v, want %v; the controller has ended: %v", err, c.want, ended)
			}
			if text, err := os.ReadFile(filepath.Join(dir, client.CityFile)); err != nil || string(text) != "# made" {
				t.Errorf("the city is %q, %v", text, err)
			}
		})
	}
}
