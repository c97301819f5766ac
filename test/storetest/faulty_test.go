package storetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
)

func TestFaultyBehavesByItsMode(t *testing.T) {
	ctx := t.Context()
	under := Memory(time.Now)
	f := NewFaulty(under)
	save := func(name string) error { return f.Save(ctx, session.Record{Session: name, Provider: "p"}) }
	sees := func(want int, wantErr error) {
		t.Helper()
		got, err := f.Load(ctx)
		if len(got) != want || !errors.Is(err, wantErr) {
			t.Errorf("%d records were read, error %v; want %d and %v", len(got), err, want, wantErr)
		}
	}
	if err := save("a"); err != nil {
		t.Fatal(err)
	}
	sees(1, nil)
	f.Set(Stale)
	if err := save("b"); err != nil {
		t.Fatal(err)
	}
	sees(1, nil)
	f.Set(Empty)
	sees(0, nil)
	if _, err := f.Receipt(ctx, "r"); !errors.Is(err, prompt.ErrUnknown) {
		t.Errorf("an empty store answers for a receipt with %v", err)
	}
	f.Set(FailsWrites)
	sees(2, nil)
	if err := save("c"); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("a store that fails writes returned %v", err)
	}
	f.Set(LosesAnswers)
	if err := save("d"); !errors.Is(err, ErrFault) {
		t.Errorf("a store that loses answers returned %v", err)
	}
	f.Set(Fails)
	f.FailWith(context.Canceled)
	sees(0, context.Canceled)
	f.Set(Works)
	sees(3, nil)
	if f.Writes() != 3 {
		t.Errorf("%d writes reached the store, want 3", f.Writes())
	}
}

func TestFaultyHangsUntilItsContextOrItsModeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFaulty(Memory(time.Now))
		f.Set(Hangs)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := f.OpenReceipts(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a store that hangs returned %v, want the end of its context", err)
		}
		done := make(chan error)
		go func() {
			_, err := f.Append(t.Context(), client.Event{Kind: "session.started"})
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("a log that hangs appended, error %v", err)
		default:
		}
		f.Set(Works)
		if err := <-done; err != nil {
			t.Errorf("a log that hung and works again returned %v", err)
		}
	})
}
