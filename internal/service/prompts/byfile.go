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
	"gascity/runtime"
	"gascity/worker"
)

// TextFiles keeps texts of prompts in files that agents read. Its methods may be called
// concurrently.
type TextFiles interface {
	// Write writes the text of a prompt for an agent and returns the path of the file. The
	// error says, for people, why the agent cannot be given a file.
	Write(v session.Snapshot, id, text string) (path string, err error)
	// Remove removes the file of a prompt; none is no error.
	Remove(session, id string) error
	// RemoveExcept removes all files but those of the given prompts, by their IDs.
	RemoveExcept(ids map[string]bool) error
}

// noFiles is TextFiles where no agent can be given a file.
type noFiles struct{}

var errNoFiles = errors.New("the agent is not known to read files without a question")

func (noFiles) Write(session.Snapshot, string, string) (string, error) { return "", errNoFiles }
func (noFiles) Remove(string, string) error                            { return nil }
func (noFiles) RemoveExcept(map[string]bool) error                     { return nil }

// byFile delivers a prompt whose text the agent's input box would change: the text in a file,
// and a line that refers to it. refused is the outcome of the attempt to type the text; it is
// returned, with the reason, if the agent cannot be given a file.
func (o *owner) byFile(ctx context.Context, r *prompt.Receipt, v session.Snapshot, d runtime.Delivery, refused runtime.Outcome) (runtime.Outcome, error) {
	path, err := o.writeText(v, r)
	if failed := new(fs.PathError); errors.As(err, &failed) { // such as a full disk: it is tried again
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Unsent: true, Detail: err.Error()}, nil
	}
	if err != nil {
		refused.Detail = strings.TrimSuffix(refused.Detail+"; it was not given to the agent in a file: "+err.Error(), ": ")
		return refused, nil //nolint:nilerr // the outcome says it
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
			o.opts.Logger.Warn("the file with the text of a prompt cannot be removed", "receipt", r.ID, "error", err)
		}
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Unsent: true, Detail: "that it goes by file could not be saved: " + err.Error()}, nil
	}
	line := prompt.FileLine(path)
	o.mu.Lock()
	o.queue.names[r.ID] = worker.PromptHash(line)
	o.mu.Unlock()
	d.Content = runtime.TextContent(line)
	out, err := runtime.Deliver(ctx, v.Provider, v.Session, d)
	if out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedChanged {
		out.Detail = "the path of the file: " + out.Detail
	}
	return out, err
}

// writeText writes the text of a prompt into a file for the agent.
func (o *owner) writeText(v session.Snapshot, r *prompt.Receipt) (path string, err error) {
	text := runtime.FlattenText(textOf(r.Content))
	switch {
	case len(filesOf(r.Content)) > 0:
		return "", errors.New("other files go with it")
	case prompt.NamesCommand(strings.TrimSpace(text)):
		return "", errors.New("it may be a command of the agent CLI")
	case strings.HasPrefix(text, byteOrderMark):
		return "", errors.New("it begins with U+FEFF, which programs remove from the beginning of a file")
	}
	return o.opts.Texts.Write(v, r.ID, text)
}

// byteOrderMark is no part of a text at the beginning of a file.
const byteOrderMark = "\ufeff"

// textFile is a file that an agent was given.
type textFile struct {
	instance   string    // the agent's
	finalAt    time.Time // since when the receipt is final; zero: it is not
	referenced bool      // the agent may have got the line that refers to it
}

const (
	// fileRest is how long an agent must rest until it has read what it was given.
	fileRest = 5 * time.Second
	// fileLimit is how long a file is kept whatever the agent does.
	fileLimit = 24 * time.Hour
	// fileLook is how often it is looked whether a file can be removed, if nothing changes.
	fileLook = time.Minute
)

// trackFileLocked records the file of a receipt.
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

// removable reports whether the agent has no more use for a file; again is when to look
// again if nothing changes before, zero: never.
func (f textFile) removable(v session.Snapshot, now time.Time) (ok bool, again time.Time) {
	switch {
	case f.finalAt.IsZero():
		return false, time.Time{}
	case !f.referenced, v.Unknown == "" && v.Instance != f.instance, now.Sub(f.finalAt) >= fileLimit:
		return true, time.Time{}
	}
	a := v.Activity
	if a.State != runtime.ActivityIdle && a.State != runtime.ActivityReady || !v.ReadAt.After(f.finalAt) {
		return false, now.Add(fileLook)
	}
	if until := later(f.finalAt, a.Since).Add(fileRest); now.Before(until) {
		return false, until
	}
	return true, time.Time{}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// removeFiles removes the files that the agent does not need any more. It returns when to look
// again, zero if no file is left or only a receipt can change that.
func (o *owner) removeFiles(now time.Time) (next time.Time) {
	o.mu.Lock()
	files := maps.Clone(o.queue.files)
	o.mu.Unlock()
	if len(files) == 0 {
		return time.Time{}
	}
	v, err := o.opts.City.Snapshot(o.queue.session)
	if err != nil {
		v = session.Snapshot{Unknown: err.Error()} // perhaps a controller that has just begun
	}
	for id, f := range files {
		ok, again := f.removable(v, now)
		if !ok {
			next = earlier(next, again)
			continue
		}
		if err := o.opts.Texts.Remove(o.queue.session, id); err != nil {
			o.opts.Logger.Warn("the file with the text of a prompt cannot be removed", "receipt", id, "error", err)
			next = earlier(next, now.Add(fileLook))
			continue
		}
		o.mu.Lock()
		delete(o.queue.files, id)
		o.mu.Unlock()
	}
	return next
}

// restoreFilesLocked knows again the files that agents were given under an earlier
// controller, and removes the others.
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
		e.opts.Logger.Warn("files with texts of prompts cannot be removed", "error", err)
	}
}

// needOwnerLocked ensures that somebody acts for a box.
func (e *Engine) needOwnerLocked(b *sessionQueue) {
	if !b.owned && len(b.receipts)+len(b.files) > 0 {
		b.owned = true
		e.ownerless = append(e.ownerless, b)
		e.wakeLoop()
	}
}
