package screen

import (
	"errors"
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/internal/agentcli"
)

var allOrders = flag.Bool("all-orders", false, "show every order of the options, also of dialogs with more than four")

// TestEveryOrderOfOptions shuffles the options of each recorded dialog, with the cursor on
// each of them, words them again and puts look-alikes beside them: the wanted one is chosen,
// wherever it stands, or no key is pressed. Of a dialog with more than four options it shows
// the orders that orders returns; the flag -all-orders adds the others.
func TestEveryOrderOfOptions(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(corpus, "*", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, path := range paths {
		want, rows := readFrame(t, path)
		rules := profileRules(t, filepath.Base(filepath.Dir(path)))
		d := NewSnapshot(Frame{Seq: 1, Rows: rows}).Dialog(rules)
		if want == "-" || d == nil || d.At < 0 || d.rule.IsForm() {
			continue
		}
		for _, order := range orders(labelsOf(d)) {
			for at := range order {
				shown++
				expectChoice(t, path, relabelled(rows, d, order, at), rules, want)
			}
		}
		for i := range d.Options { // a label is not there, or looks alike
			for _, other := range []string{"Something else", want + " and everything else", "Do not " + want} {
				labels := labelsOf(d)
				labels[i] = other
				shuffled := relabelled(rows, d, labels, i)
				got, keys, err := play(shuffled, rules)
				none := errors.Is(err, ErrUnknownLayout) && len(keys) == 0
				if !none && (err != nil || !wanted(rules, got)) {
					t.Errorf("%s: chose %q by %v (%v), want %q or no keys\n%s", path, got, keys, err, want, strings.Join(shuffled, "\n"))
				}
			}
		}
	}
	if shown < 100 {
		t.Errorf("only %d orders were shown", shown)
	}
}

func expectChoice(t *testing.T, path string, rows []string, rules Rules, want string) {
	t.Helper()
	got, keys, err := play(rows, rules)
	if err != nil || got != want && !wanted(rules, got) {
		t.Errorf("%s: chose %q by %v (%v), want %q\n%s", path, got, keys, err, want, strings.Join(rows, "\n"))
	}
}

// wanted reports whether a rule of the profile names exactly this label.
func wanted(rules Rules, label string) bool {
	for _, rule := range rules.Dialogs {
		for _, w := range rule.Want[agentcli.PolicyAccept] {
			if canonical(w) == canonical(label) {
				return true
			}
		}
	}
	return false
}

func labelsOf(d *Dialog) (labels []string) {
	for _, o := range d.Options {
		labels = append(labels, o.Label)
	}
	return labels
}

// relabelled draws the dialog with other labels, the highlighted row being at.
func relabelled(rows []string, d *Dialog, labels []string, at int) []string {
	rows = highlight(rows, d, at)
	if at == d.At {
		rows = append([]string(nil), rows...)
	}
	for i, o := range d.Options {
		head, tail, _ := strings.Cut(rows[o.Row], o.Label)
		rows[o.Row] = head + labels[i] + tail
	}
	return rows
}

// orders returns all orders of up to four labels. Of more labels it returns the rotations of
// the list and of its reverse, where each label has each position, and all exchanges of two labels.
func orders(labels []string) (some [][]string) {
	if len(labels) <= 4 || *allOrders {
		return permutations(labels)
	}
	reverse := slices.Clone(labels)
	slices.Reverse(reverse)
	for i := range labels {
		some = append(some, slices.Concat(labels[i:], labels[:i]), slices.Concat(reverse[i:], reverse[:i]))
		for j := range i {
			exchanged := slices.Clone(labels)
			exchanged[i], exchanged[j] = exchanged[j], exchanged[i]
			some = append(some, exchanged)
		}
	}
	return some
}

func permutations(labels []string) [][]string {
	if len(labels) <= 1 {
		return [][]string{labels}
	}
	var all [][]string
	for i := range labels {
		rest := append(append([]string(nil), labels[:i]...), labels[i+1:]...)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{labels[i]}, p...))
		}
	}
	return all
}
