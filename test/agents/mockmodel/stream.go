package mockmodel

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// endpoint is one path of a dialect.
type endpoint struct {
	suffix  string // of the path; for Gemini the method behind the colon
	dialect Dialect
	count   bool // it counts tokens only
	parse   func(body []byte) (conversation, error)
	write   func(*stream, conversation, speech)
}

var endpoints = []endpoint{
	{"/v1/messages", Messages, false, parseMessages, writeMessages},
	{"/v1/messages/count_tokens", Messages, true, parseMessages, nil},
	{"/v1/responses", Responses, false, parseResponses, writeResponses},
	{"/v1/chat/completions", Chat, false, parseChat, writeChat},
	{":generateContent", Gemini, false, parseGemini, writeGemini},
	{":streamGenerateContent", Gemini, false, parseGemini, writeGemini},
	{":countTokens", Gemini, true, parseGemini, nil},
}

// route finds the endpoint of a path and the caller in front of it. A version
// in the path may be there or not.
func route(path string) (way endpoint, caller string) {
	for _, way := range endpoints {
		for _, suffix := range []string{way.suffix, strings.TrimPrefix(way.suffix, "/v1")} {
			if caller, ok := strings.CutSuffix(path, suffix); ok {
				return way, name(caller)
			}
		}
	}
	return endpoint{}, ""
}

// name returns the caller of the path before an endpoint.
func name(path string) string {
	path, _, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/models/")
	for _, version := range []string{"v1", "v1beta"} {
		if path == version {
			return ""
		}
		path = strings.TrimSuffix(path, "/"+version)
	}
	return path
}

// stream writes server-sent events, or one document if the caller wants no
// stream.
type stream struct {
	gone   context.Context //nolint:containedctx // of the one request that is answered
	to     http.ResponseWriter
	sse    bool
	begun  bool
	broken bool // the caller went away before the end
	// the answer's id and the usage that it reports, by its beginning.
	response string
	told     Usage
}

// event sends one event; an empty kind sends data only.
func (s *stream) event(kind string, data any) {
	if !s.begun {
		s.to.Header().Set("Content-Type", "text/event-stream")
		s.to.Header().Set("Cache-Control", "no-cache")
		s.begun = true
	}
	if s.gone.Err() != nil {
		s.broken = true
		return
	}
	if kind != "" {
		kind = "event: " + kind + "\n"
	}
	line, ok := data.(string)
	if !ok {
		line = string(encode(data))
	}
	if _, err := fmt.Fprintf(s.to, "%sdata: %s\n\n", kind, line); err != nil {
		s.broken = true
		return
	}
	if err := http.NewResponseController(s.to).Flush(); err != nil {
		s.broken = true
	}
}

// document sends the whole answer after the time that a stream would take.
func (s *stream) document(said speech, v any) {
	if s.pause(said.slow) {
		respond(s.to, http.StatusOK, v)
	}
}

// pieces is into how many parts a slow answer is cut.
const pieces = 20

// writeText sends the text in pieces over the time of the speech.
func (s *stream) writeText(said speech, say func(piece string)) {
	text := said.text
	if said.slow <= 0 {
		say(text)
		return
	}
	words := strings.SplitAfter(text, " ")
	for i := range pieces {
		from, to := i*len(words)/pieces, (i+1)*len(words)/pieces
		if to > from {
			say(strings.Join(words[from:to], ""))
		}
		if !s.pause(said.slow / pieces) {
			return
		}
	}
}

func (s *stream) pause(d time.Duration) bool {
	if !s.broken && !sleep(s.gone, d) {
		s.broken = true
	}
	return !s.broken
}
