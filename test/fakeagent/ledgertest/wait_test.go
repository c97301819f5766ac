package ledgertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestWaitSeesRecordsAsTheyCome(t *testing.T) {
	file := filepath.Join(t.TempDir(), "l")
	time.AfterFunc(10*time.Millisecond, func() {
		write(t, file, `{"seq":1,"kind":"start","run":7}`+"\n"+`{"seq":2,`)
		time.AfterFunc(20*time.Millisecond, func() { write(t, file, `"kind":"prompt","run":7}`+"\n") })
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	records, err := Wait(ctx, file, Has(ledger.Prompt, 1))
	if err != nil || len(records) != 2 {
		t.Errorf("Wait = %+v, %v", records, err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if records, err = Wait(ctx, file, Has(ledger.Exit, 1)); !errors.Is(err, context.DeadlineExceeded) || len(records) != 2 {
		t.Errorf("Wait = %+v, %v", records, err)
	}
}
