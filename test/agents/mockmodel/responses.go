package mockmodel

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

func parseResponses(body []byte) (conversation, error) {
	var in struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		CacheKey     string          `json:"prompt_cache_key"`
		Input        json.RawMessage `json:"input"`
		Tools        []struct {
			Type       string `json:"type"`
			Name       string `json:"name"`
			Parameters struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"parameters"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return conversation{}, fmt.Errorf("responses: %w", err)
	}
	c := conversation{model: in.Model, stream: in.Stream, usage: true, system: in.Instructions, session: in.CacheKey}
	for _, t := range in.Tools {
		c.tools = append(c.tools, tool{t.Name, t.Parameters.Properties})
	}
	var text string
	if json.Unmarshal(in.Input, &text) == nil {
		c.messages = []message{{texts: []string{text}}}
		return c, nil
	}
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Output  json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return conversation{}, fmt.Errorf("responses: input: %w", err)
	}
	for _, item := range items {
		switch {
		case strings.HasSuffix(item.Type, "_call_output"):
			c.messages = append(c.messages, message{results: texts(parts(item.Output))})
		case strings.HasSuffix(item.Type, "_call"):
			c.messages = append(c.messages, message{answer: true, calls: 1})
		case item.Role == "assistant", item.Role == "user":
			c.messages = append(c.messages, message{answer: item.Role == "assistant", texts: texts(parts(item.Content))})
		}
	}
	return c, nil
}

func writeResponses(out *stream, c conversation, said speech) {
	u := said.usage
	input := u.Input + u.CacheRead + u.CacheWrite
	whole := object{
		"id": "resp_" + said.id, "object": "response", "created_at": time.Now().Unix(), "status": "in_progress", "model": c.model, "output": []any{}, "error": nil,
	}
	n := 0
	emit := func(kind string, fields object) {
		fields["type"], fields["sequence_number"] = kind, n
		n++
		out.event(kind, fields)
	}
	if out.sse {
		emit("response.created", object{"response": whole})
	}
	var items []any
	if said.text != "" {
		item := object{"type": "message", "id": "msg_" + said.id, "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": said.text, "annotations": []any{}}}}
		if out.sse {
			utter(out, emit, said, item)
		}
		items = append(items, item)
	}
	for _, call := range said.calls {
		item := object{"type": "function_call", "id": "fc_" + call.ID, "call_id": call.ID, "name": call.Name, "arguments": string(call.Arguments), "status": "completed"}
		if out.sse {
			at := len(items)
			emit("response.output_item.added", object{"output_index": at, "item": object{"type": "function_call", "id": item["id"], "call_id": call.ID, "name": call.Name, "arguments": "", "status": "in_progress"}})
			emit("response.function_call_arguments.delta", object{"output_index": at, "item_id": item["id"], "delta": item["arguments"]})
			emit("response.function_call_arguments.done", object{"output_index": at, "item_id": item["id"], "arguments": item["arguments"]})
			emit("response.output_item.done", object{"output_index": at, "item": item})
		}
		items = append(items, item)
	}
	whole["status"], whole["output"] = "completed", items
	whole["usage"] = object{
		"input_tokens": input, "input_tokens_details": object{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": input + u.Output,
	}
	if !out.sse {
		out.document(said, whole)
		return
	}
	emit("response.completed", object{"response": whole})
}

// utter streams a message item.
func utter(out *stream, emit func(string, object), said speech, item object) {
	at := func(fields object) object {
		fields["output_index"], fields["content_index"], fields["item_id"] = 0, 0, item["id"]
		return fields
	}
	emit("response.output_item.added", object{"output_index": 0, "item": object{"type": "message", "id": item["id"], "role": "assistant", "status": "in_progress", "content": []any{}}})
	emit("response.content_part.added", at(object{"part": object{"type": "output_text", "text": "", "annotations": []any{}}}))
	out.writeText(said, func(piece string) { emit("response.output_text.delta", at(object{"delta": piece})) })
	emit("response.output_text.done", at(object{"text": said.text}))
	emit("response.content_part.done", at(object{"part": object{"type": "output_text", "text": said.text, "annotations": []any{}}}))
	emit("response.output_item.done", object{"output_index": 0, "item": item})
}
