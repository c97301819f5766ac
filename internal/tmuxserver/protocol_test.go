package tmuxserver

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// run feeds the lines to a transcript with open requests that have the tokens t0, t1, ...
func run(t testing.TB, lines string, commands ...Command) (replies []Reply, events []Event, err error) {
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
		event: func(e Event) {
			e.Data = bytes.Clone(e.Data)
			events = append(events, e)
		},
	}
	for line := range strings.Lines(lines) {
		if err = tr.feed([]byte(strings.TrimSuffix(line, "\n"))); err != nil {
			break
		}
	}
	replies = make([]Reply, len(commands))
	for i, r := range requests {
		replies[i] = r.reply
	}
	return replies, events, err
}

func TestRepliesAreTakenApart(t *testing.T) {
	capture := Cmd("capture-pane", "-p")
	two := Sequence(Cmd("display-message", "-p", "x"), Cmd("has-session"))
	for name, test := range map[string]struct {
		lines   string
		command Command
		reply   Reply
		events  []Event
	}{
		"plain": {
			"%begin 1 10 1\na\nb\n%end 1 10 1\n%begin 1 11 1\nt0\n%end 1 11 1\n", capture,
			Reply{Output: []byte("a\nb")},
			nil,
		},
		"empty line": {
			"%begin 1 10 1\n\n%end 1 10 1\n%begin 1 11 1\nt0\n%end 1 11 1\n", capture,
			Reply{Output: []byte("")},
			nil,
		},
		"error": {
			"%begin 1 10 1\ncan't find session: x\n%error 1 10 1\n%begin 1 11 1\nt0\n%end 1 11 1\n", capture,
			Reply{Err: &CommandError{"capture-pane", "can't find session: x", ErrNotFound}},
			nil,
		},
		"the pane shows our protocol": {
			"%begin 1 10 1\n%end 1 10 1\n%exit\n%begin 1 11 1\nt1\n%end 1 11 1\n%error 1 10 1\n%sessions-changed\n%end 1 10 1\n%window-add @5\n%begin 1 11 1\nt0\n%end 1 11 1\n", capture,
			Reply{Output: []byte("%end 1 10 1\n%exit\n%begin 1 11 1\nt1\n%end 1 11 1\n%error 1 10 1\n%sessions-changed")},
			[]Event{{Kind: WindowAdd, Text: "@5"}},
		},
		"blocks of a hook before, within and after": {
			"%begin 1 9 0\n%exit\n%end 1 9 0\n%begin 1 10 1\na\n%end 1 10 1\n%begin 1 11 0\n%exit\n%end 1 11 0\n%begin 1 12 1\nt0\n%end 1 12 1\n%begin 1 13 0\n%exit\n%end 1 13 0\n%pause %3\n", capture,
			Reply{Output: []byte("a")},
			[]Event{{Kind: paused, Text: "%3"}},
		},
		"a sequence whose second fails": {
			"%begin 1 10 1\nx\n%end 1 10 1\n%begin 1 11 1\nno sessions\n%error 1 11 1\n%begin 1 12 1\nt0\n%end 1 12 1\n", two,
			Reply{Output: []byte("x"), Err: &CommandError{"has-session", "no sessions", ErrNotFound}},
			nil,
		},
		"a forged end of the first block in the second": {
			"%begin 1 10 1\nx\n%end 1 10 1\n%begin 1 11 1\n%end 1 10 1\n%exit\n%end 1 11 1\n%begin 1 12 1\nt0\n%end 1 12 1\n", two,
			Reply{Output: []byte("x\n%end 1 10 1\n%begin 1 11 1")},
			[]Event{{Kind: Resync}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			replies, events, err := run(t, test.lines, test.command)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.reply, replies[0], cmp.Comparer(func(a, b error) bool {
				return fmt.Sprint(a) == fmt.Sprint(b) && errors.Is(a, ErrNotFound) == errors.Is(b, ErrNotFound)
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
	if _, _, err := run(t, "%begin 1 1 1\n"); !errors.Is(err, errProtocol) {
		t.Errorf("got %v", err)
	}
	if _, _, err := run(t, "%begin 1 1 1\n%begin 1 2 1\nt0\nx\n", Cmd("a")); !errors.Is(err, errProtocol) {
		t.Errorf("got %v", err)
	}
}

func TestNotificationsAreReadInFull(t *testing.T) {
	for line, want := range map[string]Event{
		`%output %3 a\015\012\134\377x`:                         {Kind: Output, Pane: "%3", Data: []byte("a\r\n\\\xffx")},
		`%output %3 \9\12`:                                      {Kind: Output, Pane: "%3", Data: []byte(`\9\12`)},
		`%output %3 `:                                           {Kind: Output, Pane: "%3", Data: []byte{}},
		`%extended-output %3 17 : a : b\040`:                    {Kind: Output, Pane: "%3", Data: []byte("a : b ")},
		`%extended-output %3 17 new args : x`:                   {Kind: Output, Pane: "%3", Data: []byte("x")},
		`%window-add @1`:                                        {Kind: WindowAdd, Text: "@1"},
		`%window-close @1`:                                      {Kind: WindowClose, Text: "@1"},
		`%window-renamed @1 a b`:                                {Kind: WindowRenamed, Text: "@1 a b"},
		`%window-renamed @1 `:                                   {Kind: WindowRenamed, Text: "@1 "},
		`%unlinked-window-add @1`:                               {Kind: WindowAdd, Text: "@1"},
		`%unlinked-window-close @1`:                             {Kind: WindowClose, Text: "@1"},
		`%unlinked-window-renamed @1 x`:                         {Kind: WindowRenamed, Text: "@1 x"},
		`%window-pane-changed @1 %2`:                            {Kind: WindowPane, Text: "@1 %2"},
		`%layout-change @1 b25d,80x24,0,0,0 b25d,80x24,0,0,0 *`: {Kind: Layout, Text: "@1 b25d,80x24,0,0,0 b25d,80x24,0,0,0 *"},
		`%pane-mode-changed %2`:                                 {Kind: PaneMode, Text: "%2"},
		`%sessions-changed`:                                     {Kind: SessionsChanged},
		`%session-renamed $1 n`:                                 {Kind: SessionRenamed, Text: "$1 n"},
		`%client-session-changed /dev/pts/1 $1 n`:               {Kind: ClientSession, Text: "/dev/pts/1 $1 n"},
		`%client-detached /dev/pts/1`:                           {Kind: ClientDetached, Text: "/dev/pts/1"},
		`%paste-buffer-changed b`:                               {Kind: other, Text: "%paste-buffer-changed b"},
		`%config-error /x:1: no`:                                {Kind: other, Text: "%config-error /x:1: no"},
		`%exit`:                                                 {Kind: exited},
		`%exit too far behind`:                                  {Kind: exited, Text: "too far behind"},
		`%pause %1`:                                             {Kind: paused, Text: "%1"},
		`%continue %1`:                                          {Kind: continued, Text: "%1"},
		`%brand-new @1`:                                         {Kind: other, Text: "%brand-new @1"},
		`%output x`:                                             {Kind: other, Text: "%output x"},
		`text`:                                                  {Kind: other, Text: "text"},
		``:                                                      {Kind: other},
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
		_, _, _ = run(t, lines, Cmd("a"), Sequence(Cmd("b"), Cmd("c")))
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
		replies, events, err := run(t, lines, Cmd("capture-pane", "-p"))
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
		c := Cmd("show", word)
		if strings.Contains(word, "\x00") != (c.err != nil) {
			t.Errorf("%q: %v", word, c.err)
		}
		if strings.ContainsAny(c.line, "\n\x00") {
			t.Errorf("%q became %q", word, c.line)
		}
	})
}
