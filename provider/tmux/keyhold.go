package tmux

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"gascity/internal/terminal/screen"
)

// keyHold is a hold on the keys of attached people. While it is active, the server delays each key that is not
// for tmux itself, see [keyTable]. The zero value means no hold.
type keyHold struct {
	id          string    // random, unique to this hold; also the name of the server's lock
	humanInput  time.Time // the time of a person's last input when the hold began, by the server's clock
	stopRenewal func()    // stops the renewal of the hold; may be called twice
	renewed     bool      // the hold is renewed
}

var _ screen.LimitedHolder = (*lease)(nil)

const (
	// renewInterval is the interval at which a hold is renewed. It is several times shorter than the interval
	// at which the server checks the hold.
	renewInterval = 400 * time.Millisecond
	// maxKeyHold is the longest time that a hold is renewed. A program that takes longer to read a text does
	// not block people's keys.
	maxKeyHold = 10 * time.Second
)

// keyHoldFields are the formats of the active hold of a pane and of the last hold that a key has waited for.
const keyHoldFields = "#{@" + optionHold + "} #{@" + optionHeld + "}"

// activeCondition returns the tmux format that is true if a key waits for this hold.
func (k keyHold) activeCondition() string {
	return "#{&&:#{==:#{@" + optionHold + "}," + k.id + "},#{==:#{@" + optionHeld + "}," + k.id + "}}"
}

// hasWaitingKey reports whether a key waits for this hold. The arguments are the values of keyHoldFields. The
// server counts a waiting key as input, although no program has received it.
func (k keyHold) hasWaitingKey(hold, held string) bool {
	return k.id != "" && hold == k.id && held == k.id
}

// Hold implements screen.Holder. It returns nil for release, and holds nothing, if no client is attached or the
// server cannot hold keys.
func (l *lease) Hold(ctx context.Context) (release func(), err error) {
	if l.attached == 0 || !l.canHoldKeys {
		return nil, nil
	}
	k, target := keyHold{id: rand.Text()}, l.record.target()
	answer, err := l.provider.act(ctx, l.record, l.fence(), sequence(
		cmd("wait-for", "-L", k.id),
		l.heartbeat(k.id),
		cmd("set-option", "-p", "-t", target, "@"+optionHold, k.id),
		cmd("display-message", "-p", "-t", target, stateFields),
	))
	if err != nil {
		return nil, toErrExited(err)
	}
	k.stopRenewal, k.renewed = l.renew(ctx, k.id), true
	now, err := parseState(string(answer))
	if err == nil {
		k.humanInput = now.Human
		l.hold = k
		if l.recordHumanInput(now.Human) {
			err = l.save()
		}
	}
	if err != nil {
		l.release(ctx, k)
		return nil, err
	}
	return func() { l.release(ctx, k) }, nil
}

// heartbeat returns the command that records in the server that the holder of the lock id still runs.
func (l *lease) heartbeat(id string) tmuxCommand {
	return cmd("set-environment", "-h", "-t", l.record.Session, heartbeatVariable, id)
}

// renew sends heartbeats for a hold in the background. It stops when stop is called, ctx ends, maxKeyHold has
// passed or a heartbeat fails.
func (l *lease) renew(ctx context.Context, id string) (stop func()) {
	ctx, cancel := context.WithTimeout(ctx, maxKeyHold)
	ended := make(chan struct{})
	command := ifFormat(l.record.target(), "#{==:#{@"+optionHold+"},"+id+"}",
		l.heartbeat(id), tmuxCommand{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(renewInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if _, err := l.provider.server.Query(ctx, command); err != nil {
				return // the hold expires in the server, or the server has exited
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// MaxHold implements screen.LimitedHolder.
func (l *lease) MaxHold() time.Duration {
	if !l.hold.renewed {
		return screen.HoldLimit
	}
	return maxKeyHold
}

// stopHoldRenewal stops the renewal of the hold after the text was submitted. Held keys then wait only until
// the hold expires in the server.
func (l *lease) stopHoldRenewal() {
	if l.hold.id != "" {
		l.hold.stopRenewal()
		l.hold.renewed = false
	}
}

// release ends the hold, so the server sends the waiting keys to the program. If the command fails, the hold
// expires in the server.
func (l *lease) release(ctx context.Context, k keyHold) {
	k.stopRenewal()
	if l.hold.id == k.id {
		l.hold = keyHold{}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), screen.HoldLimit)
	defer cancel()
	if err := l.provider.releaseKeyHold(ctx, l.record, k.id); err != nil {
		l.provider.cfg.Logger.Debug("cannot release held keys; tmux releases them when the hold expires", "session", l.record.Name, "error", err)
	}
}

// releaseKeyHold ends an active hold. It returns an error if the hold has ended already.
func (p *Provider) releaseKeyHold(ctx context.Context, r *record, id string) error {
	_, err := p.server.Query(ctx, sequence(
		cmd("wait-for", "-U", id),
		cmd("set-option", "-p", "-q", "-u", "-t", r.target(), "@"+optionHold),
	))
	return err
}

// lastHumanInput returns the time of the last key of a person that went to the program, by the server's clock. It
// does not count a key that waits for the lease's hold.
func (l *lease) lastHumanInput(ctx context.Context) (time.Time, error) {
	if l.hold.id != "" {
		reply, err := l.provider.server.Query(ctx, cmd("display-message", "-p", "-t", l.record.target(), keyHoldFields))
		hold, held, _ := strings.Cut(string(reply.Output), " ")
		if err == nil && l.hold.hasWaitingKey(hold, held) {
			return l.hold.humanInput, nil
		}
	}
	return l.provider.lastHumanInput(ctx, l.record)
}

// noHumanInputSince returns the tmux format that is true if no key of a person has gone to the program since the
// given time, by the server's clock.
func (l *lease) noHumanInputSince(at time.Time) string {
	if l.hold.id == "" || !at.Equal(l.hold.humanInput) {
		return noHumanInputSince(at)
	}
	return "#{||:" + noHumanInputSince(at) + "," + l.hold.activeCondition() + "}"
}
