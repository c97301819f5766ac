package tmux

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"path/filepath"
	"time"

	"gascity/internal/fsutil/rawlog"
	"gascity/internal/terminal/oscstate"
	"gascity/internal/terminal/tty"
	"gascity/internal/terminal/vt"
	"gascity/internal/tmux/control"
	"gascity/internal/tmux/server"
	"gascity/runtime"
)

// pane is what is known of one pane. All is guarded by the town's mutex but what is
// constant.
type pane struct {
	cache   *paneCache
	id      string
	scanner *vt.Scanner
	modes   tty.Modes

	name, hash string // empty until it is known whose pane it is
	number     uint64 // the how manyeth session to become known
	pid        int    // whose end is waited for
	dead       bool
	attached   int

	seq             uint64
	changed         chan struct{} // closed and replaced at each change of seq
	lastOutput      time.Time
	signs           oscstate.SignTracker
	listened        bool // the program has reported something since this process listens
	log             *rawlog.Writer
	digest          uint64 // of the screen that was asked for last
	unclaimedOutput []byte // output of a pane whose owner is not known yet

	outputEventAt time.Time   // of the last event of output
	outputTimer   *time.Timer // of the next one; nil if none is due
	unsaved       bool        // what was received is not noted in the server yet
	statusQueried bool        // the program wants to know whether its reports are read
}

func newPane(t *paneCache, id string) *pane {
	p := &pane{cache: t, id: id, seq: 1, changed: make(chan struct{})}
	p.scanner = vt.NewScanner(p.noticeLocked)
	return p
}

// bumpLocked wakes who waits for another screen.
func (p *pane) bumpLocked() {
	p.seq++
	close(p.changed)
	p.changed = make(chan struct{})
}

// state returns the present number and what is closed when there is another one.
func (p *pane) state() (seq uint64, changed <-chan struct{}) {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	return p.seq, p.changed
}

func (p *pane) bump() {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.bumpLocked()
}

// setDigest records what the screen was.
func (p *pane) setDigest(screen []byte) {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.digest = maphash.Bytes(p.cache.seed, screen)
}

// differs reports whether the screen is another one than was noted.
func (p *pane) differs(screen []byte) bool {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	return p.digest != maphash.Bytes(p.cache.seed, screen)
}

// maxEarly bounds the output that waits for a log.
const maxEarly = 256 << 10

// outputPause is the shortest time between two events of output of a session.
const outputPause = 250 * time.Millisecond

// handleOutputLocked takes output of the pane's program.
func (p *pane) handleOutputLocked(data []byte, now time.Time) {
	p.lastOutput = now
	_, _ = p.scanner.Write(data) // never fails
	if p.modes.Write(data) {
		p.unsaved = true
	}
	switch {
	case p.log != nil:
		_ = p.log.Write(data, now) // it says so itself, once, and tries again later
	case p.name == "" && len(p.unclaimedOutput) < maxEarly:
		p.unclaimedOutput = append(p.unclaimedOutput, data...)
	}
	p.bumpLocked()
	if p.outputTimer == nil {
		p.outputTimer = time.AfterFunc(time.Until(p.outputEventAt.Add(outputPause)), p.publishOutput)
	}
}

func (p *pane) publishOutput() {
	t := p.cache
	t.mu.Lock()
	defer t.mu.Unlock()
	p.outputTimer, p.outputEventAt = nil, time.Now()
	if p.name == "" || t.ctx.Err() != nil {
		return
	}
	t.feeds.Publish(runtime.Event{Kind: runtime.EventOutput, Session: p.name, Time: p.outputEventAt})
	p.saveLocked()
}

// saveLocked records what was received in the server, unless it is noted or not known whose
// pane it is.
func (p *pane) saveLocked() {
	if p.unsaved && p.name != "" && p.cache.listener != nil {
		p.unsaved = false
		p.cache.wg.Go(p.save)
	}
}

// noticeLocked takes what the program reports to its terminal.
func (p *pane) noticeLocked(n vt.Notice) {
	now := time.Now()
	switch n.Kind { //nolint:exhaustive // the others do not matter here
	case vt.Title:
		p.publishLocked(runtime.Event{Kind: runtime.EventTitle, Time: now, Text: n.Text})
	case vt.ProgramStatus:
		if n.Payload == "?" {
			p.statusQueried = p.cache.listener != nil
			p.answerLocked()
			return
		}
	}
	if p.signs.Record(n, tty.Foreground(p.pid), now) {
		p.unsaved, p.listened = true, true
		if n.Kind == vt.ProgramStatus {
			p.publishLocked(runtime.Event{Kind: runtime.EventStatus, Time: now, Status: p.signs.Status.Text})
		}
	}
}

func (p *pane) publishLocked(e runtime.Event) {
	if e.Session = p.name; e.Session != "" {
		p.cache.feeds.Publish(e)
	}
}

// statusAnswer confirms to a program that its reports are read.
const statusAnswer = "\x1b]7501;?\x1b\\"

// answerLocked answers a program that has asked, as soon as it is known whose pane it is.
func (p *pane) answerLocked() {
	if p.statusQueried && p.name != "" {
		p.statusQueried = false
		p.cache.wg.Go(p.answer)
	}
}

// answer confirms to the program that its reports are read.
func (p *pane) answer() {
	p.runIfCurrent(keysCommand(p.id, []byte(statusAnswer)))
}

// save records in the server what was received, for the process that listens next. An earlier
// process may know what was not received here.
func (p *pane) save() {
	p.cache.mu.Lock()
	modes, signs := p.modes, p.signs.Signs
	p.cache.mu.Unlock()
	encoded, err := json.Marshal(signs)
	if err != nil {
		return
	}
	notes := []control.Command{control.Cmd("set-option", "-p", "-t", p.id, "@"+server.OptionSigns, base64.StdEncoding.EncodeToString(encoded))}
	if modes.Known {
		notes = append(notes, control.Cmd("set-option", "-p", "-t", p.id, "@"+server.OptionPaste, flag(modes.Paste)))
	}
	p.runIfCurrent(control.Sequence(notes...))
}

// runIfCurrent carries out a command if the pane is still the instance's.
func (p *pane) runIfCurrent(command control.Command) {
	ctx, cancel := context.WithTimeout(p.cache.ctx, opTimeout)
	defer cancel()
	condition := "#{==:#{@" + server.OptionInstance + "}," + p.hash + "}"
	if _, err := p.cache.p.server.Query(ctx, control.If(p.id, condition, command, control.Command{})); err != nil && ctx.Err() == nil {
		p.cache.p.cfg.Logger.Debug("cannot record the report of a program", "session", p.name, "error", err)
	}
}

// restoreLocked takes over what another process has noted, until the program reports to this
// one.
func (p *pane) restoreLocked(paste, signs string) {
	if !p.modes.Known {
		p.modes.Paste = paste == "1"
	}
	if p.listened || signs == "" {
		return
	}
	raw, err := base64.StdEncoding.DecodeString(signs)
	var s oscstate.Signs
	if err == nil && json.Unmarshal(raw, &s) == nil {
		p.signs.Signs = s
	}
}

// openLog opens the raw log of a session that is known.
func (p *pane) openLog() {
	cfg := p.cache.p.cfg
	if p.log != nil || cfg.LogDir == "" || p.cache.listener == nil {
		return
	}
	early := p.unclaimedOutput
	p.unclaimedOutput = nil
	log, err := rawlog.Open(filepath.Join(cfg.LogDir, p.name+".log"), cfg.LogSize)
	if err != nil {
		cfg.Logger.Warn("cannot keep the output of a session", "session", p.name, "error", err)
	}
	p.log = log
	if len(early) > 0 {
		_ = log.Write(early, time.Now()) // as above
	}
}

func (p *pane) close() {
	if p.outputTimer != nil {
		p.outputTimer.Stop()
		p.outputTimer = nil
	}
	if p.log != nil {
		p.log.Close()
		p.log = nil
	}
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}
