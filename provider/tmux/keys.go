package tmux

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// SendKeys implements runtime.Input.
func (p *Provider) SendKeys(name string, keys ...string) error {
	const op = "send keys to"
	plain, err := encode(keys, vt.Modes{})
	if err != nil {
		return &runtime.Error{Op: op, Session: name, Err: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	if !moded(keys, plain) {
		if sent, err := p.sendKeysOnce(ctx, name, plain); sent {
			return fold(op, name, err)
		}
	}
	err = p.drive(ctx, op, name, nil, func(s drivenSession) error {
		return s.interject(ctx, func(ctx context.Context, l *lease) error { return l.press(ctx, keys, plain) })
	})
	if runtime.IsSessionGone(err) {
		return nil
	}
	return err
}

// sendKeysOnce sends keys in one step where nothing has to be found out first: the session stands as
// it is known, and no text of ours is in its line. If sent is false, nothing was.
func (p *Provider) sendKeysOnce(ctx context.Context, name string, keys []byte) (sent bool, err error) {
	r, err := p.records.load(p.dir(name))
	if err != nil || r == nil || r.Pane == "" || len(keys) == 0 {
		return false, nil // the long way returns why
	}
	unlock, err := lockInput(ctx, p.dir(name))
	if err != nil {
		return false, nil // as above
	}
	defer unlock()
	if !quiet(accountFile(p.dir(name))) {
		return false, nil
	}
	err = (&terminal{provider: p, record: r}).Send(ctx, keys) // of who delivers nothing is on its way
	return !errors.Is(err, screen.ErrExited), err
}

// press sends keys as the program wants them now. Its modes are asked for only where they
// matter.
func (l *lease) press(ctx context.Context, keys []string, plain []byte) error {
	if len(plain) == 0 {
		return nil
	}
	if moded(keys, plain) {
		f, err := l.Frame(ctx, 0)
		if err != nil {
			return err
		}
		if plain, err = encode(keys, f.Modes); err != nil {
			return err
		}
	}
	return l.Send(ctx, plain)
}

// moded reports whether the way to send the keys depends on the modes of the program. The
// server does not report others.
func moded(keys []string, plain []byte) bool {
	if !slices.ContainsFunc(keys, func(key string) bool { return !isText(key) }) {
		return false
	}
	special, err := encode(keys, vt.Modes{AppCursorKeys: true, AppKeypad: true})
	return err != nil || !bytes.Equal(plain, special)
}

func encode(keys []string, modes vt.Modes) ([]byte, error) {
	all := make([]byte, 0, 2*len(keys))
	for _, key := range keys {
		if isText(key) {
			all = append(all, key[0])
			continue
		}
		p, err := vt.Key(key, modes)
		if err != nil {
			return nil, err
		}
		all = append(all, p...)
	}
	return all, nil
}

// isText reports whether a key is a character of a text, which is itself in all modes.
func isText(key string) bool { return len(key) == 1 && key[0] >= ' ' && key[0] < utf8.RuneSelf-1 }
