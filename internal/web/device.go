package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/fsutil"
	"gascity/internal/retry"
)

// The limits of devices.
const (
	maxDevices = 64
	maxOpen    = 64                  // requests of one device at a time, with its streams and terminals
	unusedLife = 30 * 24 * time.Hour // a device that is not used for so long is signed out
	seenEvery  = 24 * time.Hour      // how often the last use is saved
)

// savedState is the content of the state file.
type savedState struct {
	// On is whether the listener is to run because of a request, see [Server.StartWeb].
	On bool `json:"on"`
	// Listen is the last address, so that open pages find the listener again.
	Listen  string        `json:"listen,omitempty"`
	Devices []savedDevice `json:"devices,omitempty"`
}

// savedDevice is a device in the state file. It has no secrets: only their digests.
type savedDevice struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Scope    client.Scope `json:"scope"`
	Created  time.Time    `json:"created"`
	LastSeen time.Time    `json:"last_seen"`
	Cookie   []byte       `json:"cookie_sha256"`
	Key      []byte       `json:"key_sha256"`
	Push     *savedPush   `json:"push,omitempty"`
}

// device is a browser that is signed in. Its fields are guarded by the mutex of its registry.
type device struct {
	id, name    string
	scope       client.Scope
	created     time.Time
	seen, saved time.Time // the last use, and as it is in the file
	cookie, key digest
	push        *savedPush // nil: it gets no notifications

	open           map[*visit]struct{}
	reads, changes retry.Bucket
	all, pages     retry.Bucket // see [registry.admit]
}

// visit is one open request of a device.
type visit struct{ end context.CancelCauseFunc }

// registry is the set of devices, and the state file. It is safe for concurrent use.
type registry struct {
	path string
	now  func() time.Time
	// notified is called with the devices that get notifications, after each change, while mu is locked; nil: it is not.
	notified func([]client.WebDevice)

	mu       sync.Mutex
	state    savedState // without Devices; guarded by mu
	devices  []*device  // oldest first; guarded by mu
	reported []string   // the ids that notified was last called with; guarded by mu
}

// openRegistry reads the state file. A file that cannot be understood is an error; a missing one is
// an empty registry.
func openRegistry(path string, now func() time.Time) (*registry, error) {
	r := &registry{path: path, now: now}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r.state)
	}
	if err != nil {
		r.state = savedState{}
		return r, fmt.Errorf("cannot read the devices of the web console, all are signed out: %w", err)
	}
	for _, d := range r.state.Devices {
		it := &device{id: d.ID, name: d.Name, scope: d.Scope, created: d.Created, seen: d.LastSeen, saved: d.LastSeen, push: d.Push, open: map[*visit]struct{}{}}
		if copy(it.cookie[:], d.Cookie) == len(it.cookie) && copy(it.key[:], d.Key) == len(it.key) && len(d.Cookie) == len(it.cookie) && len(d.Key) == len(it.key) {
			r.devices = append(r.devices, it)
		}
	}
	r.state.Devices = nil
	return r, nil
}

// saveLocked writes the state file.
func (r *registry) saveLocked() error {
	state := r.state
	for _, d := range r.devices {
		state.Devices = append(state.Devices, savedDevice{d.id, d.name, d.scope, d.created, d.seen, d.cookie[:], d.key[:], d.push})
	}
	text, err := json.MarshalIndent(state, "", "  ")
	if err == nil {
		err = fsutil.ReplaceFile(r.path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cannot save the devices of the web console: %w", err)
	}
	for _, d := range r.devices {
		d.saved = d.seen
	}
	return nil
}

// listener returns whether the listener is to run, and its last address.
func (r *registry) listener() (on bool, listen string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.On, r.state.Listen
}

// setListener saves whether the listener is to run, and its address. An empty address keeps the last
// one.
func (r *registry) setListener(on bool, listen string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := savedState{On: on, Listen: listen}
	if listen == "" {
		next.Listen = r.state.Listen
	}
	if next.On == r.state.On && next.Listen == r.state.Listen {
		return nil
	}
	r.state = next
	return r.saveLocked()
}

// secrets are what a device proves itself with; only their hashes are saved.
type secrets struct{ cookie, key string }

// signIn adds a device and returns its secrets.
func (r *registry) signIn(name string, scope client.Scope) (it client.WebDevice, own secrets, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.removeUnusedLocked(now)
	if len(r.devices) >= maxDevices {
		return it, own, fmt.Errorf("%w: %d devices are signed in; list them and sign one out: gc web devices", client.ErrRefused, maxDevices)
	}
	d := &device{id: "d-" + strings.ToLower(rand.Text()[:8]), name: name, scope: scope, created: now, seen: now, open: map[*visit]struct{}{}}
	own.cookie, d.cookie = newSecret()
	own.key, d.key = newSecret()
	r.devices = append(r.devices, d)
	if err := r.saveLocked(); err != nil {
		r.devices = r.devices[:len(r.devices)-1]
		return it, secrets{}, err
	}
	return d.shown(), own, nil
}

// shown returns the device for people.
func (d *device) shown() client.WebDevice {
	return client.WebDevice{ID: d.id, Name: d.name, Scopes: d.scope.UpTo(), Created: d.created, LastSeen: d.seen, Open: len(d.open), Notified: d.push != nil}
}

// list returns all devices.
func (r *registry) list() []client.WebDevice {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeUnusedLocked(r.now())
	out := []client.WebDevice{}
	for _, d := range r.devices {
		out = append(out, d.shown())
	}
	return out
}

// removeUnusedLocked signs out the devices that were not used for long.
func (r *registry) removeUnusedLocked(now time.Time) {
	r.devices = slices.DeleteFunc(r.devices, func(d *device) bool { return len(d.open) == 0 && now.Sub(d.seen) > unusedLife })
	r.reportNotifiedLocked()
}

// errRevoked ends the requests of a device that is signed out.
var errRevoked = fmt.Errorf("%w: the device was signed out", client.ErrUnauthorized)

// remove signs a device out, and ends its open requests. The device is signed out also if the file
// cannot be written; then it is signed in again after a restart, which the error says.
func (r *registry) remove(id string) (client.WebDevice, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.findLocked(hasID(id))
	if d == nil {
		return client.WebDevice{}, fmt.Errorf("%w: no device has the id %q; gc web devices lists them", client.ErrNotFound, id)
	}
	r.devices = slices.DeleteFunc(r.devices, func(other *device) bool { return other == d })
	shown := d.shown()
	for v := range d.open {
		v.end(errRevoked)
	}
	r.reportNotifiedLocked()
	if err := r.saveLocked(); err != nil {
		return shown, fmt.Errorf("the device %s is signed out until the controller restarts: %w", id, err)
	}
	return shown, nil
}

var errNotSignedIn = fmt.Errorf("%w: sign in with a new code from: gc web", client.ErrUnauthorized)

// proof is what a request presents to prove a device.
type proof struct {
	cookies []digest // of the device's cookie; another server of this host may have added more
	key     string
}

// enter finds the device that the proof belongs to and registers a request of it. The returned
// context ends when the device is signed out. The caller must call leave.
func (r *registry) enter(parent context.Context, p proof) (ctx context.Context, it client.WebDevice, leave func(), err error) { //nolint:revive // they belong together
	if p.key == "" || len(p.key) > maxSecret {
		return nil, it, nil, errNotSignedIn
	}
	key := digestOf(p.key)
	return r.visit(parent, func(d *device) bool { return d.has(p.cookies) && d.key.equal(key) })
}

// enterByTicket is like enter for a terminal: the device of the ticket must have the cookie.
func (r *registry) enterByTicket(parent context.Context, t ticket, cookies []digest) (ctx context.Context, it client.WebDevice, leave func(), err error) { //nolint:revive // they belong together
	return r.visit(parent, func(d *device) bool { return d.id == t.device && d.has(cookies) })
}

// ownerOf returns the device that has one of the cookies. It proves nothing about the sender: every
// server of this host gets the cookie.
func (r *registry) ownerOf(cookies []digest) (it client.WebDevice, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.findLocked(func(d *device) bool { return d.has(cookies) })
	if d == nil {
		return it, false
	}
	return d.shown(), true
}

// has reports whether one of the cookies is that of the device.
func (d *device) has(cookies []digest) bool { return slices.ContainsFunc(cookies, d.cookie.equal) }

// findLocked returns the device that matches, or nil.
func (r *registry) findLocked(match func(*device) bool) *device {
	if i := slices.IndexFunc(r.devices, match); i >= 0 {
		return r.devices[i]
	}
	return nil
}

// hasID matches the device with the ID.
func hasID(id string) func(*device) bool { return func(d *device) bool { return d.id == id } }

// visit registers a request of the device that matches.
func (r *registry) visit(parent context.Context, match func(*device) bool) (ctx context.Context, it client.WebDevice, leave func(), err error) { //nolint:revive // they belong together
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.removeUnusedLocked(now)
	d := r.findLocked(match)
	if d == nil {
		return nil, it, nil, errNotSignedIn
	}
	if len(d.open) >= maxOpen {
		return nil, it, nil, fmt.Errorf("%w: the device has %d open requests; close other tabs", client.ErrTooMany, maxOpen)
	}
	r.recordUseLocked(d, now)
	ctx, end := context.WithCancelCause(parent)
	v := &visit{end}
	d.open[v] = struct{}{}
	return ctx, d.shown(), func() {
		r.leave(d, v)
		end(nil)
	}, nil
}

// recordUseLocked records that the device is used now.
func (r *registry) recordUseLocked(d *device, now time.Time) {
	d.seen = now
	if now.Sub(d.saved) > seenEvery {
		_ = r.saveLocked() // the next request tries again; without the time the device only expires earlier
	}
}

// leave removes a request of a device. The device was in use until now: a stream may last for weeks.
func (r *registry) leave(d *device, v *visit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(d.open, v)
	if slices.Contains(r.devices, d) { // it is still signed in
		r.recordUseLocked(d, r.now())
	}
}

var errDeviceTooFast = fmt.Errorf("%w: this device sends too many requests; try again in a second", client.ErrTooMany)

// allow counts a request of a device. It returns an error beyond the rate.
func (r *registry) allow(id string, changes bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.findLocked(hasID(id))
	if d == nil {
		return errNotSignedIn
	}
	counted, limit := &d.reads, readRate
	if changes {
		counted, limit = &d.changes, changeRate
	}
	if !counted.Allow(limit, r.now()) {
		return errDeviceTooFast
	}
	return nil
}
