package journal

import (
	"errors"
	"testing"
)

// What goes before other input, and what is refused after it: nobody's input is deleted,
// marked or submitted but by who sent it.
func TestTouch(t *testing.T) {
	const undo = "<undo>"
	type act = func(t *testing.T, d *Deliveries)
	send := func(in Input) act {
		return func(t *testing.T, d *Deliveries) {
			t.Helper()
			if err := d.Send(in); err != nil {
				t.Fatalf("%q: %v", in, err)
			}
		}
	}
	touch := func(_ *testing.T, d *Deliveries) { d.Touch() }
	read := func(_ *testing.T, d *Deliveries) { d.Account("a") }
	tests := map[string]struct {
		acts   []act
		undo   string
		unread bool // before the touch
		unsent bool
	}{
		"nothing sent":                {unsent: true},
		"nothing sent, died":          {unsent: true},
		"a mark":                      {acts: []act{send(Probe)}, undo: "\x7f\x7f\x7f", unsent: true},
		"two marks, died":             {acts: []act{send(Probe), send(Probe)}, undo: "\x7f\x7f\x7f\x7f\x7f\x7f", unsent: true},
		"a mark taken away":           {acts: []act{send(Probe), send(Clear)}, unsent: true},
		"the text":                    {acts: []act{send(Text)}, undo: undo},
		"the text as keys":            {acts: []act{send(Keys)}, undo: undo},
		"entered, under way":          {acts: []act{send(Text), send(Seen)}, undo: undo},
		"entered, died":               {acts: []act{send(Text), send(Enter)}, undo: undo},
		"entered, marked":             {acts: []act{send(Text), send(Enter), send(Probe)}, undo: undo},
		"touched before":              {acts: []act{send(Text), touch}, unread: true},
		"touched before, then a mark": {acts: []act{send(Text), touch, read, send(Probe)}, undo: "\x7f\x7f\x7f", unread: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := &Deliveries{}
			d.Touch()
			if !d.Account("a").Unread {
				t.Error("input of others is not unread")
			}
			d.Begin("a", []byte("text"), []byte(undo))
			d.unread = false
			for _, act := range test.acts {
				act(t, d)
			}
			if got := d.Account("a"); got.Unread != test.unread || got.Asked.Unsent != test.unsent {
				t.Errorf("%+v", got)
			}
			if got := string(d.Touch()); got != test.undo {
				t.Errorf("%q goes before it, want %q", got, test.undo)
			}
			if e := d.Account("a").Asked; !e.Touched || e.Marks != 0 || e.Undone != (test.undo == undo || test.unread) {
				t.Errorf("%+v", e)
			}
			d.Touch()
			for _, in := range []Input{Text, Enter, Seen, Probe, Clear} {
				if err := d.Send(in); !errors.Is(err, ErrTouched) {
					t.Errorf("%q after other input: %v", in, err)
				}
			}
			read(t, d)
			for _, in := range []Input{Probe, Clear} {
				if err := d.Send(in); err != nil {
					t.Errorf("%q, knowing of it: %v", in, err)
				}
			}
			if err := d.Send("another"); !errors.Is(err, ErrInput) {
				t.Errorf("an unknown input: %v", err)
			}
		})
	}
}

// What is known not to have been sent is taken back.
func TestNotSent(t *testing.T) {
	d := &Deliveries{}
	d.NotSent(Enter)
	d.Begin("a", []byte("text"), nil)
	for _, in := range []Input{Probe, Text, Seen} {
		if err := d.Send(in); err != nil {
			t.Fatal(err)
		}
		d.NotSent(in)
		if e := d.Account("a").Asked; in == Text && !e.Unsent {
			t.Errorf("%+v", e)
		}
	}
	if e := d.Account("a").Asked; e.Unsent || e.Entered || e.Seen || e.Marks != 0 {
		t.Errorf("%+v", e)
	}
	if err := d.Send(Clear); err != nil {
		t.Error(err)
	}
	d.Settle(Entry{ID: "a"})
	if err := d.Send(Clear); err != nil {
		t.Errorf("what a program put back into its line: %v", err)
	}
	if err := d.Send(Text); !errors.Is(err, ErrNoDelivery) {
		t.Errorf("a text of no delivery: %v", err)
	}
}
