package subprocess

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"gascity/internal/driver/shimdriver"
	"gascity/internal/shim"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// The values of GC_STDIN.
const (
	inputLines  = "lines"
	inputFramed = "framed"
)

// deliver writes one prompt to the agent's standard input. A pipe does not show whether the agent
// read the prompt, so the best outcome is unconfirmed.
func deliver(ctx context.Context, l shimdriver.Live, p inject.Prompt) (runtime.Outcome, error) {
	if p.Text == "" {
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "empty"}, nil
	}
	input, failed := encode(l.Labels[shimdriver.LabelInput], p.Text)
	if failed != nil {
		return *failed, nil
	}
	t, err := l.Lease(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy, Detail: "no byte was sent: " + err.Error()}, nil
	}
	defer t.Close()
	if err := t.Begin(ctx, l.Delivery, "", nil); err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, err
	}
	switch err := t.Type(ctx, inputlog.Enter, input); {
	case errors.Is(err, shim.ErrDisconnected):
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the session stopped while the prompt was written"}, nil
	case errors.Is(err, screen.ErrExited): // no byte was written
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: "the agent has exited"}, nil
	case err != nil:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, err
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "written to the agent's standard input, which shows no outcome"}, nil
}

// encode returns the bytes that are written for a prompt, or the outcome if the prompt cannot be
// written.
func encode(mode, text string) ([]byte, *runtime.Outcome) {
	if mode != inputLines && mode != inputFramed {
		return nil, &runtime.Outcome{
			State:  runtime.OutcomeUnsupported,
			Detail: `the agent does not declare how it reads prompts; if it reads its standard input, set GC_STDIN in its env to "lines" or "framed"`,
		}
	}
	if !utf8.ValidString(text) || strings.IndexFunc(text, isControl) >= 0 {
		out := refused("the text contains a control character or is not UTF-8")
		return nil, &out
	}
	if mode == inputFramed {
		return append(strconv.AppendInt(nil, int64(len(text)), 10), "\n"+text...), nil
	}
	if strings.ContainsAny(text, "\r\n") {
		out := refused(`the agent reads each prompt as one line, and the text has several lines; if the agent can read them, set GC_STDIN = "framed" in its env`)
		return nil, &out
	}
	return []byte(text + "\n"), nil
}

// isControl reports whether r is a control character that every driver refuses in a prompt. Tab and
// line ends are allowed.
func isControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0
}

// refused returns the outcome for a text that cannot be delivered, with the reason why.
func refused(why string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: why}
}

// resolveDelivery returns the recorded outcome of a delivery. Bytes that were written into a pipe
// cannot be withdrawn.
func resolveDelivery(ctx context.Context, l shimdriver.Live) (runtime.Outcome, error) {
	t, err := l.Lease(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	defer t.Close()
	record, err := t.Account(ctx, l.Delivery)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	if record.Asked != nil && !record.Asked.Entered {
		return inject.NeverSent("no byte of it was sent"), nil
	}
	if out, ok := inject.FinalOutcome(record); ok {
		return out, nil
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "written to the agent's standard input, which shows no outcome"}, nil
}
