package overlay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// addition records one addition of a merge, so that it can be removed again.
type addition struct {
	// Path holds the keys from the top to the added member, or to the list that an item was added to.
	Path []string `json:"path"`
	// Item reports that Value is an item of the list at Path.
	Item bool `json:"item,omitempty"`
	// Value is the added value in canonical form. It is empty for an object or list that was created to contain further
	// additions; that one is removed when it is empty.
	Value string `json:"value,omitempty"`
}

// gap is the white space between the brackets of an empty object or list before something was added to it.
type gap struct {
	Path  []string `json:"path"`
	Space string   `json:"space"`
}

func (a addition) same(b addition) bool {
	return slices.Equal(a.Path, b.Path) && a.Item == b.Item && a.Value == b.Value
}

// merged is the result of a merge.
type merged struct {
	text      []byte
	added     []addition
	gaps      []gap
	conflicts []string // paths at which the user's value differs and is kept
}

// merge adds to the object in text everything that overlay has and text does not have. All bytes of text are kept, in their
// order. If overlay repeats a key, only its last value is added.
func merge(text, overlay []byte) (merged, error) {
	mine, err := parseObject(text)
	if err != nil {
		return merged{}, err
	}
	overlay, ours, err := withoutRepeats(overlay)
	if err != nil {
		return merged{}, err
	}
	m := &merger{text: text, overlay: overlay, layout: layoutOf(text, mine)}
	m.object(mine, ours, nil)
	return merged{m.apply(), m.added, m.gaps, m.conflicts}, nil
}

type merger struct {
	text, overlay []byte
	layout        layout
	edits         []edit
	added         []addition
	gaps          []gap
	conflicts     []string
}

// edit inserts text at offset at.
type edit struct {
	at   int
	text string
}

// apply returns the text with all edits applied.
func (m *merger) apply() []byte {
	slices.SortStableFunc(m.edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var out []byte
	last := 0
	for _, e := range m.edits {
		out = append(append(out, m.text[last:e.at]...), e.text...)
		last = e.at
	}
	return append(out, m.text[last:]...)
}

// object adds the members of ours that mine does not have. Objects and lists that both have are merged.
func (m *merger) object(mine, ours *value, path []string) {
	var missing []string
	for _, member := range ours.members {
		at := append(slices.Clone(path), member.key)
		_, existing := mine.lookup(member.key)
		switch {
		case existing == nil:
			quoted, err := json.Marshal(member.key)
			if err != nil {
				continue // cannot happen: a string can always be encoded
			}
			missing = append(missing, string(quoted)+": "+m.layout.render(m.overlay[member.value.start:member.value.end], len(at)))
			m.record(member.value, at)
		case existing.kind == object && member.value.kind == object:
			m.object(existing, member.value, at)
		case existing.kind == array && member.value.kind == array:
			m.list(existing, member.value, at)
		case existing.canonical(m.text) != member.value.canonical(m.overlay):
			m.conflicts = append(m.conflicts, strings.Join(at, "."))
		}
	}
	m.insert(mine, missing, path)
}

// list adds the items of ours that mine does not have.
func (m *merger) list(mine, ours *value, path []string) {
	var missing, seen []string
	for _, item := range mine.items {
		seen = append(seen, item.canonical(m.text))
	}
	for _, item := range ours.items {
		canonical := item.canonical(m.overlay)
		if slices.Contains(seen, canonical) {
			continue
		}
		seen = append(seen, canonical)
		missing = append(missing, m.layout.render(m.overlay[item.start:item.end], len(path)+1))
		m.added = append(m.added, addition{Path: path, Item: true, Value: canonical})
	}
	m.insert(mine, missing, path)
}

// record records a new member down to its single values. So what the user later adds next to them is not removed with them.
func (m *merger) record(v *value, path []string) {
	switch {
	case v.kind == object && len(v.members) > 0:
		m.added = append(m.added, addition{Path: path})
		for _, member := range v.members {
			m.record(member.value, append(slices.Clone(path), member.key))
		}
	case v.kind == array && len(v.items) > 0:
		m.added = append(m.added, addition{Path: path})
		for _, item := range v.items {
			m.added = append(m.added, addition{Path: path, Item: true, Value: item.canonical(m.overlay)})
		}
	default:
		m.added = append(m.added, addition{Path: path, Value: v.canonical(m.overlay)})
	}
}

// insert adds texts at the end of the object or list at path.
func (m *merger) insert(into *value, texts, path []string) {
	if len(texts) == 0 {
		return
	}
	depth := len(path)
	if parts := into.parts(); len(parts) > 0 {
		last := parts[len(parts)-1]
		separator := m.layout.separator(string(m.text[into.start+1:last.start]), depth)
		m.edits = append(m.edits, edit{last.end, separator + strings.Join(texts, separator)})
		return
	}
	before, between, after := m.layout.open(depth)
	m.edits = append(m.edits, edit{into.start + 1, before + strings.Join(texts, between) + after})
	if space := string(m.text[into.start+1 : into.end-1]); space != "" {
		m.gaps = append(m.gaps, gap{path, space})
	}
}

// layout is the formatting of a text.
type layout struct {
	newline string // empty if the text is on one line
	unit    string // one level of indentation
}

// layoutOf returns the line break and the indentation that a text uses.
func layoutOf(text []byte, root *value) layout {
	l := layout{"\n", "  "}
	if bytes.Contains(text, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	if len(root.members) == 0 {
		return l
	}
	inner := string(text[root.start+1 : root.members[0].start])
	newline := strings.LastIndexByte(inner, '\n')
	if newline < 0 {
		return layout{}
	}
	if inner[newline+1:] != "" {
		l.unit = inner[newline+1:]
	}
	return l
}

// render formats a JSON value in the style of an existing file: on one line, or indented as deep as its place in the
// file. A value that is not JSON is returned unchanged.
func (l layout) render(raw []byte, depth int) string {
	var b bytes.Buffer
	if l.newline == "" {
		if json.Compact(&b, raw) != nil {
			return string(raw)
		}
		return b.String()
	}
	if json.Indent(&b, raw, strings.Repeat(l.unit, depth), l.unit) != nil {
		return string(raw)
	}
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "\r\n", "\n"), "\n", l.newline)
}

// separator returns the text between two members of an object or list that has members. It has the same line breaks and
// indentation as the existing members. before is the text from the bracket to the last member.
func (l layout) separator(before string, depth int) string {
	newline := strings.LastIndexByte(before, '\n')
	if l.newline == "" || newline < 0 || strings.TrimLeft(before[newline+1:], " \t") != "" {
		return ", "
	}
	indent := before[newline+1:]
	if indent == "" {
		indent = strings.Repeat(l.unit, depth+1)
	}
	return "," + l.newline + indent
}

// open returns the text before, between and after new members of an object or list that was empty.
func (l layout) open(depth int) (before, between, after string) {
	if l.newline == "" {
		return "", ", ", ""
	}
	inner := l.newline + strings.Repeat(l.unit, depth+1)
	return inner, "," + inner, l.newline + strings.Repeat(l.unit, depth)
}
