package controlapi

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
)

// presentCity counts persons.
type presentCity struct {
	stubCity

	until context.Context //nolint:containedctx // that of the only person
}

func (c *presentCity) Present(ctx context.Context) error {
	c.until = ctx
	return nil
}

// TestPresenceHasALimit: a dashboard that does not renew its presence, such as a stopped process, is not counted for longer than the limit.
func TestPresenceHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		city := &presentCity{}
		s := NewServer(city, Options{Version: "test"})
		began, res := time.Now(), httptest.NewRecorder()
		if err := present(t.Context(), s, res, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/presence", nil)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != client.PresenceLimit || city.until.Err() == nil {
			t.Errorf("the person was counted for %v, want %v", took, client.PresenceLimit)
		}
		if !strings.HasSuffix(res.Body.String(), "event: end\ndata: {}\n\n") {
			t.Errorf("the stream has no end: %q", res.Body)
		}
	})
}
