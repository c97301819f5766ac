package workers

import (
	"context"
	"encoding/json"
	"fmt"

	"gascity/worker"
)

// ClaimContext returns the context sections that a hook of the agent CLI adds to the conversation
// (a claim). These sections are then sent neither by the stream nor by a prompt, unless the worker
// later reports that some did not arrive. It implements workerapi.Reports.
func (e *Engine) ClaimContext(_ context.Context, id string, c worker.ContextClaim) (worker.Context, error) {
	a, err := e.runByID(id)
	if err != nil {
		return worker.Context{}, err
	}
	if err := checkClaim(c.ID); err != nil {
		return worker.Context{}, err
	}
	e.startConversation(a, c)
	for {
		answer, changed, err := e.claimInEpoch(a, c, a.epoch())
		if !changed {
			return answer, err
		}
	}
}

// claimInEpoch answers the claim c with the sections of an epoch of the conversation. changed is true
// if that is not the present epoch: a compaction was reported in between, and nothing was recorded.
func (e *Engine) claimInEpoch(a *liveRun, c worker.ContextClaim, epoch int) (answer worker.Context, changed bool, err error) {
	answer = worker.Context{RunID: a.id, Sections: []worker.Section{}}
	mode, ok := e.contextMode(a, epoch)
	if !ok {
		return answer, a.epoch() != epoch, fmt.Errorf("%w: the session is not known", worker.ErrUnavailable)
	}
	sections := e.sections(a, mode)
	a.mu.Lock()
	before := a.contextLog
	if before.Epoch != epoch || before.Claim != c.ID { // another claim has replaced this one
		a.mu.Unlock()
		return answer, before.Epoch != epoch, nil
	}
	next, given, all := before.Fetch(a.instance, c, sections)
	next.Pending = next.Pending && !all
	a.contextLog = next
	answer.Mode, answer.Epoch = mode, next.Epoch
	if len(given) > 0 {
		answer.Sections = given
		err = a.addClaimLocked(c.ID, answer)
	}
	if err != nil {
		a.contextLog = before
	}
	a.mu.Unlock()
	if err != nil {
		return worker.Context{}, false, mailboxError(err)
	}
	e.saveMemory(a) // if this fails, a later controller may send the same sections again
	return answer, false, nil
}

// startConversation records a hook's claim c, its request for context, which reports that the agent
// has begun or continued a conversation. After a compaction, and in another conversation, a new epoch
// of the context begins: sections are sent again. A claim that is already recorded changes nothing.
func (e *Engine) startConversation(a *liveRun, c worker.ContextClaim) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.contextLog.Claim == c.ID || a.contextLog.Open[c.ID] != nil {
		return
	}
	next, dropped := a.contextLog.Began(c, e.opts.Now())
	a.replaceContextLogLocked(next, dropped)
	a.changeLocked()
}

// addClaimLocked records the sections that a claim has received as a message in the mailbox that is
// already received. So it is never sent, but its final acknowledgement is expected.
func (a *liveRun) addClaimLocked(id string, c worker.Context) error {
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
