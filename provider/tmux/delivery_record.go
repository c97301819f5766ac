package tmux

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
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
	"gascity/internal/terminal/screen"
)

// deliveryLog is the content of the file account.json, the log of deliveries into the session's input box. gc
// writes it before it sends the input that it describes. Only the holder of the session's input lock reads and
// writes it.
type deliveryLog struct {
	// Open: text of the last delivery may be in the input box. It is the first field, see hasNoOpenDelivery.
	Open       bool               `json:"open"`
	Deliveries inject.DeliveryLog `json:"deliveries"`
	Launches   int                `json:"launches"` // record.Launches of the agent that got these deliveries
	Begun      int                `json:"begun"`    // the number of deliveries that were begun
	// Human is the time of the last input of a person, by the server's clock, when the last delivery
	// began. Any later input may be in the input box.
	Human time.Time `json:"human,omitzero"`
	// Outside identifies the last input outside a delivery that Deliveries considers, see outsideCommand.
	Outside string `json:"outside,omitempty"`
	// Enters counts the submit keys that gc has logged. The server counts those that it has sent.
	// First is the number of the first submit key of the last delivery, zero if none was sent.
	Enters int `json:"enters"`
	First  int `json:"first"`
}

// lease is the exclusive right to deliver into a session. The server runs only the commands that carry the
// number of the current lease, so a deliverer that has lost its lease sends nothing.
type lease struct {
	*terminal

	number         string // random, unique to this lease
	log            deliveryLog
	humanAtRead    time.Time // the time of a person's last input when the log was read
	lastTyped      time.Time // the time of a person's last input, by the last report of the server
	lastTypedKnown bool      // the server has reported lastTyped, and nothing was sent since
	canHoldKeys    bool      // the server can hold back the keys of attached people
}

var _ inject.Lease = (*lease)(nil)

// lease acquires the delivery lease of the session. It then asks the server what has happened since the delivery
// log was written, and updates the log. The caller holds the session's input lock.
func (t *terminal) lease(ctx context.Context) (*lease, error) {
	l := &lease{terminal: t}
	err := statedir.ReadJSON(deliveryLogFile(l.dir()), &l.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// From here on the server refuses the commands of a previous deliverer.
	l.number = rand.Text()
	target := t.record.target()
	answer, err := t.provider.act(ctx, t.record, t.record.fence(), sequence(
		cmd("set-option", "-p", "-t", target, "@"+optionLease, l.number),
		cmd("display-message", "-p", "-t", target, leaseFields+stateFields),
	))
	if err != nil {
		return nil, toErrExited(err)
	}
	fields := strings.SplitN(string(answer), " ", leaseCount)
	if len(fields) < leaseCount {
		return nil, fmt.Errorf("cannot parse the reply of tmux: %q", answer)
	}
	entered, table, staleHold, outside, state := fields[0], fields[1], fields[2], fields[3], fields[4]
	now, err := parseState(state)
	if err != nil {
		return nil, err
	}
	l.attached, l.canHoldKeys = now.Attached, table == keyTable
	if staleHold != "" { // a deliverer that was interrupted has left its key hold
		_ = t.provider.releaseKeyHold(ctx, t.record, staleHold) // fails if the hold has ended meanwhile
	}
	return l, l.reconcile(parseNumber(entered), now.Human, outside)
}

// leaseFields are the tmux formats of the values that [terminal.lease] queries before the state of the pane:
// optionEntered, the key table, optionHold and optionOutside. leaseCount is their number, with the state.
const (
	leaseFields = "#{@" + optionEntered + "} #{key-table} #{@" + optionHold + "} #{@" + optionOutside + "} "
	leaseCount  = 5
)

func (l *lease) dir() statedir.Folder { return l.provider.dir(l.record.Name) }

// save writes the delivery log to its file, with Open set if the last delivery has not ended.
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

// reconcile updates the delivery log for what has happened since the log was written. entered is the number of submit
// keys that the server has sent. human is the time of a person's last input. outside is the value of optionOutside.
func (l *lease) reconcile(entered int, human time.Time, outside string) error {
	l.lastTyped, l.lastTypedKnown = human, true
	changed := false
	if l.log.Launches != l.record.Launches {
		l.log.Deliveries.Restart()
		l.log.Launches, changed = l.record.Launches, true
	}
	if l.log.First > entered { // the deliverer was interrupted before the server sent the key
		l.log.Deliveries.NotSent(inject.InputEnter)
		l.log.First, changed = 0, true
	}
	if l.recordHumanInput(human) {
		changed = true
	}
	if outside != "" && l.log.Outside != outside {
		l.recordOutsideInput(outside)
		changed = true
	}
	if changed {
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

// outsideCommand returns the command that records in the server that p was sent outside a delivery. Such input is sent
// without a change to the delivery log, because a person types it key by key.
func (r *record) outsideCommand(p []byte) tmuxCommand {
	value := rand.Text() + hex.EncodeToString(p[max(0, len(p)-1):])
	return cmd("set-option", "-p", "-t", r.target(), "@"+optionOutside, value)
}

// recordOutsideInput adds the input of outsideCommand to the delivery log. The next delivery then does not start until the
// program has read all input and the input box is empty. A key that ends the line leaves no unfinished line.
func (l *lease) recordOutsideInput(outside string) {
	l.log.Outside = outside
	l.log.Deliveries.Taint()
	last, err := hex.DecodeString(outside[max(0, len(outside)-2):])
	if err == nil && inject.EndsLine(last) {
		l.log.Deliveries.Typed(last)
	}
}

// fence returns the tmux format that is true if the pane belongs to this instance, its agent runs, and this lease
// is the current one. Everything that a delivery sends has this condition.
func (l *lease) fence() string {
	return "#{==:#{@" + optionInstance + "}#{pane_dead}#{@" + optionLease + "}," + l.record.hash() + "0" + l.number + "}"
}

// noHumanInputSince returns the tmux format that is true if the last input of a person was at the given time, by the
// server's clock: then no person has typed since. The zero time means that no person was ever attached.
func noHumanInputSince(at time.Time) string {
	if at.IsZero() {
		return "#{==:#{?pane_id,#{session_last_attached},},}"
	}
	return "#{==:#{?pane_id,#{session_activity},}," + strconv.FormatInt(at.Unix(), 10) + "}"
}

// Frame implements screen.Terminal. It also stores when a person typed last, as the server reports it with the frame.
func (l *lease) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	f, err := l.terminal.Frame(ctx, after)
	if err == nil {
		l.lastTyped, l.lastTypedKnown = l.clientInput, !f.Exited
	}
	return f, err
}

// Send implements screen.Terminal.
func (l *lease) Send(ctx context.Context, p []byte) error {
	l.lastTypedKnown = false
	return l.send(ctx, l.fence(), p, tmuxCommand{})
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

// Type implements inject.Journal: it records a piece of input of the kind in, and types it. The tmux server types it only if
// the pane still belongs to the instance and, except for keys, no person has typed since: for a mark or clear keys since the
// input box was read, otherwise since the delivery began.
func (l *lease) Type(ctx context.Context, in inject.Input, p []byte) error {
	if err := l.log.Deliveries.Send(in, p); err != nil {
		return err
	}
	var count tmuxCommand
	condition := "#{&&:" + l.fence() + "," + l.noHumanInputSince(l.log.Human) + "}"
	switch in {
	case inject.InputKeys:
		condition = l.fence()
	case inject.InputProbe, inject.InputClear:
		condition = "#{&&:" + l.fence() + "," + l.noHumanInputSince(l.humanAtRead) + "}"
	case inject.InputEnter, inject.InputSeen:
		l.log.Enters++
		l.log.First = cmp.Or(l.log.First, l.log.Enters)
		count = cmd("set-option", "-p", "-t", l.record.target(), "@"+optionEntered, strconv.Itoa(l.log.Enters))
	case inject.InputText:
	}
	if err := l.save(); err != nil {
		return err
	}
	l.lastTypedKnown = false
	err := l.send(ctx, condition, p, count)
	if err == nil && (in == inject.InputEnter || in == inject.InputSeen) {
		l.stopHoldRenewal()
	}
	if !errors.Is(err, screen.ErrExited) {
		return err
	}
	return l.recordRefusal(ctx, in, err)
}

// recordRefusal finds out why the tmux server did not send a piece of input; cause is the error of the command. If a person
// has typed, it updates the log and returns inject.ErrTouched. Otherwise it returns cause.
func (l *lease) recordRefusal(ctx context.Context, in inject.Input, cause error) error {
	at, err := l.lastHumanInput(ctx)
	if err != nil || at.Equal(l.humanAtRead) && at.Equal(l.log.Human) {
		return cause
	}
	if submits := in == inject.InputEnter || in == inject.InputSeen; !submits || l.log.First == l.log.Enters {
		if submits {
			l.log.First = 0
		}
		l.log.Deliveries.NotSent(in)
	}
	l.log.Deliveries.Taint()
	return errors.Join(inject.ErrTouched, l.save())
}

// Account implements inject.Journal. It does not query the time of a person's last input if the server has
// reported it with the lease or with the last frame. Input that relies on the returned account is sent under the
// condition that no person has typed since.
func (l *lease) Account(ctx context.Context, id string) (inject.DeliveryAccount, error) {
	var err error
	if !l.lastTypedKnown {
		if l.lastTyped, err = l.lastHumanInput(ctx); err != nil {
			return inject.DeliveryAccount{}, toErrExited(err)
		}
		l.lastTypedKnown = true
	}
	if l.recordHumanInput(l.lastTyped) {
		err = l.save()
	}
	return l.log.Deliveries.Account(id), err
}

// RecordOutcome implements inject.Journal.
func (l *lease) RecordOutcome(_ context.Context, e inject.DeliveryEntry) error {
	if !l.log.Deliveries.RecordOutcome(e) {
		return fmt.Errorf("delivery %s: %w", e.ID, inject.ErrNoDelivery)
	}
	return l.save()
}

// sendOutsideDelivery acquires a lease and calls send, which sends keys that belong to no delivery. If text of a
// delivery may be in the input box, it first sends the keys that remove the text. The caller holds the session's
// input lock.
func (t *terminal) sendOutsideDelivery(ctx context.Context, send func(ctx context.Context, l *lease) error) error {
	l, err := t.lease(ctx)
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
