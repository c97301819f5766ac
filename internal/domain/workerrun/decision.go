package workerrun

import (
	"encoding/json"

	"gascity/internal/jsontext"
	"gascity/worker"
)

// Text returns the JSON encoding of value, as encoding/json writes it. Agents wait for decisions,
// so a decision without characters to escape is encoded without reflection.
func Text(value any) ([]byte, error) {
	if d, ok := value.(worker.Decision); ok {
		return decisionText(d)
	}
	return json.Marshal(value)
}

// decisionText returns the JSON encoding of d.
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
