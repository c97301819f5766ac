package tmux

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// feedTranscript feeds the lines to a transcript with open requests that have the tokens t0, t1, ...
func feedTranscript(t testing.TB, lines string, commands ...tmuxCommand) (replies []tmuxReply, events []controlEvent, err error) {
	t.Helper()
	requests := make([]*request, 0, len(commands))
	tr := &transcript{
		next: func() *request {
			next := len(requests)
			if next == len(commands) {
				return nil
			}
			requests = append(requests, newRequest(commands[next]))
			requests[next].token = "t" + string(rune('0'+next))
			return requests[next]
		},
		event: func(e controlEvent) {
			e.Data = bytes.Clone(e.Data)
			events = append(events, e)
		},
	}
	for line := range strings.Lines(lines) {
		if err = tr.feed([]byte(strings.TrimSuffix(line, "\n"))); err != nil {
			break
		}
	}
	replies = make([]tmuxReply, len(commands))
	for i, r := range requests {
		replies[i] = r.reply
	}
	return replies, events, err
}

func TestRepliesAreTakenApart(t *testing.T) {
	capture := cmd("capture-pane", "-p")
	two := sequence(cmd("display-message", "-p", "x"), cmd("has-session"))
	for name, test := range map[string]struct {
		lines   string
		command tmuxCommand
		reply   tmuxReply
		events  []controlEvent
	}{
		"plain": {
			"%begin 1 10 1\na\nb\n%end 1 10 1\n%begin 1 11 1\nt0\n%end 1 11 1\n", capture,
			tmuxReply{Output: []byte("a\nb")},
			nil,
		},
		"empty line": {
			"%begin 1 10 1\n\n%end 1 10 1\n%begin 1 11 1\nt0\n%end 1 11 1\n", capture,
			tmuxReply{Output: []byte("")},
			nil,
		},
		"error": {
			"%begin 1 10 1\ncan't find session: x\n%error 1 10 1\n%begin 1 11 1\nt0\n%end 1 11 1\n", capture,
			tmuxReply{Err: &commandError{"capture-pane", "can't find session: x", errNotFound}},
			nil,
		},
		"the pane shows our protocol": {
			"%begin 1 10 1\n%end 1 10 1\n%exit\n%begin 1 11 1\nt1\n%end 1 11 1\n%error 1 10 1\n%sessions-changed\n%end 1 10 1\n%window-add @5\n%begin 1 11 1\nt0\n%end 1 11 1\n", capture,
			tmuxReply{Output: []byte("%end 1 10 1\n%exit\n%begin 1 11 1\nt1\n%end 1 11 1\n%error 1 10 1\n%sessions-changed")},
			[]controlEvent{{Kind: eventWindowAdd, Text: "@5"}},
		},
		"blocks of a hook before, within and after": {
			"%begin 1 9 0\n%exit\n%end 1 9 0\n%begin 1 10 1\na\n%end 1 10 1\n%begin 1 11 0\n%exit\n%end 1 11 0\n%begin 1 12 1\nt0\n%end 1 12 1\n%begin 1 13 0\n%exit\n%end 1 13 0\n%pause %3\n", capture,
			tmuxReply{Output: []byte("a")},
			[]controlEvent{{Kind: eventPaused, Text: "%3"}},
		},
		"a sequence whose second fails": {
			"%begin 1 10 1\nx\n%end 1 10 1\n%begin 1 11 1\nno sessions\n%error 1 11 1\n%begin 1 12 1\nt0\n%end 1 12 1\n", two,
			tmuxReply{Output: []byte("x"), Err: &commandError{"has-session", "no sessions", errNotFound}},
			nil,
		},
		"a forged end of the first block in the second": {
			"%begin 1 10 1\nx\n%end 1 10 1\n%begin 1 11 1\n%end 1 10 1\n%exit\n%end 1 11 1\n%begin 1 12 1\nt0\n%end 1 12 1\n", two,
			tmuxReply{Output: []byte("x\n%end 1 10 1\n%begin 1 11 1")},
			[]controlEvent{{Kind: eventResync}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			replies, events, err := feedTranscript(t, test.lines, test.command)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.reply, replies[0], cmp.Comparer(func(a, b error) bool {
				return fmt.Sprint(a) == fmt.Sprint(b) && errors.Is(a, errNotFound) == errors.Is(b, errNotFound)
			})); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.events, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAReplyToNothingIsAnError(t *testing.T) {
	if _, _, err := feedTranscript(t, "%begin 1 1 1\n"); !errors.Is(err, errProtocol) {
		t.Errorf("got %v", err)
	}
	if _, _, err := feedTranscript(t, "%begin 1 1 1\n%begin 1 2 1\nt0\nx\n", cmd("a")); !errors.Is(err, errProtocol) {
		t.Errorf("got %v", err)
	}
}

func TestNotificationsAreReadInFull(t *testing.T) {
	for line, want := range map[string]controlEvent{
		`%output %3 a\015\012\134\377x`:                         {Kind: eventOutput, Pane: "%3", Data: []byte("a\r\n\\\xffx")},
		`%output %3 \9\12`:                                      {Kind: eventOutput, Pane: "%3", Data: []byte(`\9\12`)},
		`%output %3 `:                                           {Kind: eventOutput, Pane: "%3", Data: []byte{}},
		`%extended-output %3 17 : a : b\040`:                    {Kind: eventOutput, Pane: "%3", Data: []byte("a : b ")},
		`%extended-output %3 17 new args : x`:                   {Kind: eventOutput, Pane: "%3", Data: []byte("x")},
		`%window-add @1`:                                        {Kind: eventWindowAdd, Text: "@1"},
		`%window-close @1`:                                      {Kind: eventWindowClose, Text: "@1"},
		`%window-renamed @1 a b`:                                {Kind: eventWindowRenamed, Text: "@1 a b"},
		`%window-renamed @1 `:                                   {Kind: eventWindowRenamed, Text: "@1 "},
		`%unlinked-window-add @1`:                               {Kind: eventWindowAdd, Text: "@1"},
		`%unlinked-window-close @1`:                             {Kind: eventWindowClose, Text: "@1"},
		`%unlinked-window-renamed @1 x`:                         {Kind: eventWindowRenamed, Text: "@1 x"},
		`%window-pane-changed @1 %2`:                            {Kind: eventWindowPane, Text: "@1 %2"},
		`%layout-change @1 b25d,80x24,0,0,0 b25d,80x24,0,0,0 *`: {Kind: eventLayout, Text: "@1 b25d,80x24,0,0,0 b25d,80x24,0,0,0 *"},
		`%pane-mode-changed %2`:                                 {Kind: eventPaneMode, Text: "%2"},
		`%sessions-changed`:                                     {Kind: eventSessionsChanged},
		`%session-renamed $1 n`:                                 {Kind: eventSessionRenamed, Text: "$1 n"},
		`%client-session-changed /dev/pts/1 $1 n`:               {Kind: eventClientSession, Text: "/dev/pts/1 $1 n"},
		`%client-detached /dev/pts/1`:                           {Kind: eventClientDetached, Text: "/dev/pts/1"},
		`%paste-buffer-changed b`:                               {Kind: eventOther, Text: "%paste-buffer-changed b"},
		`%config-error /x:1: no`:                                {Kind: eventOther, Text: "%config-error /x:1: no"},
		`%exit`:                                                 {Kind: eventExited},
		`%exit too far behind`:                                  {Kind: eventExited, Text: "too far behind"},
		`%pause %1`:                                             {Kind: eventPaused, Text: "%1"},
		`%continue %1`:                                          {Kind: eventContinued, Text: "%1"},
		`%brand-new @1`:                                         {Kind: eventOther, Text: "%brand-new @1"},
		`%output x`:                                             {Kind: eventOther, Text: "%output x"},
		`text`:                                                  {Kind: eventOther, Text: "text"},
		``:                                                      {Kind: eventOther},
	} {
		if diff := cmp.Diff(want, parseNotification([]byte(line))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

func FuzzTranscript(f *testing.F) {
	f.Add("%begin 1 10 1\na\n%end 1 10 1\n%begin 1 11 1\nt0\n%end 1 11 1\n%output %1 \\0\n")
	f.Add("%begin 1 10 0\n%error 1 10 0\n%subscription-changed a $1 @1 1 %1 : \n%extended-output %1 1 : \\777\n")
	f.Add("%begin \n%begin \nt0\n%end \n%begin 1 1 1\n%begin 1 1 1\nt1\n%end 1 1 1\n")
	f.Fuzz(func(t *testing.T, lines string) {
		// Whatever comes, nothing panics and no request has two replies.
		_, _, _ = feedTranscript(t, lines, cmd("a"), sequence(cmd("b"), cmd("c")))
	})
}

// FuzzForgery: what a pane shows never ends its reply and never becomes an event.
func FuzzForgery(f *testing.F) {
	f.Add("%end 1 10 1\n%exit\n%begin 1 11 1\nt1\n%end 1 11 1\n")
	f.Add("%error 1 10 1\n%output %1 x")
	f.Fuzz(func(t *testing.T, shown string) {
		shown = strings.ReplaceAll(shown, "\nt0\n", "\n") // the token cannot be guessed
		if strings.HasPrefix(shown, "t0\n") {
			return
		}
		lines := "%begin 1 10 1\n" + shown + "\n%end 1 10 1\n%begin 1 11 1\nt0\n%end 1 11 1\n"
		replies, events, err := feedTranscript(t, lines, cmd("capture-pane", "-p"))
		if err != nil || len(events) != 0 || replies[0].Err != nil || string(replies[0].Output) != shown {
			if strings.Contains("\n"+shown+"\n", "\nt0\n") {
				return
			}
			t.Errorf("%q became %q, %v, %v, %v", shown, replies[0].Output, replies[0].Err, events, err)
		}
	})
}

func FuzzQuote(f *testing.F) {
	f.Add("a;\n\xff~$HOME")
	f.Fuzz(func(t *testing.T, word string) {
		c := cmd("show", word)
		if strings.Contains(word, "\x00") != (c.err != nil) {
			t.Errorf("%q: %v", word, c.err)
		}
		if strings.ContainsAny(c.line, "\n\x00") {
			t.Errorf("%q became %q", word, c.line)
		}
	})
}
