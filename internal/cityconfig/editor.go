package cityconfig

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"gascity/client"
	"gascity/internal/config"
)

// Editor reads and writes the text of a city's city.toml without showing its credentials: each is
// replaced by a placeholder that stands for the same value when the text comes back. It is safe for
// concurrent use.
type Editor struct {
	loader *Loader
	root   string
	// leaks reports whether a text has a credential that is known from elsewhere.
	leaks func(text string) bool
	key   []byte      // of the names of placeholders
	write sync.Locker // held while gc changes city.toml
}

// NewEditor returns the editor of a city. leaks reports whether a text has a known credential.
func NewEditor(l *Loader, root string, write sync.Locker, leaks func(text string) bool) *Editor {
	return &Editor{loader: l, root: root, write: write, leaks: leaks, key: []byte(rand.Text())}
}

var errUnread = fmt.Errorf("%w: %s has changed on disk since it was read, so nothing was written; read it again and compare", client.ErrRefused, client.CityFile)

// placeholder matches what stands for a credential.
var placeholder = regexp.MustCompile(`"?` + strings.Repeat(`\*`, len(config.Masked)) + `[0-9a-f]{16}"?`)

// document is the text of city.toml with its credentials.
type document struct {
	path    string
	text    []byte
	shown   string            // with placeholders
	secrets map[string][]byte // the source text of each credential, by its placeholder
}

// hash returns the name of a text.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// read reads the file and hides its credentials.
func (e *Editor) read(ctx context.Context) (document, error) {
	d := document{path: filepath.Join(e.root, client.CityFile), secrets: map[string][]byte{}}
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

// placeholder returns what stands for a credential: always the same for the same source text.
func (e *Editor) placeholder(secret []byte) string {
	sum := hmac.New(sha256.New, e.key)
	sum.Write(secret)
	return `"` + config.Masked + hex.EncodeToString(sum.Sum(nil)[:8]) + `"`
}

// File returns the text of city.toml for an editor.
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

// restore returns an edited text with the credentials of the file on disk.
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

// Draft is another text of city.toml after its checks.
type Draft struct {
	Loaded Loaded
	Usable bool // the controller would accept it
	Faults []client.ConfigFault
	Hash   string // of the file on disk
	Text   []byte // with credentials
}

// Check checks an edited text as the controller does before it uses a configuration. It changes
// nothing.
func (e *Editor) Check(ctx context.Context, text string) (Draft, error) {
	d, err := e.read(ctx)
	if err != nil {
		return Draft{}, err
	}
	out := Draft{Hash: hash(d.text), Faults: []client.ConfigFault{}}
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
	if out.Loaded, err = e.loader.LoadText(ctx, e.root, out.Text); err != nil {
		return out, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	out.Usable = true
	return out, nil
}

// Apply replaces city.toml by an edited text if the file still has the hash, and if the controller
// would accept the text. Readers see the old text or the whole new one. The file keeps its mode.
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
	path, err := filepath.EvalSymlinks(filepath.Join(e.root, client.CityFile))
	if err != nil {
		return err
	}
	return e.replace(ctx, path, draft)
}

// replace writes the text to a new file and renames it.
func (e *Editor) replace(ctx context.Context, path string, draft Draft) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".city-*.toml")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(draft.Text)
	if err = errors.Join(err, file.Chmod(info.Mode().Perm()), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	if now, readErr := config.ReadText(ctx, path); readErr != nil || hash(now) != draft.Hash { // it was saved during the check
		return errUnread
	}
	if err = os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}
