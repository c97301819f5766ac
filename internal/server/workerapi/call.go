package workerapi

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"gascity/internal/jsontext"
	"gascity/worker"
)

// parse decodes a JSON text.
func parse(text []byte, into any) error {
	if c, ok := into.(*worker.Call); ok {
		if quick, ok := quickCall(text); ok {
			*c = quick
			return nil
		}
	}
	return json.Unmarshal(text, into)
}

// quickCall decodes a tool call in its usual form, faster than encoding/json, because each agent
// waits for the answer. It returns false for any other text, which encoding/json must decode.
func quickCall(text []byte) (c worker.Call, ok bool) {
	if !json.Valid(text) || !jsontext.IsObject(text) {
		return c, false
	}
	var seen [len(callNames)]bool
	for quoted, value := range jsontext.Members(text) {
		at := slices.Index(callNames[:], string(quoted))
		if at < 0 || seen[at] || !setMember(&c, callNames[at], value) {
			return c, false
		}
		seen[at] = true
	}
	return c, true
}

// callNames are the JSON names of the fields of a call, in quotes.
var callNames = [...]string{`"run_id"`, `"id"`, `"tool"`, `"input"`, `"context"`, `"wait_seconds"`, `"allowance"`, `"ask"`, `"partial"`}

// setMember sets the field of a call with the given name in quotes. It returns false if the value
// is not in the usual form.
func setMember(c *worker.Call, name string, value json.RawMessage) (ok bool) {
	switch name {
	case `"run_id"`:
		c.RunID, ok = quickText(value)
	case `"id"`:
		c.ID, ok = quickText(value)
	case `"tool"`:
		c.Tool, ok = quickText(value)
	case `"input"`:
		c.Input, ok = value, true
	case `"context"`:
		c.Context, ok = quickTexts(value)
	case `"wait_seconds"`:
		var n int64
		n, ok = quickNumber(value)
		c.Wait = worker.Seconds(n)
	case `"allowance"`:
		c.Allowance, ok = quickBool(value)
	case `"ask"`:
		c.Ask, ok = quickBool(value)
	case `"partial"`:
		c.Partial, ok = quickBool(value)
	}
	return ok
}

// quickText decodes a JSON string. It returns false for any other value.
func quickText(value json.RawMessage) (string, bool) {
	if value[0] != '"' {
		return "", false
	}
	text, err := jsontext.Text(value)
	return text, err == nil
}

// quickTexts decodes a JSON object with string values. It returns false for any other value.
func quickTexts(value json.RawMessage) (map[string]string, bool) {
	if value[0] != '{' {
		return nil, false
	}
	texts := map[string]string{}
	for quoted, value := range jsontext.Members(value) {
		name, named := quickText(json.RawMessage(quoted))
		text, ok := quickText(value)
		if !named || !ok {
			return nil, false
		}
		texts[name] = text
	}
	return texts, true
}

// quickNumber decodes an integer that is not negative. It returns false for any other value.
func quickNumber(value json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, err == nil && !strings.HasPrefix(string(value), "-")
}

// quickBool decodes true or false. ok is false for any other value.
func quickBool(value json.RawMessage) (is, ok bool) {
	is = string(value) == "true"
	return is, is || string(value) == "false"
}
