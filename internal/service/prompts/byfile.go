package prompts

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
	"gascity/runtime"
	"gascity/worker"
)

// TextFiles stores the texts of prompts in files that agents read. Its methods may be called
// concurrently.
type TextFiles interface {
	// Write writes the text of a prompt for an agent and returns the path of the file. The error
	// explains to people why the agent cannot be given a file.
	Write(v session.Snapshot, id, text string) (path string, err error)
	// Remove removes the file of a prompt. It returns nil if there is no file.
	Remove(session, id string) error
	// RemoveExcept removes all files except those of the prompts with the given IDs.
	RemoveExcept(ids map[string]bool) error
}

// deliverByFile writes the text of a prompt to a file and delivers a line that asks the agent to
// read that file. It is for a text that the agent's input box would change. refused is the outcome
// of the attempt to type the text itself; deliverByFile returns it, with the reason added, if the
// agent cannot read the file.
func (o *owner) deliverByFile(ctx context.Context, r *prompt.Receipt, v session.Snapshot, d runtime.Delivery, refused runtime.Outcome) (runtime.Outcome, error) {
	path, err := o.writeText(v, r)
	if failed := new(fs.PathError); errors.As(err, &failed) { // for example a full disk: try again later
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Unsent: true, Detail: err.Error()}, nil
	}
	if err != nil {
		refused.Detail = strings.TrimSuffix(refused.Detail+"; it was not given to the agent in a file: "+err.Error(), ": ")
		return refused, nil //nolint:nilerr // the outcome contains the error
	}
	_, err = o.change(ctx, o.queue, r.ID, func(r prompt.Receipt) (prompt.Receipt, error) {
		if r.State != prompt.Injected {
			return r, errEnded
		}
		r.ByFile = path
		return r.AddStep(o.opts.Now(), "given by file, because the input box would change the text: "+refused.Detail), nil
	})
	if err != nil {
		if err := o.opts.Texts.Remove(v.Session, r.ID); err != nil {
			o.opts.Logger.Warn("cannot remove the file with the text of a prompt", "receipt", r.ID, "error", err)
		}
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Unsent: true, Detail: "cannot save that its text is sent as a file: " + err.Error()}, nil
	}
	line := prompt.FileLine(path)
	o.update(o.queue, r.ID, func(r *openReceipt) { r.hash = worker.PromptHash(line) })
	d.Content = runtime.TextContent(line)
	out, err := runtime.Deliver(ctx, v.Provider, v.Session, d)
	if out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedChanged {
		out.Detail = "the path of the file: " + out.Detail
	}
	return out, err
}

// writeText writes the text of a prompt to a file for the agent and returns the path. The error
// says why the prompt cannot be delivered in a file.
func (o *owner) writeText(v session.Snapshot, r *prompt.Receipt) (path string, err error) {
	text := runtime.FlattenText(textOf(r.Content))
	switch {
	case len(filesOf(r.Content)) > 0:
		return "", errors.New("the prompt already has files")
	case prompt.NamesCommand(strings.TrimSpace(text)):
		return "", errors.New("it may be a command of the agent CLI")
	case strings.HasPrefix(text, byteOrderMark):
		return "", errors.New("it begins with U+FEFF, which programs remove from the beginning of a file")
	}
	return o.opts.Texts.Write(v, r.ID, text)
}

// byteOrderMark is a character that programs remove from the beginning of a file.
const byteOrderMark = "\ufeff"

// textFile is a file that an agent was given and that is not removed yet.
type textFile struct {
	instance   string    // the instance that was given the file
	finalAt    time.Time // when the receipt became final; zero: it is not final
	referenced bool      // the agent may have got the line that refers to it
}

const (
	// fileRest is how long an agent must be idle before gc assumes that it has read the file.
	fileRest = 5 * time.Second
	// fileLimit is how long a file is kept at most after the receipt is final.
	fileLimit = 24 * time.Hour
	// fileCheckInterval is how often gc checks whether a file can be removed, if nothing changes.
	fileCheckInterval = time.Minute
)

// trackFileLocked records the file that the receipt refers to, so that it is removed later. It does
// nothing for a receipt without a file. The caller holds Engine.mu.
func (b *sessionQueue) trackFileLocked(r *prompt.Receipt) {
	if r.ByFile == "" {
		return
	}
	f := textFile{instance: r.Instance, referenced: r.State == prompt.Injected || wasPrompted(*r)}
	if r.Final() {
		f.finalAt = r.UpdatedAt
	}
	b.files[r.ID] = f
}

// removable reports whether the file with a prompt's text can be removed: the agent never got the
// line that refers to it, another instance runs, the agent has been idle for [fileRest] since, or
// [fileLimit] has passed. again is when to check again if nothing changes before; zero: no check is
// needed.
func (f textFile) removable(v session.Snapshot, now time.Time) (ok bool, again time.Time) {
	switch {
	case f.finalAt.IsZero():
		return false, time.Time{}
	case !f.referenced, v.Unknown == "" && v.Instance != f.instance, now.Sub(f.finalAt) >= fileLimit:
		return true, time.Time{}
	}
	a := v.Activity
	if a.State != runtime.ActivityIdle && a.State != runtime.ActivityReady || !v.ReadAt.After(f.finalAt) {
		return false, now.Add(fileCheckInterval)
	}
	if until := engine.Later(f.finalAt, a.Since).Add(fileRest); now.Before(until) {
		return false, until
	}
	return true, time.Time{}
}

// removeFiles removes the files that the agent no longer needs. It returns when to check again;
// zero if no file is left or only a change of a receipt matters.
func (o *owner) removeFiles(now time.Time) (next time.Time) {
	o.mu.Lock()
	files := maps.Clone(o.queue.files)
	o.mu.Unlock()
	if len(files) == 0 {
		return time.Time{}
	}
	v, err := o.opts.City.Snapshot(o.queue.session)
	if err != nil {
		v = session.Snapshot{Unknown: err.Error()} // a new controller may not know the session yet
	}
	for id, f := range files {
		ok, again := f.removable(v, now)
		if !ok {
			next = engine.Earlier(next, again)
			continue
		}
		if err := o.opts.Texts.Remove(o.queue.session, id); err != nil {
			o.opts.Logger.Warn("cannot remove the file with the text of a prompt", "receipt", id, "error", err)
			next = engine.Earlier(next, now.Add(fileCheckInterval))
			continue
		}
		o.mu.Lock()
		delete(o.queue.files, id)
		o.mu.Unlock()
	}
	return next
}

// restoreFilesLocked restores, from the receipts, which files with texts of prompts exist, and
// removes all other files in the store. The caller holds e.mu.
func (e *Engine) restoreFilesLocked(receipts []prompt.Receipt) {
	keep := map[string]bool{}
	for _, r := range slices.Backward(receipts) {
		if r.ByFile == "" || r.Final() && e.opts.Now().Sub(r.UpdatedAt) >= fileLimit {
			continue
		}
		keep[r.ID] = true
		b := e.queueLocked(r.Session, r.Agent)
		b.trackFileLocked(&r)
		e.needOwnerLocked(b)
	}
	if err := e.opts.Texts.RemoveExcept(keep); err != nil {
		e.opts.Logger.Warn("cannot remove old files with the texts of prompts", "error", err)
	}
}

// needOwnerLocked starts the owner goroutine of a queue that has open receipts or files. The caller
// holds e.mu.
func (e *Engine) needOwnerLocked(b *sessionQueue) {
	if len(b.receipts)+len(b.files) > 0 {
		e.owners.Add(b.session)
	}
}
