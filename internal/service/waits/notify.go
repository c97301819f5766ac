package waits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/textfmt"
)

const (
	// source is the source of the prompts that notify owners.
	source = "wait"

	notifyTimeout = 30 * time.Second
	minNotifyGap  = time.Second // pause before the second attempt; it doubles
	maxNotifyGap  = time.Minute
	notifyGiveUp  = 24 * time.Hour // after this time the owner is not notified any more
)

// notifyOwnersLocked starts a goroutine that notifies the owners of ended waits with a prompt,
// unless there are none or one runs already. The caller holds mu.
func (w *Service) notifyOwnersLocked(ctx context.Context, jobs *sync.WaitGroup, now time.Time) {
	if w.notifying {
		return
	}
	var ended []session.Wait
	for _, e := range w.registered {
		if e.State != client.WaitOpen && !e.Notified {
			ended = append(ended, e.Wait)
		}
	}
	if len(ended) == 0 {
		w.notifyAt = time.Time{}
		w.notifyGap.Reset()
		return
	}
	if now.Before(w.notifyAt) {
		w.setDueLocked(w.notifyAt)
		return
	}
	slices.SortFunc(ended, func(a, b session.Wait) int {
		return cmp.Or(a.EndedAt.Compare(b.EndedAt), cmp.Compare(a.ID, b.ID))
	})
	w.notifying = true
	jobs.Go(func() { w.notifyOwners(ctx, ended) })
}

// notifyOwners notifies owners in the order in which the waits ended. An owner that cannot be
// notified now is notified later.
func (w *Service) notifyOwners(ctx context.Context, ended []session.Wait) {
	left := false
	for _, k := range ended {
		if ctx.Err() != nil {
			break
		}
		receipt, done, why := w.notifyOwner(ctx, k)
		if !done {
			left = true
			continue
		}
		w.recordNotified(ctx, k.ID, receipt, why)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notifying = false
	if left {
		w.notifyAt = w.opts.Now().Add(w.notifyGap.Next())
	}
	w.due.Wake()
}

// notifyOwner sends the prompt that notifies the owner of a wait that it has ended. done is false
// if that must be tried again. If why is not empty, the owner is never notified, for that reason.
func (w *Service) notifyOwner(ctx context.Context, k session.Wait) (receipt string, done bool, why string) {
	if w.opts.Now().Sub(k.EndedAt) > notifyGiveUp {
		return "", true, "it could not be delivered for a day"
	}
	instance, why, known := w.recipient(k)
	if !known || why != "" {
		return "", known, why
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	r, err := w.opts.Prompts.Nudge(ctx, k.Owner, client.NudgeRequest{Text: text(k), Key: k.ID, Source: source, Instance: instance})
	switch {
	case err == nil:
		return r.ID, true, ""
	case errors.Is(err, client.ErrRefused), errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrInvalid), errors.Is(err, client.ErrUnsupported):
		return "", true, err.Error()
	default:
		w.opts.Logger.Warn("cannot notify the owner of a wait", "wait", k.ID, "agent", k.Owner, "error", err)
		return "", false, ""
	}
}

// recipient returns the instance that is to be notified of the end of the wait k; empty means the
// next instance that runs. known is false if that cannot be determined now. If why is not empty, no
// instance may be notified, for that reason.
func (w *Service) recipient(k session.Wait) (instance, why string, known bool) {
	if k.OwnerInstance == "" {
		return "", "", true
	}
	v, err := w.opts.City.Snapshot(k.Owner)
	resumed := k.OwnerConversation != "" && v.Conversation.ID == k.OwnerConversation
	switch {
	case errors.Is(err, client.ErrNotFound):
		gone := w.opts.Now().Sub(k.EndedAt) > absentGrace
		return "", "there is no such agent any more", gone
	case err != nil || v.Unknown != "":
		return "", "", false
	case v.Instance == k.OwnerInstance, v.Instance != "" && resumed:
		return v.Instance, "", true
	case v.Instance == "" && !v.State.IsDown():
		return "", "", false // the session is starting or stopping
	case resumed:
		return "", "", true // the next instance resumes the conversation
	}
	return "", "the instance that registered the wait has stopped", true
}

// recordNotified records that the owner was notified, or why it never will be.
func (w *Service) recordNotified(ctx context.Context, id, receipt, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.registered[id]
	if e == nil {
		return
	}
	e.Notified, e.Receipt = true, receipt
	if why != "" {
		e.Reason = strings.TrimPrefix(e.Reason+"; ", "; ") + "the owner was not notified: " + textfmt.Truncate(why, maxLast)
		w.opts.Logger.Warn("the owner of a wait was not notified", "wait", id, "agent", e.Owner, "reason", why)
	}
	w.saveLocked(ctx, e)
	w.setDueLocked(w.opts.Now())
}

// text returns the text of the prompt that notifies the owner of the end of its wait.
func text(k session.Wait) string {
	if k.State == client.WaitFulfilled && k.Text != "" {
		return k.Text
	}
	end := "was " + k.State
	switch k.State {
	case client.WaitExpired:
		end = "has expired: the condition was not met by " + k.Deadline.Format(time.RFC3339)
	case client.WaitFailed:
		end = "has failed: the condition can no longer be met"
	}
	b := fmt.Sprintf("Your wait %s until %s %s", k.ID, sentence(k), end)
	if k.Reason != "" {
		b += " (" + k.Reason + ")"
	}
	b += "."
	if k.Text != "" {
		b += "\nYou asked for this notification: " + k.Text
	}
	return b
}
