package tmux

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/internal/tmux/control"
	"gascity/internal/tmux/server"
)

// keyHold is what people type being kept back: by the server, which has each key wait that is
// not for tmux itself, see [server.KeyTable]. The zero value is none.
type keyHold struct {
	id          string    // it is used for the first time
	humanInput  time.Time // when a person had typed last when it began, as the server counts
	stopRenewal func()    // ends its renewing; it may be called twice
	renewed     bool      // it is renewed
}

var _ screen.LimitedHolder = (*lease)(nil)

const (
	// renewInterval is how often a keep is renewed: several times as often as the server looks.
	renewInterval = 400 * time.Millisecond
	// maxKeyHold is how long a keep is renewed at most: a program that takes longer to read a
	// text holds up no person.
	maxKeyHold = 10 * time.Second
)

// keyHoldFields show which keep stands for a pane, and which one a key waits for.
const keyHoldFields = "#{@" + server.OptionHold + "} #{@" + server.OptionHeld + "}"

// activeCondition returns the condition that keys wait for it.
func (k keyHold) activeCondition() string {
	return "#{&&:#{==:#{@" + server.OptionHold + "}," + k.id + "},#{==:#{@" + server.OptionHeld + "}," + k.id + "}}"
}

// hasWaitingKey reports whether keys wait for it, by the fields of keyHoldFields. The server counts
// such a key although no program has got it.
func (k keyHold) hasWaitingKey(hold, held string) bool {
	return k.id != "" && hold == k.id && held == k.id
}

// Hold implements screen.Holder. Without an attached client, or with a server
// that cannot hold keys, there is nothing to release.
func (l *lease) Hold(ctx context.Context) (release func(), err error) {
	if l.attached == 0 || !l.canHoldKeys {
		return nil, nil
	}
	k, target := keyHold{id: rand.Text()}, l.record.target()
	answer, err := l.provider.act(ctx, l.record, l.fence(), control.Sequence(
		control.Cmd("wait-for", "-L", k.id),
		l.heartbeat(k.id),
		control.Cmd("set-option", "-p", "-t", target, "@"+server.OptionHold, k.id),
		control.Cmd("display-message", "-p", "-t", target, server.StateFields),
	))
	if err != nil {
		return nil, toErrExited(err)
	}
	k.stopRenewal, k.renewed = l.renew(ctx, k.id), true
	now, err := server.Parse(string(answer))
	if err == nil {
		k.humanInput = now.Human
		l.kept = k
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

// heartbeat says that the holder of a lock lives.
func (l *lease) heartbeat(id string) control.Command {
	return control.Cmd("set-environment", "-h", "-t", l.record.Session, server.HeartbeatVariable, id)
}

// renew has keys wait for as long as this process lives, until quiet is called, ctx ends or
// maxKeyHold has passed.
func (l *lease) renew(ctx context.Context, id string) (quiet func()) {
	ctx, cancel := context.WithTimeout(ctx, maxKeyHold)
	ended := make(chan struct{})
	command := control.If(l.record.target(), "#{==:#{@"+server.OptionHold+"},"+id+"}",
		l.heartbeat(id), control.Command{})
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
				return // the server ends the keep, or has ended
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// MaxHold implements screen.LimitedHolder.
func (l *lease) MaxHold() time.Duration {
	if !l.kept.renewed {
		return screen.HoldLimit
	}
	return maxKeyHold
}

// entered records that the text is out of the line: keys wait no longer than for who
// does not live.
func (l *lease) entered() {
	if l.kept.id != "" {
		l.kept.stopRenewal()
		l.kept.renewed = false
	}
}

// release lets through what waits. If that fails, the server does it by itself.
func (l *lease) release(ctx context.Context, k keyHold) {
	k.stopRenewal()
	if l.kept.id == k.id {
		l.kept = keyHold{}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), screen.HoldLimit)
	defer cancel()
	if err := l.provider.releaseKeyHold(ctx, l.record, k.id); err != nil {
		l.provider.cfg.Logger.Debug("people's keys are not let through at once", "session", l.record.Name, "error", err)
	}
}

// releaseKeyHold ends a keep that stands; what is over already is an error.
func (p *Provider) releaseKeyHold(ctx context.Context, r *record, id string) error {
	_, err := p.server.Query(ctx, control.Sequence(
		control.Cmd("wait-for", "-U", id),
		control.Cmd("set-option", "-p", "-q", "-u", "-t", r.target(), "@"+server.OptionHold),
	))
	return err
}

// human returns when the last key of a person went to the program, as the server counts.
func (l *lease) human(ctx context.Context) (time.Time, error) {
	if l.kept.id != "" {
		reply, err := l.provider.server.Query(ctx, control.Cmd("display-message", "-p", "-t", l.record.target(), keyHoldFields))
		hold, held, _ := strings.Cut(string(reply.Output), " ")
		if err == nil && l.kept.hasWaitingKey(hold, held) {
			return l.kept.humanInput, nil
		}
	}
	return l.provider.humanAt(ctx, l.record)
}

// noHumanInputSince returns the condition that no key of a person has gone to the program since then, as the
// server counts.
func (l *lease) noHumanInputSince(at time.Time) string {
	if l.kept.id == "" || !at.Equal(l.kept.humanInput) {
		return noHumanInputSince(at)
	}
	return "#{||:" + noHumanInputSince(at) + "," + l.kept.activeCondition() + "}"
}
