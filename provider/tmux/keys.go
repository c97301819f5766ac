package tmux

import (
	"bytes"
	"context"
	"errors"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// SendKeys implements runtime.Input. Keys that have the same bytes in every mode of the terminal are sent by one tmux command if
// no delivery is in progress. Otherwise it needs the session's lease. A session that is gone is no error.
func (p *Provider) SendKeys(name string, keys ...string) error {
	const op = "send keys to"
	plain, err := encode(keys, vt.Modes{})
	if err != nil {
		return &runtime.Error{Op: op, Session: name, Err: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	if !dependsOnModes(keys, plain) {
		if sent, err := p.sendKeysOnce(ctx, name, plain); sent {
			return fold(op, name, err)
		}
	}
	err = p.Drive(ctx, op, name, nil, func(s *session) error {
		return s.terminal.sendOutsideDelivery(ctx, func(ctx context.Context, l *lease) error { return l.sendKeys(ctx, keys, plain) })
	})
	if runtime.IsSessionGone(err) {
		return nil
	}
	return err
}

// sendKeysOnce sends keys with one command and without a lease. This is possible if the cached record is current
// and no text of a delivery can be in the input box. If sent is false, nothing was sent and the caller must use a
// lease.
func (p *Provider) sendKeysOnce(ctx context.Context, name string, keys []byte) (sent bool, err error) {
	r, err := p.records.Load(p.dir(name), readRecord)
	if err != nil || r == nil || r.Pane == "" || len(keys) == 0 {
		return false, nil // the attempt with a lease returns the error
	}
	unlock, err := p.lockInput(ctx, name)
	if err != nil {
		return false, nil // same as above
	}
	defer unlock()
	if !hasNoOpenDelivery(deliveryLogFile(p.dir(name))) {
		return false, nil
	}
	err = (&terminal{provider: p, record: r}).send(ctx, r.fence(), keys, r.outsideCommand(keys)) // no other deliverer sends anything while this caller holds the input lock
	return !errors.Is(err, screen.ErrExited), err
}

// sendKeys sends keys in the encoding of the program's current modes. plain are the keys encoded for the default
// modes. It queries the modes only if the encoding depends on them.
func (l *lease) sendKeys(ctx context.Context, keys []string, plain []byte) error {
	if len(plain) == 0 {
		return nil
	}
	if dependsOnModes(keys, plain) {
		f, err := l.Frame(ctx, 0)
		if err != nil {
			return err
		}
		if plain, err = encode(keys, f.Modes); err != nil {
			return err
		}
	}
	return l.send(ctx, l.fence(), plain, l.record.outsideCommand(plain))
}

// dependsOnModes reports whether the encoding of the keys depends on the modes of the program. It considers the
// two modes that the server reports: application cursor keys and application keypad.
func dependsOnModes(keys []string, plain []byte) bool {
	special, err := encode(keys, vt.Modes{AppCursorKeys: true, AppKeypad: true})
	return err != nil || !bytes.Equal(plain, special)
}

// encode returns the bytes of the keys, see [vt.Key], for a program with the given modes.
func encode(keys []string, modes vt.Modes) ([]byte, error) {
	all := make([]byte, 0, 2*len(keys))
	for _, key := range keys {
		p, err := vt.Key(key, modes)
		if err != nil {
			return nil, err
		}
		all = append(all, p...)
	}
	return all, nil
}
