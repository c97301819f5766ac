package fakeagent

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"gascity/internal/fakeagent/ledger"
)

const maxLedgerText = 4096

// ledgerFile writes the ledger. A record is on disk when write returns.
type ledgerFile struct {
	// Constant after construction.
	name  string
	front *os.File // pipe to the waiting first process; nil if there is none

	once sync.Once  // for the exit record
	mu   sync.Mutex // guards file and seq: the watchdog of signals writes too
	file *os.File   // nil if no ledger is written
	seq  int
}

// openLedger opens the ledger that the flags name.
func openLedger(m *modes) (*ledgerFile, error) {
	b := &ledgerFile{name: m.name, front: m.report}
	if m.ledger == "" {
		return b, nil
	}
	file, err := os.OpenFile(m.ledger, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	b.file = file
	return b, nil
}

// write completes and appends one record. It panics on an error, because tests depend on a complete ledger.
func (b *ledgerFile) write(r ledger.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return
	}
	b.seq++
	r.Seq, r.Run, r.Name = b.seq, os.Getpid(), b.name
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = b.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = b.file.Sync()
	}
	if err != nil {
		panic(fmt.Sprintf("fakeagent: cannot write the ledger: %v", err))
	}
}

// text sets the fields of a record that describe a text.
func (b *ledgerFile) text(r ledger.Record, text []byte) ledger.Record {
	r.Bytes, r.SHA256 = len(text), ledger.Sum(string(text))
	if len(text) <= maxLedgerText && utf8.Valid(text) {
		r.Text = string(text)
	}
	return r
}

// exit writes the exit record once: both the loop and the watchdog of signals may call it.
func (b *ledgerFile) exit(r ledger.Record, draft []byte) {
	b.once.Do(func() {
		r.Kind = ledger.Exit
		if len(draft) > 0 {
			r = b.text(r, draft)
		}
		b.write(r)
		b.report(strconv.Itoa(r.Code))
	})
}

// report sends a line to the waiting first process. Errors are ignored, because that process may have exited.
func (b *ledgerFile) report(line string) {
	if b.front != nil {
		warn(b.front, line)
	}
}
