package client

import (
	"errors"
	"io"
	"strings"
	"testing"

	"gascity/internal/httpwire"
)

// parseAll feeds a stream to the parser and returns what it yields.
func parseAll(input io.Reader) (events []Event, gaps int, err error) {
	s := &stream{yield: func(e Event, err error) bool {
		if _, ok := errors.AsType[*GapError](err); ok {
			gaps++
		} else {
			events = append(events, e)
		}
		return true
	}}
	err = httpwire.ReadEvents(input, s.dispatch)
	return events, gaps, err
}

func TestStreamFormat(t *testing.T) {
	input := ": comment\n\n" +
		"id: 4\nevent: event\ndata: {\"id\":4,\"kind\":\"a\"}\n\n" +
		"event: newer\ndata: whatever\n\n" + // an unknown kind is skipped
		"event: gap\ndata: {\"after\":4,\"next\":9}\n\n" +
		"event:event\r\ndata:{\"id\":9,\r\ndata:\"kind\":\"b\"}\r\n\r\n" + // no blank, several lines, CRLF
		"event: event\ndata: {\"id\":10}" // cut off before it was complete
	events, gaps, err := parseAll(strings.NewReader(input))
	if len(events) != 2 || events[0].ID != 4 || events[1].ID != 9 || events[1].Kind != "b" || gaps != 1 {
		t.Errorf("read %+v and %d gaps", events, gaps)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the end of a stream is %v", err)
	}
}

func FuzzStream(f *testing.F) {
	for _, seed := range []string{"", ":\n\n", "event: event\ndata: {}\n\n", "event: gap\ndata: {\"after\":18446744073709551615}\n\n", "data\n\n", "event: event\n\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		if _, _, err := parseAll(strings.NewReader(input)); err == nil {
			t.Error("a stream ended without an error")
		}
	})
}
