package inject

import (
	"errors"
	"strings"
	"testing"
)

// What goes before other input, and what is refused after it: input is deleted, marked
// or submitted only by its sender.
func TestTouch(t *testing.T) {
	const undo = "<undo>"
	type act = func(t *testing.T, d *DeliveryLog)
	send := func(in Input) act {
		return func(t *testing.T, d *DeliveryLog) {
			t.Helper()
			if err := d.Send(in, []byte("\x7f\x7f\x7f")); err != nil {
				t.Fatalf("%q: %v", in, err)
			}
		}
	}
	clear := func(keys string) act {
		return func(t *testing.T, d *DeliveryLog) {
			t.Helper()
			if err := d.Send(InputClear, []byte(keys)); err != nil {
				t.Fatalf("%q: %v", keys, err)
			}
		}
	}
	taint := func(_ *testing.T, d *DeliveryLog) { d.Taint() }
	touch := func(_ *testing.T, d *DeliveryLog) { d.Touch() }
	read := func(_ *testing.T, d *DeliveryLog) { d.Account("a") }
	tests := map[string]struct {
		acts   []act
		undo   string
		unread bool // before the touch
		unsent bool

		tainted bool // somebody typed without asking
		behind  bool // somebody typed before, and the box has shown no text
	}{
		"nothing sent":                {unsent: true},
		"nothing sent, died":          {unsent: true},
		"a mark":                      {acts: []act{send(InputProbe)}, undo: "\x7f\x7f\x7f", unsent: true},
		"two marks, died":             {acts: []act{send(InputProbe), send(InputProbe)}, undo: "\x7f\x7f\x7f\x7f\x7f\x7f", unsent: true},
		"a mark taken away":           {acts: []act{send(InputProbe), send(InputClear)}, unsent: true},
		"a mark taken away in part":   {acts: []act{send(InputProbe), clear("\x7f")}, undo: "\x7f\x7f", unsent: true},
		"and by another key":          {acts: []act{send(InputProbe), clear("\x7f"), clear("\x15")}, undo: "\x7f\x7f", unsent: true},
		"taken away one by one":       {acts: []act{send(InputProbe), clear("\x7f"), clear("\x7f\x7f")}, unsent: true},
		"a mark, then a person":       {acts: []act{send(InputProbe), taint}, unread: true, unsent: true, tainted: true},
		"the text":                    {acts: []act{send(InputText)}, undo: undo},
		"behind what may be hidden":   {acts: []act{send(InputText)}, undo: strings.Repeat("\x7f", len("text")), behind: true},
		"the same, then a mark":       {acts: []act{send(InputText), send(InputProbe)}, undo: strings.Repeat("\x7f", len("text")+len(InputMark)), behind: true},
		"a text that was seen":        {acts: []act{send(InputText), send(InputSeen)}, undo: undo, behind: true},
		"the text as keys":            {acts: []act{send(InputKeys)}, undo: undo},
		"entered, under way":          {acts: []act{send(InputText), send(InputSeen)}, undo: undo},
		"entered, died":               {acts: []act{send(InputText), send(InputEnter)}, undo: undo},
		"entered, marked":             {acts: []act{send(InputText), send(InputEnter), send(InputProbe)}, undo: undo},
		"touched before":              {acts: []act{send(InputText), touch}, unread: true},
		"touched before, then a mark": {acts: []act{send(InputText), touch, read, send(InputProbe)}, undo: "\x7f\x7f\x7f", unread: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := &DeliveryLog{logState: logState{Shows: !test.behind}}
			d.Touch()
			if !d.Account("a").Unread {
				t.Error("input of others is not unread")
			}
			d.Begin("a", []byte("text"), []byte(undo))
			d.Unread = false
			for _, act := range test.acts {
				act(t, d)
			}
			if got := d.Account("a"); got.Unread != test.unread || got.Asked.Unsent != test.unsent {
				t.Errorf("%+v", got)
			}
			if got := string(d.Touch()); got != test.undo {
				t.Errorf("%q goes before it, want %q", got, test.undo)
			}
			if e := d.Account("a").Asked; !e.Touched || e.Marks != 0 || e.Undone != (!test.unsent && !test.tainted) {
				t.Errorf("%+v", e)
			}
			d.Touch()
			for _, in := range []Input{InputText, InputEnter, InputSeen, InputProbe, InputClear} {
				if err := d.Send(in, nil); !errors.Is(err, ErrTouched) {
					t.Errorf("%q after other input: %v", in, err)
				}
			}
			read(t, d)
			for _, in := range []Input{InputProbe, InputClear} {
				if err := d.Send(in, nil); err != nil {
					t.Errorf("%q, knowing of it: %v", in, err)
				}
			}
			if err := d.Send("another", nil); !errors.Is(err, ErrInput) {
				t.Errorf("an unknown input: %v", err)
			}
		})
	}
}

// What is known not to have been sent is taken back.
func TestNotSent(t *testing.T) {
	d := &DeliveryLog{}
	d.NotSent(InputEnter)
	d.Begin("a", []byte("text"), nil)
	for _, in := range []Input{InputProbe, InputText, InputSeen} {
		if err := d.Send(in, nil); err != nil {
			t.Fatal(err)
		}
		d.NotSent(in)
		if e := d.Account("a").Asked; in == InputText && !e.Unsent {
			t.Errorf("%+v", e)
		}
	}
	if e := d.Account("a").Asked; e.Unsent || e.Entered || e.Seen || e.Marks != 0 {
		t.Errorf("%+v", e)
	}
	if err := d.Send(InputClear, nil); err != nil {
		t.Error(err)
	}
	d.RecordOutcome(DeliveryEntry{ID: "a"})
	if err := d.Send(InputClear, nil); err != nil {
		t.Errorf("what a program put back into its line: %v", err)
	}
	if err := d.Send(InputText, nil); !errors.Is(err, ErrNoDelivery) {
		t.Errorf("a text of no delivery: %v", err)
	}
}
