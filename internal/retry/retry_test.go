package retry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/retry"
)

// Delays double up to the longest one, vary by at most 20%, and begin again after Reset.
func TestDelaysGrow(t *testing.T) {
	b := retry.New(100*time.Millisecond, 5*time.Second)
	for range 2 {
		for _, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
			want *= time.Millisecond
			if got := b.Next(); got < want*8/10 || got > want*12/10+1 {
				t.Errorf("the delay is %v, want %v with at most 20%% of difference", got, want)
			}
		}
		b.Reset()
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if !retry.Sleep(ctx, 100*time.Millisecond) || time.Since(began) != 100*time.Millisecond {
			t.Error("Sleep did not wait for 100 ms")
		}
		if retry.New(time.Hour, time.Hour).Wait(ctx) || time.Since(began) != time.Second {
			t.Error("Wait did not end with its context")
		}
		if retry.Sleep(ctx, 0) {
			t.Error("Sleep returned true after the end of its context")
		}
	})
}
