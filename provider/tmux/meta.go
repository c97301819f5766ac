package tmux

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"gascity/internal/tmuxctl"
	"gascity/runtime"
)

// Metadata are options of the pane, so that they end with it. Keys and values are encoded:
// tmux knows few characters in a name, and prints values as it likes.

func metaOption(key string) string { return "@" + optionMeta + hex.EncodeToString([]byte(key)) }

// SetMeta keeps the contract of runtime.MetaStore.
func (p *Provider) SetMeta(name, key, value string) error {
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	_, err := p.meta("set metadata of", name, func(r *record) tmuxctl.Command {
		return tmuxctl.Cmd("set-option", "-p", "-t", r.target(), metaOption(key), encoded)
	})
	return err
}

// GetMeta keeps the contract of runtime.MetaStore.
func (p *Provider) GetMeta(name, key string) (string, error) {
	const op = "read metadata of"
	encoded, err := p.meta(op, name, func(r *record) tmuxctl.Command {
		return tmuxctl.Cmd("display-message", "-p", "-t", r.target(), "#{"+metaOption(key)+"}")
	})
	if err != nil {
		return "", err
	}
	value, err := base64.StdEncoding.DecodeString(string(encoded))
	return string(value), fold(op, name, err)
}

// RemoveMeta keeps the contract of runtime.MetaStore.
func (p *Provider) RemoveMeta(name, key string) error {
	_, err := p.meta("remove metadata of", name, func(r *record) tmuxctl.Command {
		return tmuxctl.Cmd("set-option", "-p", "-q", "-u", "-t", r.target(), metaOption(key))
	})
	return err
}

// meta carries out one command on the metadata of a session that runs.
func (p *Provider) meta(op, name string, command func(*record) tmuxctl.Command) ([]byte, error) {
	ctx, cancel := bounded()
	defer cancel()
	if runtime.ValidateName(name) != nil {
		return nil, &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	return p.metaOf(ctx, op, name, command)
}

func (p *Provider) metaOf(ctx context.Context, op, name string, command func(*record) tmuxctl.Command) ([]byte, error) {
	for try := 0; ; try++ {
		r, err := p.records.recall(p.dir(name))
		if err == nil && r == nil {
			err = runtime.ErrSessionNotFound
		}
		if err != nil {
			return nil, fold(op, name, err)
		}
		out, err := p.act(ctx, r, r.fence(), command(r))
		if !errors.Is(err, errFenced) || try == 1 {
			return out, fold(op, name, err)
		}
	}
}
