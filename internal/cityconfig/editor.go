package cityconfig

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/fsutil"
)

// Editor is the only writer of a city's city.toml. It shows the text without its credentials: each is replaced by a placeholder that
// stands for the same value when the text comes back. It is safe for concurrent use.
type Editor struct {
	loader *Loader
	root   string
	// leaks reports whether a text has a credential that is known from elsewhere.
	leaks func(text string) bool
	key   []byte     // of the names of placeholders
	write sync.Mutex // held while the file is changed
}

// NewEditor returns the editor for the city.toml of the city at root. leaks reports whether a text has a credential that gc knows.
// The random key makes the names of placeholders.
func NewEditor(l *Loader, root string, leaks func(text string) bool) *Editor {
	return &Editor{loader: l, root: root, leaks: leaks, key: []byte(rand.Text())}
}

var errUnread = fmt.Errorf("%w: %s has changed on disk since it was read, so nothing was written; read it again and repeat the change", client.ErrRefused, client.CityFile)

// placeholder matches a placeholder, which stands for a credential in the text that a page gets.
var placeholder = regexp.MustCompile(`"?` + strings.Repeat(`\*`, len(config.Masked)) + `[0-9a-f]{16}"?`)

// document is the text of city.toml: with its credentials, and with placeholders.
type document struct {
	path    string
	text    []byte
	shown   string            // with placeholders
	secrets map[string][]byte // the source text of each credential, by its placeholder
}

// hash returns the SHA-256 hash of a text in hexadecimal digits.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (e *Editor) path() string { return filepath.Join(e.root, client.CityFile) }

// read reads the file and hides its credentials.
func (e *Editor) read(ctx context.Context) (document, error) {
	d := document{path: e.path(), secrets: map[string][]byte{}}
	var err error
	if d.text, err = config.ReadText(ctx, d.path); err != nil {
		return d, ExplainMissing(e.root, err)
	}
	if !utf8.Valid(d.text) {
		return d, fmt.Errorf("%w: %s is not UTF-8 text; edit it on the machine of the city", client.ErrRefused, d.path)
	}
	spans, err := config.HiddenSpans(d.text)
	if err != nil {
		return d, fmt.Errorf("%w: %s is not valid TOML, and %w; edit it on the machine of the city", client.ErrRefused, d.path, err)
	}
	var out strings.Builder
	at := 0
	for _, span := range spans {
		secret := d.text[span.From:span.To]
		name := e.placeholder(secret)
		d.secrets[name] = secret
		out.Write(d.text[at:span.From])
		out.WriteString(name)
		at = span.To
	}
	out.Write(d.text[at:])
	d.shown = out.String()
	return d, nil
}

// placeholder returns the placeholder for a credential. The same source text always gets the same
// placeholder, until gc starts again.
func (e *Editor) placeholder(secret []byte) string {
	sum := hmac.New(sha256.New, e.key)
	sum.Write(secret)
	return `"` + config.Masked + hex.EncodeToString(sum.Sum(nil)[:8]) + `"`
}

// File returns the text of city.toml with placeholders and its hash. It refuses a file with a
// credential that it cannot replace, for example in the middle of a command.
func (e *Editor) File(ctx context.Context) (client.ConfigFile, error) {
	d, err := e.read(ctx)
	if err != nil {
		return client.ConfigFile{}, err
	}
	if e.leaks(d.shown) {
		return client.ConfigFile{}, fmt.Errorf("%w: %s has a credential in the middle of a value, such as a command, which would be shown; edit it on the machine of the city", client.ErrRefused, d.path)
	}
	return client.ConfigFile{Path: d.path, Text: d.shown, Hash: hash(d.text), Hidden: len(d.secrets)}, nil
}

// restore returns an edited text with the credentials of the file in place of their placeholders. A
// placeholder that does not belong to the file is an error.
func (d document) restore(text string) ([]byte, error) {
	var unknown error
	restored := placeholder.ReplaceAllStringFunc(text, func(name string) string {
		quoted := `"` + strings.Trim(name, `"`) + `"`
		secret, ok := d.secrets[quoted]
		if !ok || name != quoted {
			unknown = fmt.Errorf("%w: the text has %s, which stands for a credential that %s does not have, or no more; read the file again, or write the credential itself", client.ErrInvalid, name, d.path)
		}
		return string(secret)
	})
	if unknown == nil && strings.Contains(restored, config.Masked) && !strings.Contains(string(d.text), config.Masked) {
		unknown = fmt.Errorf("%w: the text has %s in place of a credential; read the file again, or write the credential itself", client.ErrInvalid, config.Masked)
	}
	return []byte(restored), unknown
}

// Draft is an edited text of city.toml that was checked.
type Draft struct {
	Usable bool // the controller would accept it
	Faults []client.ConfigFault
	Hash   string // of the file on disk
	Text   []byte // with credentials

	before []byte // the text on disk
}

// Check checks an edited text like the controller does before it uses a configuration, and returns
// the mistakes. It does not write the file.
func (e *Editor) Check(ctx context.Context, text string) (Draft, error) {
	d, err := e.read(ctx)
	if err != nil {
		return Draft{}, err
	}
	out := Draft{Hash: hash(d.text), Faults: []client.ConfigFault{}, before: d.text}
	if out.Text, err = d.restore(text); err != nil {
		return out, err
	}
	if strings.TrimSpace(text) == "" {
		return out, fmt.Errorf("%w: the configuration is empty", client.ErrInvalid)
	}
	// Mistakes are reported for the text as it was sent, so that their positions are right.
	sent, err := e.loader.LoadText(ctx, e.root, []byte(text))
	faults, err := e.loader.faults(ctx, e.root, sent, err)
	if err != nil {
		return out, err
	}
	out.Faults = append(out.Faults, faults...)
	if slices.ContainsFunc(faults, func(f client.ConfigFault) bool { return !f.Alone && !f.Warning }) {
		return out, nil
	}
	if _, err = e.loader.LoadText(ctx, e.root, out.Text); err != nil {
		return out, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	out.Usable = true
	return out, nil
}

// Apply writes an edited text to city.toml. It refuses the text if the controller would not accept
// it, or if the file has changed since its hash was read. A reader of the file finds either the old
// text or the whole new one. The file keeps its mode.
func (e *Editor) Apply(ctx context.Context, edit client.ConfigEdit) error {
	e.write.Lock()
	defer e.write.Unlock()
	draft, err := e.Check(ctx, edit.Text)
	switch {
	case draft.Hash != "" && draft.Hash != edit.Hash:
		return errUnread
	case err != nil:
		return err
	case !draft.Usable:
		f := draft.Faults[slices.IndexFunc(draft.Faults, func(f client.ConfigFault) bool { return !f.Alone && !f.Warning })]
		return fmt.Errorf("%w: nothing was written, because the text has mistakes: %d:%d: %s", client.ErrInvalid, f.Line, f.Column, f.Message)
	}
	return e.replace(ctx, draft.before, draft.Text)
}

// AddSection appends a section to city.toml if the controller would accept the file with it. Comments and everything else stay as
// they are.
func (e *Editor) AddSection(ctx context.Context, section string) error {
	e.write.Lock()
	defer e.write.Unlock()
	before, err := config.ReadText(ctx, e.path())
	if err != nil {
		return fmt.Errorf("%w: cannot read %s: %w", client.ErrUnavailable, client.CityFile, err)
	}
	after := []byte(strings.TrimRight(string(before), "\n") + "\n\n" + section)
	if _, err := e.loader.LoadText(ctx, e.root, after); err != nil {
		return fmt.Errorf("%w: this section cannot be added to %s, and nothing was written: %w; add it by hand:\n%s", client.ErrRefused, client.CityFile, err, section)
	}
	return e.replace(ctx, before, after)
}

// replace replaces the content oldText of the file by newText. Readers see the old text or the whole new one. The file keeps its
// mode, and a symbolic link stays. If the content of the file is not oldText, nothing is written.
func (e *Editor) replace(ctx context.Context, oldText, newText []byte) error {
	path, err := filepath.EvalSymlinks(e.path())
	if err != nil {
		return fmt.Errorf("%w: cannot find %s: %w", client.ErrUnavailable, client.CityFile, err)
	}
	err = fsutil.ReplaceFileIf(path, newText, func() error {
		if now, err := config.ReadText(ctx, path); err != nil || !bytes.Equal(now, oldText) {
			return errUnread
		}
		return nil
	})
	if err != nil && !errors.Is(err, errUnread) {
		return fmt.Errorf("%w: cannot write %s: %w", client.ErrUnavailable, path, err)
	}
	return err
}
