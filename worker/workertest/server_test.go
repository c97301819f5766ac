package workertest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/worker/workertest"
)

// TestABadCityIsFound: the one that tests are made with promises little: it has one run,
// one token, no orders and no record, and refuses nothing by its content.
func TestABadCityIsFound(t *testing.T) {
	t.Parallel()
	city, err := workertest.NewCity()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, line := range city.Env() {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	n := 0
	results := workertest.CheckServer(t.Context(), workertest.Server{
		Socket: env["GC_WORKER_SOCKET"], Patience: 3 * time.Second,
		Begin: func(context.Context, string) (workertest.Run, error) {
			return workertest.Run{ID: env["GC_RUN_ID"], Token: env["GC_WORKER_TOKEN"]}, nil
		},
		Prompt: func(_ context.Context, _, content string) error { n++; return city.Prompt(fmt.Sprint("p", n), content) },
		End:    func(context.Context, string) error { return errors.New("its run never ends") },
	})
	kept := []string{"newer", "canary", "prompt", "again", "order"}
	for _, r := range results {
		if (r.Err == nil) != slices.Contains(kept, r.ID) {
			t.Errorf("%s: %s\n\t%v", r.ID, r.Sentence, r.Err)
		}
	}
	if err := city.Close(); err != nil {
		t.Error(err)
	}
}
