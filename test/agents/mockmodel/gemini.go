package mockmodel

import (
	"encoding/json"
	"fmt"
	"strings"
)

func parseGemini(body []byte) (conversation, error) {
	type content struct {
		Role  string `json:"role"`
		Parts []struct {
			Text     *string         `json:"text"`
			Call     json.RawMessage `json:"functionCall"`
			Response *struct {
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	}
	var in struct {
		Contents []content `json:"contents"`
		System   content   `json:"systemInstruction"`
		Tools    []struct {
			Functions []struct {
				Name       string `json:"name"`
				Parameters struct {
					Properties map[string]json.RawMessage `json:"properties"`
				} `json:"parameters"`
				Schema struct {
					Properties map[string]json.RawMessage `json:"properties"`
				} `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return conversation{}, fmt.Errorf("gemini: %w", err)
	}
	c := conversation{usage: true}
	for _, p := range in.System.Parts {
		if p.Text != nil {
			c.system += *p.Text
		}
	}
	for _, group := range in.Tools {
		for _, f := range group.Functions {
			params := f.Schema.Properties
			if params == nil {
				params = f.Parameters.Properties
			}
			c.tools = append(c.tools, tool{f.Name, params})
		}
	}
	for _, m := range in.Contents {
		out := message{answer: m.Role == "model"}
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				out.calls++
			case p.Response != nil:
				out.results = append(out.results, string(p.Response.Response))
			case p.Text != nil:
				out.texts = append(out.texts, *p.Text)
			}
		}
		c.messages = append(c.messages, out)
	}
	return c, nil
}

func writeGemini(out *stream, c conversation, said speech) {
	u := said.usage
	input := u.Input + u.CacheRead + u.CacheWrite
	usage := object{"promptTokenCount": input, "candidatesTokenCount": u.Output, "totalTokenCount": input + u.Output, "cachedContentTokenCount": u.CacheRead}
	chunk := func(finish string, parts ...object) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		whole := object{"candidates": []object{candidate}, "modelVersion": c.model, "responseId": said.id}
		if finish != "" {
			candidate["finishReason"], whole["usageMetadata"] = finish, usage
		}
		return whole
	}
	var calls []object
	for _, call := range said.calls {
		calls = append(calls, object{"functionCall": object{"id": call.ID, "name": call.Name, "args": call.Arguments}})
	}
	if !out.sse {
		if said.text != "" {
			calls = append([]object{{"text": said.text}}, calls...)
		}
		out.document(said, chunk("STOP", calls...))
		return
	}
	if said.text != "" {
		out.writeText(said, func(piece string) { out.event("", chunk("", object{"text": piece})) })
	}
	if len(calls) == 0 {
		calls = []object{{"text": ""}}
	}
	out.event("", chunk("STOP", calls...))
}

// modelOf returns the model in a Gemini path.
func modelOf(path string) string {
	_, behind, _ := strings.Cut(path, "/models/")
	model, _, _ := strings.Cut(behind, ":")
	return model
}
