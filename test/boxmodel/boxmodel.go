// Package boxmodel models the input boxes of agent programs: what keys do to the text in a box,
// what the box shows, and what Enter submits. The property test of package inject delivers
// prompts into random models. The tests of real agent CLIs send the same keys to a model and to
// the CLI and compare the boxes, so a model is as true as what was compared.
package boxmodel

import (
	"math/rand/v2"
	"time"
)

// Clearing is what the clear key (C-u) of a box removes.
type Clearing int

// What the clear key removes.
const (
	ClearsAll Clearing = iota
	ClearsLine
	ClearsNothing
)

// Trimming is what Enter removes from both ends of a text, or from one.
type Trimming int

// What Enter removes.
const (
	TrimsNothing Trimming = iota
	TrimsEnd              // blanks and new lines at the end
	TrimsBoth             // at both ends
)

// Options are the ways in which input boxes of agent programs differ.
type Options struct {
	CLI        string        // the agent CLI that it is the model of; empty: none
	Style      string        // line, open, rules
	Folds      int           // a paste of at least so many bytes is shown by a placeholder; 0: never
	FoldLines  int           // a paste of at least so many lines is; 0: never
	FoldBlank  bool          // a blank follows the placeholder
	FoldTrims  bool          // a paste that is shown by a placeholder loses blanks and new lines at both ends, before it is measured
	OddFold    bool          // the placeholder is none that a profile knows
	Hides      bool          // shows nothing of what it holds
	Completes  string        // a last word that begins with one of these has a menu, which takes Enter
	Unmatched  string        // a word that begins with this has none
	Swallows   bool          // if the last change was behind such a word, its menu has no choice and Enter does nothing
	DropsBlank bool          // Enter empties a box that holds only blanks, and submits no text
	Continues  bool          // a backslash before Enter makes a new line
	Composes   bool          // combining characters become a part of their letter
	Strips     bool          // invisible characters are removed
	Replaces   bool          // those that change the direction of a text show as U+FFFD; an Enter removes them and does nothing else
	Vim        bool          // Escape goes to a mode in which keys are commands
	Echo       time.Duration // how late the box shows what it was sent
	Suggests   bool          // shows a placeholder text while it is empty
	Height     int           // rows of the box; more are not shown; 0: it grows beyond the screen
	NoBack     bool          // knows no backspace
	BackAlone  bool          // backspace removes a combining character, and leaves its letter
	Clears     Clearing
	Joins      bool // the clear key at the beginning of a line joins it to the one above
	DropsLine  bool // a key that removes all of the last line, if it was pasted with its line feed, removes that, too, and puts the cursor at the beginning of the line above
	NoColumn   bool // invisible characters have no column: behind the cursor if they are typed, and no key removes or passes them alone
	NoHome     bool // the keys Home and End do not move the cursor
	EndAgain   bool // C-e at the end of a line goes to the beginning of the next one
	Trims      Trimming
	NoPaste    bool          // does not ask for bracketed paste
	DropEnters int           // loses so many Enters
	FastLine   time.Duration // Enter so soon after text is a new line
	Turn       time.Duration // how long a turn takes
	TurnHides  bool          // shows no box and reads nothing during a turn
}

// Random returns the options of one run: of any box, or of a known agent CLI.
func Random(random *rand.Rand) Options {
	one := func(n int) bool { return random.IntN(n) == 0 }
	if one(5) {
		o, _ := Of([]string{"claude", "codex", "gemini", "opencode"}[random.IntN(4)])
		o.Echo, o.Turn = time.Duration(random.IntN(400))*time.Millisecond, time.Duration(random.IntN(1500))*time.Millisecond
		return o
	}
	o := Options{
		Style: []string{"line", "open", "rules"}[random.IntN(3)], OddFold: one(2), Hides: one(12), Continues: one(3),
		Composes: one(3), Strips: one(3), Vim: one(8), Suggests: one(3), NoBack: one(4), NoPaste: one(10),
		Clears: Clearing(random.IntN(3)), Turn: time.Duration(random.IntN(1500)) * time.Millisecond, TurnHides: one(4),
	}
	if one(3) {
		o.Folds = []int{1, 1, 30, 100}[random.IntN(4)]
	}
	if one(3) {
		o.Completes = "@/#!"
	}
	if one(2) {
		o.Echo = time.Duration(random.IntN(400)) * time.Millisecond
	}
	if one(2) {
		o.Height = 3 + random.IntN(6)
	}
	if one(6) {
		o.DropEnters = 1 + random.IntN(4)
	}
	if one(6) {
		o.FastLine = 60 * time.Millisecond
	}
	if o.Style != "line" { // these have a profile, whose keys are measured
		if o.Clears == ClearsNothing {
			o.Clears = ClearsAll
		}
		if o.Clears == ClearsLine {
			o.NoBack = false
		}
	}
	return o
}

// Removable reports whether a key removes what the box holds, and the box shows that.
func (o Options) Removable() bool {
	return !o.Hides && (!o.NoBack || o.Clears == ClearsAll)
}

// Of returns the model of the input box of a known agent CLI: what the tests of real agent CLIs
// have measured.
func Of(cli string) (Options, bool) {
	o, ok := map[string]Options{
		"claude": {Style: "rules", FoldLines: 4, Folds: 801, Composes: true, Strips: true, Replaces: true, Continues: true, Clears: ClearsLine, Joins: true, Trims: TrimsEnd},
		"codex":  {Style: "open", Folds: 1001, Completes: "@", Unmatched: "@zz9", Clears: ClearsLine, Joins: true, Trims: TrimsBoth},
		// The profile of opencode describes no box, so Style is that of another program.
		"opencode": {
			Style: "line", FoldLines: 3, Folds: 151, FoldBlank: true, FoldTrims: true, Completes: "@", Swallows: true, DropsBlank: true, Clears: ClearsLine, Joins: true,
			DropsLine: true, NoColumn: true, NoHome: true, EndAgain: true,
		},
		"gemini": {Style: "open", FoldLines: 6, Folds: 501, Strips: true, Continues: true, Completes: "@", Unmatched: "@zz9", Clears: ClearsLine, Trims: TrimsBoth},
	}[cli]
	o.CLI = cli
	return o, ok
}
