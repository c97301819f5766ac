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

// The words of GC_STDIN.
const (
	inputLines  = "lines"
	inputFramed = "framed"
)

// deliver writes one prompt to the agent's standard input. A pipe shows nothing of
// its reader, so the best outcome is unconfirmed.
func deliver(ctx context.Context, l shimdriver.Live, p inject.Prompt) (runtime.Outcome, error) {
	if p.Text == "" {
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "empty"}, nil
	}
	input, no := encode(l.Labels[shimdriver.LabelInput], p.Text)
	if no != nil {
		return *no, nil
	}
	t, err := l.Lease(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy, Detail: "not a byte was sent: " + err.Error()}, nil
	}
	defer t.Close()
	if err := t.Begin(ctx, l.Delivery, "", nil); err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, err
	}
	switch err := t.Type(ctx, inputlog.Enter, input); {
	case errors.Is(err, shim.ErrDisconnected):
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the session ended while the prompt was being written"}, nil
	case errors.Is(err, screen.ErrExited): // not a byte was written
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: "the agent has exited"}, nil
	case err != nil:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, err
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "written to the agent's standard input, which shows no outcome"}, nil
}

// encode returns the bytes for a prompt, or why there are none.
func encode(mode, text string) ([]byte, *runtime.Outcome) {
	if mode != inputLines && mode != inputFramed {
		return nil, &runtime.Outcome{
			State:  runtime.OutcomeUnsupported,
			Detail: `the agent declares no way to read prompts; set GC_STDIN to "lines" or "framed" in its env if it reads its standard input`,
		}
	}
	if !utf8.ValidString(text) || strings.IndexFunc(text, isControl) >= 0 {
		no := refused("the text has a control character or is not UTF-8")
		return nil, &no
	}
	if mode == inputFramed {
		return append(strconv.AppendInt(nil, int64(len(text)), 10), "\n"+text...), nil
	}
	if strings.ContainsAny(text, "\r\n") {
		no := refused(`the agent reads one line for each prompt, and the text has several; with GC_STDIN = "framed" they could arrive`)
		return nil, &no
	}
	return []byte(text + "\n"), nil
}

// isControl finds what is refused everywhere, so that a prompt means the same on
// each driver.
func isControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0
}

func refused(why string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: why}
}

// resolveDelivery returns what the journal says: what was written into a pipe cannot be taken
// back.
func resolveDelivery(ctx context.Context, l shimdriver.Live) (runtime.Outcome, error) {
	t, err := l.Lease(ctx)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	defer t.Close()
	j, err := t.Account(ctx, l.Delivery)
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	if j.Asked != nil && !j.Asked.Entered {
		return inject.NeverSent("not a byte of it was sent"), nil
	}
	if out, ok := inject.FinalOutcome(j); ok {
		return out, nil
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "written to the agent's standard input, which shows no outcome"}, nil
}
