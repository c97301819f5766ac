package shim

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/vt"
)

// stateWith waits for a state in which ok is true.
func stateWith(t *testing.T, c *Client, what string, ok func(State) bool) State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for after := uint64(0); ; {
		s, err := c.State(ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if ok(s) {
			return s
		}
		waiting, stop := context.WithTimeout(ctx, 100*time.Millisecond) // what is not printed changes no frame
		if f, err := c.Frame(waiting, after); err == nil {
			after = f.Seq
		}
		stop()
	}
}

const say = `say() { printf '\033]%s\033\\' "$1"; }; `

// What a program says is kept with the time when it began to say so, and not beyond its
// life.
func TestSignsOfAProgram(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("signs", say+`say '7501;state=working:progress=1'; say '9;4;3;0'; say '133;A'; say '133;C'; say '7501;state=working'; say '9;4;1;5'
read a; say '7501;state=working:progress=50'; say '9;4;1;60'; printf one; read a; say '7501;state=dreaming'; say '7501;id=x:state=idle'; say '7501;state=blocked:kind=auth'; printf two
read a; say '7501;state=clear'; say '9;4;0'; say '133;D;0'; printf three; read a`))
	first := stateWith(t, c, "first", func(s State) bool { return s.Signs.Progress.Text == "1;5" })
	if s := first.Signs; s.Status.Text != "state=working" || s.Mark.Text != "C" || s.Status.Since.IsZero() || s.Mark.Since.IsZero() {
		t.Fatalf("signs %+v", s)
	}
	next := func(text string) vt.Signs {
		t.Helper()
		if err := c.Send(t.Context(), []byte("\r")); err != nil {
			t.Fatal(err)
		}
		return frameWith(t, c, text).Signs
	}
	s := next("one")
	if !s.Status.Since.Equal(first.Signs.Status.Since) || s.Status.Text != "state=working:progress=50" {
		t.Errorf("status %+v, want its age %v kept while it works on", s.Status, first.Signs.Status.Since)
	}
	if !s.Progress.Since.Equal(first.Signs.Progress.Since) || s.Progress.Text != "1;60" {
		t.Errorf("progress %+v, want its age %v kept", s.Progress, first.Signs.Progress.Since)
	}
	if s = next("two"); s.Status.Text != "state=blocked:kind=auth" || !s.Status.Since.After(first.Signs.Status.Since) {
		t.Errorf("status %+v, want the new one with its time", s.Status)
	}
	if s = next("three"); s.Status.Text != "" || s.Progress.Text != "" || s.Mark.Text != "D" {
		t.Errorf("signs %+v, want the mark alone", s)
	}
}

// What is said by a program that is no longer in the foreground does not count: not when it
// has ended, and not while another has the terminal.
func TestSignsEndWithTheirProgram(t *testing.T) {
	f := testFleet(t)
	s := spec("shell", "")
	s.Argv = []string{"/bin/bash", "--norc", "-i"}
	c := start(t, f, s)
	run := func(line string) {
		t.Helper()
		if err := c.Send(t.Context(), []byte(line+"\r")); err != nil {
			t.Fatal(err)
		}
	}
	run(`PS1='rea''dy> '; printf '\033]133;A\033\\'`)
	frameWith(t, c, "ready> ")
	run(`/bin/sh -c "printf '\033]7501;state=idle\033\\\\\033]9;4;3\033\\\\'; read x; /bin/sh -c 'exit 0'"`)
	during := stateWith(t, c, "the program says so", func(s State) bool { return s.Signs.Status.Text == "state=idle" })
	if during.Signs.Progress.Text == "" || during.Signs.Mark.Text != "" {
		t.Errorf("signs %+v, want those of the program and no mark of the shell around it", during.Signs)
	}
	run("")
	stateWith(t, c, "it has ended", func(s State) bool {
		return s.Signs.Status.Text == "" && s.Signs.Progress.Text == "" && s.Signs.Mark.Text == "A"
	})
}

// Nothing of a program is left when another one takes its place: neither what it said, nor
// what it drew.
func TestRelaunchForgetsSignsAndScreen(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("again", say+`say '7501;state=idle'; say '2;old title'; echo old words; say '9;4;3'; read a`))
	frameWith(t, c, "old words")
	l := leaseOf(t, c)
	if err := l.Begin(t.Context(), "a", "left", nil); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := c.Relaunch(t.Context(), []string{"/bin/sh", "-c", "echo new words; read a"}, time.Second); err != nil {
		t.Fatal(err)
	}
	frame := frameWith(t, c, "new words")
	if frame.Signs != (vt.Signs{}) || frame.Title != "" {
		t.Errorf("%+v and the title %q are left", frame.Signs, frame.Title)
	}
	screen := vt.New(frame.Cols, frame.Rows, nil)
	_, _ = screen.Write(frame.Redraw) // never fails
	if rows := strings.Join(screen.Rows(), "\n"); strings.Contains(rows, "old words") {
		t.Errorf("the screen still shows %q", rows)
	}
	if text, err := c.Text(t.Context(), 0); err != nil || !strings.Contains(text, "old words") {
		t.Errorf("%v: the scrollback lost what was printed: %q", err, text)
	}
	if e := entryOf(t, leaseOf(t, c), "a"); e.Open || e.Outcome != inject.OutcomeWithdrawn {
		t.Errorf("what was never submitted is %+v", e)
	}
}

// A program that asks whether its reports are read gets the answer.
func TestStatusHandshake(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("asks", say+`stty raw -echo; say '7501;?'; answer=$(head -c 10 | tr '\033\\' '<>'); echo "got $answer"; read a`))
	frameWith(t, c, "got <]7501;?<>")
}

// A change of what a program says is reported at once, a repetition is not.
func TestSignsAreTold(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("told", say+`read a; for n in 1 2 3; do say "7501;state=working:progress=$n"; say "9;4;1;$n"; done; say '133;C'; say '7501;state=idle'; read a`))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var told []string
	err := c.Events(ctx, func(e Event) {
		switch e.Kind {
		case EventState:
			if err := c.Send(ctx, []byte("\r")); err != nil {
				t.Error(err)
			}
		case EventStatus:
			if told = append(told, e.Text); e.Text == "state=idle" {
				cancel()
			}
		default:
		}
	})
	want := []string{"state=working:progress=1", "state=working:progress=1", "state=working:progress=3", "state=idle"}
	if strings.Join(told, " ") != strings.Join(want, " ") {
		t.Errorf("reported %q (%v), want %q", told, err, want)
	}
}

// What a person types is kept back for as long as the hold stands, and then arrives in
// order and whole.
func TestHoldKeepsTypingBack(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("hold", `stty raw -echo; echo go; exec cat`))
	frameWith(t, c, "go")
	conn := attach(t, c, AttachRequest{Cols: 80, Rows: 24})
	attached(t, c, 1)
	tests := map[string]func(release func()){
		"released": func(release func()) {
			if err := c.Send(t.Context(), []byte("<paste>")); err != nil {
				t.Fatal(err)
			}
			if err := c.Send(t.Context(), []byte("<enter>")); err != nil {
				t.Fatal(err)
			}
			release()
		},
		"run out": func(func()) {
			if err := c.Send(t.Context(), []byte("<paste><enter>")); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, act := range tests {
		t.Run(name, func(t *testing.T) {
			release, err := c.Hold(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			for _, key := range []string{"a", "b", "c"} {
				send(t, conn, AttachInput, []byte(key+name[:1]))
			}
			act(release)
			order := "<paste><enter>a" + name[:1] + "b" + name[:1] + "c" + name[:1]
			frame := frameWith(t, c, order)
			if frame.LastHuman.IsZero() {
				t.Error("the typing was not noted")
			}
		})
	}
	drain(t, conn)
}

// Holds of several deliveries take turns, and a person's input goes through between
// them.
func TestHoldsTakeTurns(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("turns", `stty raw -echo; echo go; exec cat`))
	frameWith(t, c, "go")
	conn := attach(t, c, AttachRequest{Cols: 80, Rows: 24})
	attached(t, c, 1)
	release, err := c.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, AttachInput, []byte("person"))
	second := make(chan func(), 1)
	go func() {
		r, err := c.Hold(t.Context())
		if err != nil {
			t.Error(err)
		}
		second <- r
	}()
	select {
	case <-second:
		t.Error("two holds at once")
	case <-time.After(50 * time.Millisecond):
	}
	release()
	r := <-second
	state, err := c.State(t.Context())
	if err != nil || state.LastHuman.IsZero() {
		t.Errorf("%v: the second hold did not let the person through first", err)
	}
	r()
	frameWith(t, c, "person")
	drain(t, conn)
}

// drain reads what a viewer is sent until it is closed, so that the shim never waits.
func drain(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}
