package tmux

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"gascity/internal/statedir"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/internal/tmux/control"
	"gascity/internal/tmux/server"
)

// deliveryLog is the content of the file account.json, the log of deliveries into the session's input box. gc
// writes it before it sends the input that it describes. Only the holder of the session's input lock reads and
// writes it.
type deliveryLog struct {
	// Open: text of the last delivery may be in the input box. It is the first field, see hasNoOpenDelivery.
	Open       bool                `json:"open"`
	Deliveries inputlog.Deliveries `json:"deliveries"`
	Launches   int                 `json:"launches"` // record.Launches of the agent that got these deliveries
	Begun      int                 `json:"begun"`    // the number of deliveries that were begun
	// Human is the time of the last input of a person, by the server's clock, when the last delivery
	// began. Any later input may be in the input box.
	Human time.Time `json:"human,omitzero"`
	// Enters counts the submit keys that gc has logged. The server counts those that it has sent.
	// First is the number of the first submit key of the last delivery, zero if none was sent.
	Enters int `json:"enters"`
	First  int `json:"first"`
}

// lease is the exclusive right to deliver into a session. The server runs only the commands that carry the
// number of the current lease, so a deliverer that has lost its lease sends nothing.
type lease struct {
	*terminal

	number      string // random, unique to this lease
	log         deliveryLog
	humanAtRead time.Time // the time of a person's last input when the log was read
	humanNow    time.Time // the time of a person's last input, by the last report of the server
	humanKnown  bool      // the server has reported humanNow, and nothing was sent since
	canHoldKeys bool      // the server can hold back the keys of attached people
}

var _ inject.Lease = (*lease)(nil)

// lease acquires the delivery lease of the session. It updates the delivery log by what the server has counted
// since the log was written. The caller holds the session's input lock.
func (s drivenSession) lease(ctx context.Context) (*lease, error) {
	l := &lease{terminal: s.terminal}
	err := statedir.ReadJSON(deliveryLogFile(l.dir()), &l.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// From here on the server refuses the commands of a previous deliverer.
	l.number = rand.Text()
	answer, err := s.provider.act(ctx, s.record, s.fence(), control.Sequence(
		control.Cmd("set-option", "-p", "-t", s.target(), "@"+server.OptionLease, l.number),
		control.Cmd("display-message", "-p", "-t", s.target(), leaseFields+server.StateFields),
	))
	if err != nil {
		return nil, toErrExited(err)
	}
	fields := strings.SplitN(string(answer), " ", leaseCount)
	now, err := server.Parse(fields[len(fields)-1])
	if err != nil {
		return nil, err
	}
	l.attached, l.canHoldKeys = now.Attached, fields[1] == server.KeyTable
	if stale := fields[2]; stale != "" { // the key hold of a deliverer that was interrupted
		_ = s.provider.releaseKeyHold(ctx, s.record, stale) // fails if the hold has ended meanwhile
	}
	return l, l.reconcile(server.Number(fields[0]), now.Human)
}

// leaseFields are the formats that are queried when a lease is acquired, before the state. leaseCount is the
// number of fields with the state as the last one.
const (
	leaseFields = "#{@" + server.OptionEntered + "} #{key-table} #{@" + server.OptionHold + "} "
	leaseCount  = 4
)

func (l *lease) dir() statedir.Folder { return l.provider.dir(l.record.Name) }

func (l *lease) save() error {
	last := l.log.Deliveries.Account("").Last
	l.log.Open = last != nil && last.Open
	return statedir.WriteJSON(deliveryLogFile(l.dir()), &l.log)
}

// hasNoOpenDelivery reports whether the delivery log at path certainly has no delivery whose text may be in the
// input box. It reads only the beginning of the file, because the log of an old session is long.
func hasNoOpenDelivery(path string) bool {
	const closed = `{"open":false,`
	file, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // nothing was ever delivered
	}
	defer file.Close()
	head := make([]byte, len(closed))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == closed
}

// reconcile updates the delivery log by what has happened since it was written. entered is the number of submit
// keys that the server has sent. human is the time of a person's last input.
func (l *lease) reconcile(entered int, human time.Time) error {
	l.humanNow, l.humanKnown = human, true
	changed := false
	if l.log.Launches != l.record.Launches {
		l.log.Deliveries.Restart()
		l.log.Launches, changed = l.record.Launches, true
	}
	if l.log.First > entered { // the deliverer was interrupted before the server sent the key
		l.log.Deliveries.NotSent(inputlog.Enter)
		l.log.First, changed = 0, true
	}
	if l.recordHumanInput(human) || changed {
		return l.save()
	}
	return nil
}

// recordHumanInput stores the time of a person's last input. It reports whether the log has changed: a person has
// typed since the last delivery began, and the log did not say so yet.
func (l *lease) recordHumanInput(human time.Time) bool {
	l.humanAtRead = human
	return !human.Equal(l.log.Human) && l.log.Deliveries.Taint()
}

// fence returns the tmux format that is true if the pane belongs to this instance, its agent runs, and this lease
// is the current one. Everything that a delivery sends has this condition.
func (l *lease) fence() string {
	return "#{==:#{@" + server.OptionInstance + "}#{pane_dead}#{@" + server.OptionLease + "}," + l.record.hash() + "0" + l.number + "}"
}

// noHumanInputSince returns the tmux format that is true if a person's last input was at the given time, by the
// server's clock. The zero time means that no person was ever attached.
func noHumanInputSince(at time.Time) string {
	if at.IsZero() {
		return "#{==:#{?pane_id,#{session_last_attached},},}"
	}
	return "#{==:#{?pane_id,#{session_activity},}," + strconv.FormatInt(at.Unix(), 10) + "}"
}

// Frame implements screen.Terminal.
func (l *lease) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	f, err := l.terminal.Frame(ctx, after)
	if err == nil {
		l.humanNow, l.humanKnown = f.LastHuman, !f.Exited
	}
	return f, err
}

// Send implements screen.Terminal.
func (l *lease) Send(ctx context.Context, p []byte) error {
	l.humanKnown = false
	return l.send(ctx, l.fence(), p, control.Command{})
}

// Begin implements inject.Journal.
func (l *lease) Begin(ctx context.Context, id, text string, undo []byte) error {
	if _, err := l.Account(ctx, id); err != nil {
		return err
	}
	l.log.Human, l.log.First = l.humanAtRead, 0
	l.log.Begun++
	l.log.Deliveries.Begin(id, []byte(text), undo)
	return l.save()
}

// Type implements inject.Journal.
func (l *lease) Type(ctx context.Context, in inputlog.Input, p []byte) error {
	if err := l.log.Deliveries.Send(in, p); err != nil {
		return err
	}
	var count control.Command
	condition := "#{&&:" + l.fence() + "," + l.noHumanInputSince(l.log.Human) + "}"
	switch in {
	case inputlog.Keys:
		condition = l.fence()
	case inputlog.Probe, inputlog.Clear:
		condition = "#{&&:" + l.fence() + "," + l.noHumanInputSince(l.humanAtRead) + "}"
	case inputlog.Enter, inputlog.Seen:
		l.log.Enters++
		l.log.First = cmp.Or(l.log.First, l.log.Enters)
		count = control.Cmd("set-option", "-p", "-t", l.record.target(), "@"+server.OptionEntered, strconv.Itoa(l.log.Enters))
	case inputlog.Text:
	}
	if err := l.save(); err != nil {
		return err
	}
	l.humanKnown = false
	err := l.send(ctx, condition, p, count)
	if err == nil && (in == inputlog.Enter || in == inputlog.Seen) {
		l.stopHoldRenewal()
	}
	if !errors.Is(err, screen.ErrExited) {
		return err
	}
	return l.recordRefusal(ctx, in, err)
}

// recordRefusal handles an input that the server did not send, with cause as the error. It returns
// inputlog.ErrTouched and updates the log if a person has typed, and cause otherwise.
func (l *lease) recordRefusal(ctx context.Context, in inputlog.Input, cause error) error {
	at, err := l.lastHumanInput(ctx)
	if err != nil || at.Equal(l.humanAtRead) && at.Equal(l.log.Human) {
		return cause
	}
	if submits := in == inputlog.Enter || in == inputlog.Seen; !submits || l.log.First == l.log.Enters {
		if submits {
			l.log.First = 0
		}
		l.log.Deliveries.NotSent(in)
	}
	l.log.Deliveries.Taint()
	return errors.Join(inputlog.ErrTouched, l.save())
}

// Account implements inject.Journal. It does not query the time of a person's last input if the server has
// reported it with the lease or with the last frame. Input that relies on the returned account is sent under the
// condition that no person has typed since.
func (l *lease) Account(ctx context.Context, id string) (inputlog.Account, error) {
	var err error
	if !l.humanKnown {
		if l.humanNow, err = l.lastHumanInput(ctx); err != nil {
			return inputlog.Account{}, toErrExited(err)
		}
		l.humanKnown = true
	}
	if l.recordHumanInput(l.humanNow) {
		err = l.save()
	}
	return l.log.Deliveries.Account(id), err
}

// RecordOutcome implements inject.Journal.
func (l *lease) RecordOutcome(_ context.Context, e inputlog.Entry) error {
	if !l.log.Deliveries.RecordOutcome(e) {
		return fmt.Errorf("delivery %s: %w", e.ID, inputlog.ErrNoDelivery)
	}
	return l.save()
}

// sendOutsideDelivery acquires a lease and calls send, which sends keys that belong to no delivery. If text of a
// delivery may be in the input box, it first sends the keys that remove the text. The caller holds the session's
// input lock.
func (s drivenSession) sendOutsideDelivery(ctx context.Context, send func(ctx context.Context, l *lease) error) error {
	l, err := s.lease(ctx)
	if err != nil {
		return err
	}
	if last := l.log.Deliveries.Account("").Last; last == nil || !last.Open {
		return send(ctx, l)
	}
	undo := l.log.Deliveries.Touch()
	if err := l.save(); err != nil {
		return err
	}
	if len(undo) > 0 {
		if err := l.Send(ctx, undo); err != nil {
			return err
		}
	}
	return send(ctx, l)
}
