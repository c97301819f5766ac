package tmux

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"path/filepath"
	"time"

	"gascity/internal/driver"
	"gascity/internal/fsutil"
	"gascity/internal/proc"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// pane is the cached state of one pane. The mutex of the paneCache guards all fields except constant ones.
type pane struct {
	cache   *paneCache
	id      string
	scanner *vt.Scanner

	name, hash string // of the session and its instance token; empty until they are known
	number     uint64 // the value of paneCache.count when the session became known
	pid        int    // the process of the pane, whose exit awaitEnd waits for
	dead       bool
	attached   int // clients
	typists    int // open terminals of this process that may type

	seq             uint64
	changed         chan struct{} // closed and replaced at each change of seq
	lastOutput      time.Time
	signs           vt.SignTracker
	reported        bool // this process has received a report of the program
	log             *fsutil.RawLogWriter
	digest          uint64 // of the screen that was queried last
	unclaimedOutput []byte // output that arrived before the pane's session was known

	outputEventAt time.Time   // the time of the last output event
	outputTimer   *time.Timer // publishes the next output event; nil if none is due
	unsaved       bool        // received reports are not stored in the server yet
	statusQueried bool        // the program has asked whether its reports are read
}

func newPane(t *paneCache, id string) *pane {
	p := &pane{cache: t, id: id, seq: 1, changed: make(chan struct{})}
	p.scanner = vt.NewScanner(p.noticeLocked)
	return p
}

// screenChangedLocked increments seq and wakes the callers that wait for a new screen.
func (p *pane) screenChangedLocked() {
	p.seq++
	close(p.changed)
	p.changed = make(chan struct{})
}

// state returns the current sequence number and a channel that is closed at its next change.
func (p *pane) state() (seq uint64, changed <-chan struct{}) {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	return p.seq, p.changed
}

func (p *pane) bump() {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.screenChangedLocked()
}

// setDigest stores the digest of a captured screen, and reports whether the screen differs from the one before.
func (p *pane) setDigest(screen []byte) (differs bool) {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	before := p.digest
	p.digest = maphash.Bytes(p.cache.seed, screen)
	return p.digest != before
}

// maxUnclaimedOutput is the limit in bytes of a pane's unclaimedOutput.
const maxUnclaimedOutput = 256 << 10

// outputPause is the shortest time between two output events of a session.
const outputPause = 250 * time.Millisecond

// handleOutputLocked processes output of the pane's program: it scans the output, logs it and schedules an output
// event.
func (p *pane) handleOutputLocked(data []byte, now time.Time) {
	p.lastOutput = now
	paste, known := p.scanner.Paste, p.scanner.Known
	_, _ = p.scanner.Write(data) // never fails
	p.unsaved = p.unsaved || p.scanner.Paste != paste || p.scanner.Known != known
	switch {
	case p.log != nil:
		_ = p.log.Write(data, now) // the writer logs a failure once and retries later
	case p.name == "" && len(p.unclaimedOutput) < maxUnclaimedOutput:
		p.unclaimedOutput = append(p.unclaimedOutput, data...)
	}
	p.screenChangedLocked()
	if p.outputTimer == nil {
		p.outputTimer = time.AfterFunc(time.Until(p.outputEventAt.Add(outputPause)), p.publishOutput)
	}
}

// publishOutput publishes an output event for the session of the pane. It does nothing if the pane belongs to no
// session.
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

// saveLocked starts to store unsaved reports in the server. It does nothing if all are saved, the pane's session is
// not known, or another process is the listener.
func (p *pane) saveLocked() {
	if p.unsaved && p.name != "" && p.cache.listener != nil {
		p.unsaved = false
		p.cache.wg.Go(p.save)
	}
}

// noticeLocked processes one report of the program to its terminal, such as a title or a status.
func (p *pane) noticeLocked(n vt.Notice) {
	now := time.Now()
	switch n.Kind { //nolint:exhaustive // the others do not matter here
	case vt.Title:
		p.publishLocked(runtime.Event{Kind: runtime.EventTitle, Time: now, Text: n.Text})
	case vt.ProgramStatus:
		if n.Text == "?" {
			p.statusQueried = p.cache.listener != nil
			p.answerLocked()
			return
		}
	}
	if p.signs.Record(n, foregroundOf(p.pid), now) {
		p.unsaved, p.reported = true, true
		if n.Kind == vt.ProgramStatus {
			p.publishLocked(runtime.Event{Kind: runtime.EventStatus, Time: now, Status: p.signs.Status.Text})
		}
	}
}

// foregroundOf returns the process group in the foreground of the terminal of a process; 0 if that is not known.
func foregroundOf(pid int) int {
	info, _ := proc.Stat(pid) // zero after an error
	return info.Foreground
}

// publishLocked publishes an event for the session of the pane. It does nothing if the pane belongs to no session.
func (p *pane) publishLocked(e runtime.Event) {
	if e.Session = p.name; e.Session != "" {
		p.cache.feeds.Publish(e)
	}
}

// statusAnswer is the reply that confirms to a program that its reports are read.
const statusAnswer = "\x1b]7501;?\x1b\\"

// answerLocked begins to answer a program's query whether its status reports (OSC 7501) are read. It does nothing while the
// session of the pane is not known.
func (p *pane) answerLocked() {
	if p.statusQueried && p.name != "" {
		p.statusQueried = false
		p.cache.wg.Go(p.answer)
	}
}

// answer sends statusAnswer to the program.
func (p *pane) answer() {
	p.runIfCurrent(keysCommand(p.id, []byte(statusAnswer)))
}

// save stores the received reports in options of the pane, for the next process that becomes the listener. It
// stores the bracketed paste mode only if this process has received it: an earlier process may have stored it.
func (p *pane) save() {
	p.cache.mu.Lock()
	paste, known, signs := p.scanner.Paste, p.scanner.Known, p.signs.Signs
	p.cache.mu.Unlock()
	encoded, err := json.Marshal(signs)
	if err != nil {
		return
	}
	notes := []tmuxCommand{cmd("set-option", "-p", "-t", p.id, "@"+optionSigns, base64.StdEncoding.EncodeToString(encoded))}
	if known {
		notes = append(notes, cmd("set-option", "-p", "-t", p.id, "@"+optionPaste, flag(paste)))
	}
	p.runIfCurrent(sequence(notes...))
}

// runIfCurrent has the server run a command if the pane still belongs to the instance.
func (p *pane) runIfCurrent(command tmuxCommand) {
	ctx, cancel := context.WithTimeout(p.cache.ctx, driver.CallTimeout)
	defer cancel()
	condition := "#{==:#{@" + optionInstance + "}," + p.hash + "}"
	if _, err := p.cache.p.server.Query(ctx, ifFormat(p.id, condition, command, tmuxCommand{})); err != nil && ctx.Err() == nil {
		p.cache.p.cfg.Logger.Debug("cannot record the report of a program", "session", p.name, "error", err)
	}
}

// restoreLocked applies the reports that another process has stored in the pane's options. It ignores those that
// this process has received from the program itself.
func (p *pane) restoreLocked(paste, signs string) {
	if !p.scanner.Known {
		p.scanner.Paste = paste == "1"
	}
	if p.reported || signs == "" {
		return
	}
	raw, err := base64.StdEncoding.DecodeString(signs)
	var s vt.Signs
	if err == nil && json.Unmarshal(raw, &s) == nil {
		p.signs.Signs = s
	}
}

// openLog opens the raw log of a session whose name is known and writes the unclaimed output to it. It does nothing
// without a log directory, or if this process is not the listener. The caller holds the cache's mutex.
func (p *pane) openLog() {
	cfg := p.cache.p.cfg
	if p.log != nil || cfg.LogDir == "" || p.cache.listener == nil {
		return
	}
	early := p.unclaimedOutput
	p.unclaimedOutput = nil
	log, err := fsutil.OpenRawLog(filepath.Join(cfg.LogDir, p.name+".log"), cfg.LogSize)
	if err != nil {
		cfg.Logger.Warn("cannot write the output log of a session", "session", p.name, "error", err)
	}
	p.log = log
	if len(early) > 0 {
		_ = log.Write(early, time.Now()) // the writer logs a failure itself
	}
}

// close stops the pane's timer and closes its log.
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

// flag returns a boolean as a value of a tmux option: "1" or "0".
func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}
