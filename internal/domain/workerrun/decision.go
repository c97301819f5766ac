package workerrun

import (
	"encoding/json"

	"gascity/internal/jsontext"
	"gascity/worker"
)

// Text returns a value as encoding/json writes it. A decision is written without reflection
// where nothing in it needs an escape: each agent waits for it.
func Text(value any) ([]byte, error) {
	if d, ok := value.(worker.Decision); ok {
		return decisionText(d)
	}
	return json.Marshal(value)
}

func decisionText(d worker.Decision) ([]byte, error) {
	text := make([]byte, 0, 96+len(d.Reason)+len(d.Rule))
	text = append(text, `{"allowed":`...)
	if d.Allowed {
		text = append(text, "true"...)
	} else {
		text = append(text, "false"...)
	}
	plain := d.Allowance == nil
	for _, member := range [...]struct{ name, value string }{{`,"reason":`, d.Reason}, {`,"effect":`, string(d.Effect)}, {`,"rule":`, d.Rule}, {`,"interaction":`, d.Interaction}} {
		if member.value == "" {
			continue
		}
		plain = plain && jsontext.Plain(member.value)
		text = append(append(append(append(text, member.name...), '"'), member.value...), '"')
	}
	if !plain {
		return json.Marshal(d)
	}
	return append(text, '}'), nil
}
