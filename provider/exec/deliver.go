package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"gascity/internal/driver/script"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Deliver implements runtime.Deliverer. It returns the outcome that the script prints. Without one,
// a prompt that was passed to the script is unconfirmed, also if the script failed.
func (p *Provider) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	release, err := p.inputs.acquire(ctx, name)
	if err != nil {
		return refused(runtime.RefusedBusy, "no byte was sent: "+err.Error()), err
	}
	defer release()
	return p.deliver(ctx, name, d)
}

// deliver delivers a prompt. The caller holds the session's input lock.
func (p *Provider) deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if runtime.ValidateName(name) != nil {
		return runtime.Outcome{State: runtime.OutcomeAbsent}, nil //nolint:nilerr // no session has such a name
	}
	if err := context.Cause(ctx); err != nil {
		return refused(runtime.RefusedBusy, "no byte was sent: "+err.Error()), err
	}
	if p.caps.Has(script.CapDeliver) {
		return p.callDelivery(ctx, name, script.OpDeliver, d)
	}
	return p.send(ctx, name, d)
}

// Settle implements runtime.Settler. Without the capability of the script, nothing can be proved
// after the delivery, and the outcome is unconfirmed.
func (p *Provider) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if p.caps.Has(script.CapSettle) && runtime.ValidateName(name) == nil {
		return p.callDelivery(ctx, name, script.OpSettle, d)
	}
	release, err := p.inputs.acquire(ctx, name)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedBusy}, err
	}
	defer release()
	if err := p.checkExists(ctx, "settle a prompt of", name); err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the script does not report the outcome of a prompt"}, nil
}

// callDelivery passes a delivery to a script that supports deliveries.
func (p *Provider) callDelivery(ctx context.Context, name, op string, d runtime.Delivery) (runtime.Outcome, error) {
	if !utf8.ValidString(runtime.FlattenText(d.Content)) {
		return refused(runtime.RefusedContent, "the text is not UTF-8"), nil // JSON would change it
	}
	data, err := json.Marshal(script.NewDelivery(d))
	if err != nil {
		return refused(runtime.RefusedContent, err.Error()), err
	}
	r, err := p.call(ctx, request{op: op, name: name, stdin: data})
	if out, ok := script.ParseOutcome(r.out); ok {
		return out, err
	}
	return p.outcomeOf(r, err, len(data))
}

// send types a prompt with the operation nudge or with tmux in the session's sandbox.
func (p *Provider) send(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	text := runtime.FlattenText(d.Content)
	if text == "" {
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "empty"}, nil
	}
	if inject.HasControl(text) || strings.Contains(text, "\r") {
		return refused(runtime.RefusedContent, "the text contains a control character or is not UTF-8"), nil
	}
	if out, err, stop := p.checkTarget(ctx, name, d.Instance); stop {
		return out, err
	}
	if blocked := p.checkInput(ctx, name); blocked != nil {
		return *blocked, nil
	}
	text, staged := p.stageFiles(ctx, name, d.Content)
	if out, done, err := p.typeIn(ctx, name, text); done {
		out.Staged = staged
		return out, err
	}
	r, err := p.call(ctx, request{op: script.OpNudge, name: name, stdin: []byte(text)})
	out, ok := script.ParseOutcome(r.out)
	if !ok || err != nil {
		out, err = p.outcomeOf(r, err, len(text))
	}
	out.Staged = staged
	return out, err
}

// checkTarget checks that the session runs, that its instance is the requested one, and that no
// person types. If stop is true, the prompt must not be sent and out and err are the result.
func (p *Provider) checkTarget(ctx context.Context, name, instance string) (out runtime.Outcome, err error, stop bool) {
	obs, err := p.query(ctx, name)
	switch {
	case isMissing(err): // the script cannot observe; nudge reports a missing session
	case err != nil:
		return refused(runtime.RefusedUnready, "no byte was sent: "+err.Error()), nil, true //nolint:nilerr // the outcome contains the error
	case running(obs) == runtime.Dead:
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: "the session does not run"}, nil, true
	case typing(obs):
		return refused(runtime.RefusedTyping, "a person typed less than "+(screen.DefaultHumanQuiet+clockGrain).String()+" ago"), nil, true
	}
	if instance == "" {
		return out, nil, false
	}
	switch err := p.identify(ctx, name, instance); {
	case err == nil:
		return out, nil, false
	case runtime.IsSessionGone(err):
		return runtime.Outcome{State: runtime.OutcomeAbsent}, nil, true
	case errors.Is(err, runtime.ErrStaleInstance):
		return runtime.Outcome{State: runtime.OutcomeAbsent}, err, true
	default:
		return refused(runtime.RefusedUnready, "no byte was sent: "+err.Error()), nil, true
	}
}

// outcomeOf returns the outcome of a call that printed no outcome. size is the length of the input.
func (p *Provider) outcomeOf(r reply, err error, size int) (runtime.Outcome, error) {
	var refusal *runtime.RefusedError
	switch {
	case err == nil && !r.inputRead:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: fmt.Sprintf("the script exited before it had read the text: at most %d of %d bytes", r.written, size)}, nil
	case err == nil:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the script does not report whether the agent accepted the prompt"}, nil
	case isMissing(err):
		missing, _ := errors.AsType[*ScriptError](err)
		return runtime.Outcome{State: runtime.OutcomeUnsupported, Detail: missing.Error()}, nil
	case runtime.IsSessionGone(err):
		return runtime.Outcome{State: runtime.OutcomeAbsent}, nil
	case errors.Is(err, runtime.ErrStaleInstance):
		return runtime.Outcome{State: runtime.OutcomeAbsent}, err
	case errors.As(err, &refusal):
		return refused(refusal.Reason, err.Error()), nil
	case errors.Is(err, runtime.ErrInputUnsupported):
		return runtime.Outcome{State: runtime.OutcomeUnsupported, Detail: err.Error()}, nil
	case errors.Is(err, errNotRun):
		return refused(runtime.RefusedUnready, "no byte was sent: "+err.Error()), err
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, err
}

// stageFiles copies the files of a prompt into the working directory and returns the text that
// refers to them. A file that cannot be copied is referred to by its original path.
func (p *Provider) stageFiles(ctx context.Context, name string, content []runtime.ContentBlock) (text string, staged []string) {
	blocks := make([]runtime.ContentBlock, 0, len(content))
	for _, b := range content {
		if b.Type == runtime.ContentFilePath && b.Path != "" {
			base := filepath.Base(b.Path)
			if _, err := p.call(ctx, request{op: script.OpCopyTo, name: name, args: []string{b.Path, base}, verb: "copy to"}); err == nil {
				staged = append(staged, base)
				b = runtime.ContentBlock{Type: runtime.ContentText, Text: "[File staged: ./" + base + "]"}
			}
		}
		blocks = append(blocks, b)
	}
	return runtime.FlattenText(blocks), staged
}

func refused(why runtime.RefusalReason, detail string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: why, Detail: detail}
}

// Nudge implements runtime.Input. Its time limit begins when earlier inputs to the session are
// done.
func (p *Provider) Nudge(name string, content []runtime.ContentBlock) error {
	release, err := p.inputs.acquire(context.Background(), name) //nolint:forbidigo // the contract's method has no ctx
	if err != nil {
		return &runtime.Error{Op: "nudge", Session: name, Err: err}
	}
	defer release()
	ctx, cancel := p.bounded()
	defer cancel()
	out, err := p.deliver(ctx, name, runtime.Delivery{Content: content})
	if err == nil {
		err = runtime.NudgeError(out)
	}
	if err == nil {
		return nil
	}
	if out.State == runtime.OutcomeUnsupported {
		err = &missingError{runtime.ErrInputUnsupported}
	}
	return &runtime.Error{Op: "nudge", Session: name, Err: err}
}
