package mockmodel

import (
	"encoding/json"
	"fmt"
	"strings"
)

func parseMessages(body []byte) (conversation, error) {
	var in struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		System   json.RawMessage `json:"system"`
		Metadata struct {
			UserID string `json:"user_id"`
		} `json:"metadata"`
		Tools []struct {
			Name        string `json:"name"`
			InputSchema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"input_schema"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return conversation{}, fmt.Errorf("messages: %w", err)
	}
	c := conversation{model: in.Model, stream: in.Stream, system: strings.Join(texts(parts(in.System)), "\n"), session: in.Metadata.UserID}
	for _, t := range in.Tools {
		c.tools = append(c.tools, tool{t.Name, t.InputSchema.Properties})
	}
	for _, m := range in.Messages {
		if m.Role == "system" {
			continue
		}
		list := parts(m.Content)
		out := message{answer: m.Role == "assistant", texts: texts(list)}
		for _, p := range list {
			switch p.Type {
			case "tool_use":
				out.calls++
			case "tool_result":
				out.results = append(out.results, strings.Join(texts(parts(p.Content)), "\n"))
			}
		}
		c.messages = append(c.messages, out)
	}
	return c, nil
}

type object map[string]any

func messageUsage(u Usage) object {
	return object{"input_tokens": u.Input, "output_tokens": u.Output, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite}
}

func writeMessages(out *stream, c conversation, said speech) {
	stop := "end_turn"
	if len(said.calls) > 0 {
		stop = "tool_use"
	}
	head := object{"id": "msg_" + said.id, "type": "message", "role": "assistant", "model": c.model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil}
	if !out.sse {
		content := []any{}
		if said.text != "" {
			content = append(content, object{"type": "text", "text": said.text})
		}
		for _, call := range said.calls {
			content = append(content, object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": call.Arguments})
		}
		head["content"], head["stop_reason"], head["usage"] = content, stop, messageUsage(said.usage)
		out.document(said, head)
		return
	}
	begin := said.usage
	begin.Output = 1
	head["usage"] = messageUsage(begin)
	out.event("message_start", object{"type": "message_start", "message": head})
	out.response, out.told = "msg_"+said.id, begin
	index := 0
	block := func(start any, deltas func(delta func(any))) {
		out.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
		deltas(func(d any) {
			out.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d})
		})
		out.event("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	if said.text != "" {
		block(object{"type": "text", "text": ""}, func(delta func(any)) {
			out.writeText(said, func(piece string) { delta(object{"type": "text_delta", "text": piece}) })
		})
	}
	for _, call := range said.calls {
		block(object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": object{}}, func(delta func(any)) {
			delta(object{"type": "input_json_delta", "partial_json": string(call.Arguments)})
		})
	}
	out.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": messageUsage(said.usage)})
	out.event("message_stop", object{"type": "message_stop"})
}
