package subprocess

import (
	"context"
	"strconv"
	"strings"

	"gascity/internal/driver/shimdriver"
	"gascity/internal/terminal/inject"
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
	input, failed := encode(l.Labels[shimdriver.LabelInput], p.Text)
	if failed != nil {
		return *failed, nil
	}
	return l.DeliverInput(ctx, input)
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
	if inject.HasControl(text) {
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

// refused returns the outcome for a text that cannot be delivered, with the reason why.
func refused(why string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: why}
}
