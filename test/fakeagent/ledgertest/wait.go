// Package ledgertest waits for records in the ledger of a fake agent, for tests.
package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"gascity/internal/fakeagent/ledger"
)

// Wait reads the ledger until pred returns true for its records, and returns them. If ctx ends first, it returns the records so
// far and an error that names the last ones. A ledger that does not exist counts as empty.
func Wait(ctx context.Context, file string, pred func([]ledger.Record) bool) ([]ledger.Record, error) {
	ticker := time.NewTicker(3 * time.Millisecond)
	defer ticker.Stop()
	var records []ledger.Record
	var used int64
	size := int64(-1) // size of the file at the last read
	for {
		info, err := os.Stat(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return records, fmt.Errorf("wait for ledger: %w", err)
		}
		if (err == nil && info.Size() != size) || size < 0 {
			more, n, err := readFrom(file, used)
			if err != nil {
				return records, fmt.Errorf("wait for ledger %s: %w", file, err)
			}
			records, used = append(records, more...), used+n
			size = 0
			if info != nil {
				size = info.Size()
			}
			if pred(records) {
				return records, nil
			}
		}
		select {
		case <-ctx.Done():
			return records, fmt.Errorf("wait for ledger %s: %w; it ends with %s", file, context.Cause(ctx), tail(records))
		case <-ticker.C:
		}
	}
}

// readFrom returns the complete records after offset and the number of bytes in them.
func readFrom(file string, offset int64) ([]ledger.Record, int64, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if offset > int64(len(data)) {
		return nil, 0, errors.New("the file became shorter")
	}
	records, n, err := ledger.Parse(data[offset:])
	return records, int64(n), err
}

// tail describes the last five records, for an error message.
func tail(records []ledger.Record) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d records:", len(records))
	for _, r := range records[max(0, len(records)-5):] {
		fmt.Fprintf(&text, " %d/%d %s %s%s%s", r.Run, r.Seq, r.Kind, r.Dialog, r.Choice, r.Reason)
	}
	return text.String()
}

// Has returns a predicate for [Wait]: there are at least n records of the kind.
func Has(kind string, n int) func([]ledger.Record) bool {
	return func(records []ledger.Record) bool { return len(ledger.Of(records, kind)) >= n }
}
