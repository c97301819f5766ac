package tmux

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"gascity/internal/driver"
	"gascity/runtime"
)

// Metadata are hidden environment variables of the session. They end with the session, and no program inherits
// them. If the server does not support hidden variables, metadata are options of the pane, which are slower the
// more windows the server has. Keys and values are encoded, because tmux allows few characters in a name and
// changes some values when it prints them.

// metaPrefix is the prefix of the names of metadata variables.
const metaPrefix = "gc_meta_"

func metaName(key string) string { return metaPrefix + hex.EncodeToString([]byte(key)) }

// SetMeta implements runtime.MetaStore.
func (p *Provider) SetMeta(name, key, value string) error {
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	_, err := p.meta("set metadata of", name, func(r *record) tmuxCommand {
		if p.hasHiddenMeta() {
			return cmd("set-environment", "-h", "-t", r.Session, metaName(key), encoded)
		}
		return cmd("set-option", "-p", "-t", r.target(), "@"+metaName(key), encoded)
	})
	return err
}

// GetMeta implements runtime.MetaStore.
func (p *Provider) GetMeta(name, key string) (string, error) {
	const op = "read metadata of"
	encoded, err := p.meta(op, name, func(r *record) tmuxCommand {
		format := "#{@" + metaName(key) + "}"
		if p.hasHiddenMeta() {
			format = "#{" + metaName(key) + "}"
		}
		return cmd("display-message", "-p", "-t", r.target(), format)
	})
	if err != nil {
		return "", err
	}
	value, err := base64.StdEncoding.DecodeString(string(encoded))
	return string(value), fold(op, name, err)
}

// RemoveMeta implements runtime.MetaStore.
func (p *Provider) RemoveMeta(name, key string) error {
	_, err := p.meta("remove metadata of", name, func(r *record) tmuxCommand {
		if p.hasHiddenMeta() {
			return cmd("set-environment", "-u", "-t", r.Session, metaName(key))
		}
		return cmd("set-option", "-p", "-q", "-u", "-t", r.target(), "@"+metaName(key))
	})
	return err
}

// meta runs one command on the metadata of a running session and returns its output.
func (p *Provider) meta(op, name string, command func(*record) tmuxCommand) ([]byte, error) {
	ctx, cancel := driver.CallContext()
	defer cancel()
	if runtime.ValidateName(name) != nil {
		return nil, &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	if _, _, known := p.server.client.Server(); !known { // connects, so the features of the server are known
		if _, err := p.server.Query(ctx, cmd("display-message", "-p", ".")); err != nil && !isAbsent(err) {
			return nil, fold(op, name, err)
		}
	}
	return p.metaOf(ctx, op, name, command)
}

// metaOf runs the command. It reads the record again and retries once if the cached record is outdated.
func (p *Provider) metaOf(ctx context.Context, op, name string, command func(*record) tmuxCommand) ([]byte, error) {
	for try := 0; ; try++ {
		r, err := p.records.Load(p.dir(name), readRecord)
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

// hasHiddenMeta reports whether the connected server supports hidden variables.
func (p *Provider) hasHiddenMeta() bool {
	_, features, _ := p.server.client.Server()
	return features.HiddenEnv
}
