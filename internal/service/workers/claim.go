package workers

import (
	"context"
	"encoding/json"
	"fmt"

	"gascity/internal/service/workers/contextlog"
	"gascity/worker"
)

// ClaimContext implements workerapi.Reports. What a claim gets is sent
// neither by the stream nor by a prompt, until it is acknowledged without some of it.
func (e *Engine) ClaimContext(_ context.Context, id string, c worker.ContextClaim) (worker.Context, error) {
	a, err := e.named(id)
	if err != nil {
		return worker.Context{}, err
	}
	if err := contextlog.CheckClaim(c.ID); err != nil {
		return worker.Context{}, err
	}
	answer := worker.Context{RunID: a.id, Sections: []worker.Section{}}
	if e.opts.Sections == nil {
		return answer, nil
	}
	e.begins(a, c)
	mode, ok := e.contextMode(a)
	if !ok {
		return answer, fmt.Errorf("%w: the session is not known", worker.ErrUnavailable)
	}
	sections := e.sections(a, mode)
	a.mu.Lock()
	before := a.contextLog
	if before.Claim != c.ID { // a later one has its place
		a.mu.Unlock()
		return answer, nil
	}
	next, given, all := before.Fetch(a.instance, c, sections)
	next.Pending = next.Pending && !all
	a.contextLog = next
	answer.Mode, answer.Epoch = mode, next.Epoch
	if len(given) > 0 {
		answer.Sections = given
		err = a.claimedLocked(c.ID, answer)
	}
	if err != nil {
		a.contextLog = before
	}
	a.mu.Unlock()
	if err != nil {
		return worker.Context{}, full(err)
	}
	e.saveMemory(a) // if it fails, the same is sent again at worst
	return answer, nil
}

// begins takes what a claim says of the conversation, once.
func (e *Engine) begins(a *liveRun, c worker.ContextClaim) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.contextLog.Claim == c.ID || a.contextLog.Open[c.ID] != nil {
		return
	}
	next, dropped := a.contextLog.Began(c, e.opts.Now())
	a.briefedLocked(next, dropped)
	a.changeLocked()
}

// claimedLocked keeps a message that a hook has fetched: it is on its way, and not to be
// sent.
func (a *liveRun) claimedLocked(id string, c worker.Context) error {
	if a.mailbox.Find(id) != nil {
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if _, err := a.mailbox.Put(worker.Message{ID: id, Kind: worker.ContextMessage, At: a.engine.opts.Now(), Data: text}); err != nil {
		return err
	}
	a.mailbox.Ack(worker.Ack{ID: id, State: worker.Received})
	return nil
}
