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

// account is the account of deliveries as it is on the disk. It is written before the act
// that it describes. Only who has the session's input reads and writes it.
type account struct {
	// Open: a text of the last delivery may be in the line. It is the first field, see quiet.
	Open       bool                `json:"open"`
	Deliveries inputlog.Deliveries `json:"deliveries"`
	Launches   int                 `json:"launches"` // of the program that it is about
	Begun      int                 `json:"begun"`    // counts the deliveries
	// Human is when a person had typed last, as the server counts, when the last delivery
	// was begun: any later input may be in the line.
	Human time.Time `json:"human,omitzero"`
	// Enters counts the keys that submit. The server counts those that it was sent.
	// First is the number of the first of the last delivery, zero if it was not sent.
	Enters int `json:"enters"`
	First  int `json:"first"`
}

// lease is the right to deliver into a session. Nothing of a deliverer that lost it
// arrives: the server carries out only what has the present number.
type lease struct {
	*terminal

	number      string // it is used for the first time
	account     account
	humanAtRead time.Time // when a person had typed last when the account was read
	humanNow    time.Time // when a person had typed last, by the last report of the server
	humanKnown  bool      // it did, and nothing was sent since
	canHoldKeys bool      // people's keys can be kept back
}

var _ inject.Lease = (*lease)(nil)

// lease takes the right; the caller has the session's input.
func (s drivenSession) lease(ctx context.Context) (*lease, error) {
	l := &lease{terminal: s.terminal}
	err := statedir.ReadJSON(accountFile(l.dir()), &l.account)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// From here on nothing of a previous deliverer arrives.
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
	if stale := fields[2]; stale != "" { // of a deliverer that was cut off
		_ = s.provider.releaseKeyHold(ctx, s.record, stale) // or it is over meanwhile
	}
	return l, l.reconcile(server.Number(fields[0]), now.Human)
}

// leaseFields is what is asked for with the right, before the state.
const (
	leaseFields = "#{@" + server.OptionEntered + "} #{key-table} #{@" + server.OptionHold + "} "
	leaseCount  = 4
)

func (l *lease) dir() statedir.Folder { return l.provider.dir(l.record.Name) }

func (l *lease) save() error {
	last := l.account.Deliveries.Account("").Last
	l.account.Open = last != nil && last.Open
	return statedir.WriteJSON(accountFile(l.dir()), &l.account)
}

// quiet reports whether it is certain from the beginning of an account that no text of ours
// is in the line. The account of a long life is long.
func quiet(path string) bool {
	const shut = `{"open":false,`
	file, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // nothing was ever delivered
	}
	defer file.Close()
	head := make([]byte, len(shut))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == shut
}

// reconcile puts into the account what has happened since it was written: how many keys that
// submit the server has sent, and when a person typed last.
func (l *lease) reconcile(entered int, human time.Time) error {
	l.humanNow, l.humanKnown = human, true
	changed := false
	if l.account.Launches != l.record.Launches {
		l.account.Deliveries.Restart()
		l.account.Launches, changed = l.record.Launches, true
	}
	if l.account.First > entered { // its deliverer was cut off before the key was sent
		l.account.Deliveries.NotSent(inputlog.Enter)
		l.account.First, changed = 0, true
	}
	if l.recordHumanInput(human) || changed {
		return l.save()
	}
	return nil
}

// recordHumanInput takes notice of when a person typed last, and reports whether that is news.
func (l *lease) recordHumanInput(human time.Time) bool {
	l.humanAtRead = human
	return !human.Equal(l.account.Human) && l.account.Deliveries.Taint()
}

// fence returns the condition of everything that a delivery sends.
func (l *lease) fence() string {
	return "#{==:#{@" + server.OptionInstance + "}#{pane_dead}#{@" + server.OptionLease + "}," + l.record.hash() + "0" + l.number + "}"
}

// noHumanInputSince returns the condition that no person has typed since then, as the server counts.
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
	l.account.Human, l.account.First = l.humanAtRead, 0
	l.account.Begun++
	l.account.Deliveries.Begin(id, []byte(text), undo)
	return l.save()
}

// Type implements inject.Journal.
func (l *lease) Type(ctx context.Context, in inputlog.Input, p []byte) error {
	if err := l.account.Deliveries.Send(in, p); err != nil {
		return err
	}
	var count control.Command
	condition := "#{&&:" + l.fence() + "," + l.noHumanInputSince(l.account.Human) + "}"
	switch in {
	case inputlog.Keys:
		condition = l.fence()
	case inputlog.Probe, inputlog.Clear:
		condition = "#{&&:" + l.fence() + "," + l.noHumanInputSince(l.humanAtRead) + "}"
	case inputlog.Enter, inputlog.Seen:
		l.account.Enters++
		l.account.First = cmp.Or(l.account.First, l.account.Enters)
		count = control.Cmd("set-option", "-p", "-t", l.record.target(), "@"+server.OptionEntered, strconv.Itoa(l.account.Enters))
	case inputlog.Text:
	}
	if err := l.save(); err != nil {
		return err
	}
	l.humanKnown = false
	err := l.send(ctx, condition, p, count)
	if err == nil && (in == inputlog.Enter || in == inputlog.Seen) {
		l.entered()
	}
	if !errors.Is(err, screen.ErrExited) {
		return err
	}
	return l.refused(ctx, in, err)
}

// refused finds out why the server did not send a piece of input.
func (l *lease) refused(ctx context.Context, in inputlog.Input, cause error) error {
	at, err := l.human(ctx)
	if err != nil || at.Equal(l.humanAtRead) && at.Equal(l.account.Human) {
		return cause
	}
	if submits := in == inputlog.Enter || in == inputlog.Seen; !submits || l.account.First == l.account.Enters {
		if submits {
			l.account.First = 0
		}
		l.account.Deliveries.NotSent(in)
	}
	l.account.Deliveries.Taint()
	return errors.Join(inputlog.ErrTouched, l.save())
}

// Account implements inject.Journal. When a person typed last is not asked again where
// the server has reported it with the right or with the screen that is judged by: whatever
// relies on the account is sent under the condition that no key was typed since.
func (l *lease) Account(ctx context.Context, id string) (inputlog.Account, error) {
	var err error
	if !l.humanKnown {
		if l.humanNow, err = l.human(ctx); err != nil {
			return inputlog.Account{}, toErrExited(err)
		}
		l.humanKnown = true
	}
	if l.recordHumanInput(l.humanNow) {
		err = l.save()
	}
	return l.account.Deliveries.Account(id), err
}

// RecordOutcome implements inject.Journal.
func (l *lease) RecordOutcome(_ context.Context, e inputlog.Entry) error {
	if !l.account.Deliveries.RecordOutcome(e) {
		return fmt.Errorf("delivery %s: %w", e.ID, inputlog.ErrNoDelivery)
	}
	return l.save()
}

// interject sends keys that are no delivery's: those that take a text of ours out of the
// line come first. The caller has the session's input.
func (s drivenSession) interject(ctx context.Context, send func(ctx context.Context, l *lease) error) error {
	l, err := s.lease(ctx)
	if err != nil {
		return err
	}
	if last := l.account.Deliveries.Account("").Last; last == nil || !last.Open {
		return send(ctx, l)
	}
	undo := l.account.Deliveries.Touch()
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
