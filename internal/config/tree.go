package config

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// kind is the type of a TOML value.
type kind int

const (
	tableKind kind = iota
	arrayKind
	stringKind
	integerKind
	floatKind
	boolKind
	dateKind
)

// String returns the kind with its article, for messages.
func (k kind) String() string {
	return [...]string{"a table", "an array", "a string", "an integer", "a float", "a boolean", "a date"}[k]
}

// node is a TOML value with its position in the file.
type node struct {
	kind    kind
	at      Origin   // the value
	text    string   // of a scalar; strings are unquoted
	entries []*entry // of a table, in the order of the file
	items   []*node  // of an array
}

// entry is a key of a TOML table, with its value.
type entry struct {
	name  string
	at    Origin // the key
	value *node
}

// entry returns the key with a name; nil if the table does not have it.
func (n *node) entry(name string) *entry {
	for _, e := range n.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

// treeBuilder builds the tree of values from what the TOML parser returns.
type treeBuilder struct {
	file   string
	source []byte
	lines  []int // where each line begins
	parser *unstable.Parser
	root   *node
	table  *node // the table of the last header
}

// byteOrderMark is a character that some editors write at the beginning of a file. TOML does not
// allow it.
const byteOrderMark = "\ufeff"

// parseTree parses a TOML text into a tree. It first checks the limits, and then with the decoder
// that the text is valid, because the parser for the tree requires a valid text.
func parseTree(file string, source []byte) (*node, *Error) {
	if bytes.HasPrefix(source, []byte(byteOrderMark)) {
		e := locate(source, originAt(file, source, 0))
		e.Message, e.Hint = "the file begins with a byte order mark", "save it as UTF-8 without one"
		return nil, e
	}
	if err := checkLimits(file, source); err != nil {
		return nil, err
	}
	var checked map[string]any
	if err := toml.Unmarshal(source, &checked); err != nil {
		return nil, syntaxError(file, source, err)
	}
	b := &treeBuilder{file: file, source: source, parser: &unstable.Parser{}, root: &node{}}
	b.table = b.root
	b.lines = []int{0}
	for i, c := range source {
		if c == '\n' {
			b.lines = append(b.lines, i+1)
		}
	}
	b.parser.Reset(source)
	for b.parser.NextExpression() {
		b.add(b.parser.Expression())
	}
	if err := b.parser.Error(); err != nil {
		return nil, syntaxError(file, source, err)
	}
	return b.root, nil
}

// syntaxError returns an error of the TOML decoder as a mistake with a position.
func syntaxError(file string, source []byte, err error) *Error {
	e := &Error{File: file}
	if located, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := located.Position()
		e, err = ErrorIn(file, source, row, column), located
	}
	e.Message = strings.TrimPrefix(err.Error(), "toml: ")
	return e
}

// offsetOf returns the offset of a position in a text. row and column count from 1; column counts
// bytes.
func offsetOf(source []byte, row, column int) int {
	offset := 0
	for range row - 1 {
		next := strings.IndexByte(string(source[offset:]), '\n')
		if next < 0 {
			break
		}
		offset += next + 1
	}
	return min(offset+max(0, column-1), len(source))
}

// add adds one expression of the parser, a header or a key with its value, to the tree.
func (b *treeBuilder) add(expression *unstable.Node) {
	switch expression.Kind {
	case unstable.Table:
		b.table = b.descend(b.root, expression.Key()).value
	case unstable.ArrayTable:
		e := b.descend(b.root, expression.Key())
		e.value.kind = arrayKind
		b.table = &node{at: e.at}
		if n := len(e.value.items); n > 0 { // the header of a later element
			b.table.at = b.origin(lastKey(expression.Key()))
		}
		e.value.items = append(e.value.items, b.table)
	case unstable.KeyValue:
		b.addPair(b.table, expression)
	default: // comments
	}
}

// lastKey returns the last part of a dotted key.
func lastKey(keys unstable.Iterator) *unstable.Node {
	var last *unstable.Node
	for keys.Next() {
		last = keys.Node()
	}
	return last
}

// descend follows a dotted key from a table on, adds the parts that do not exist yet, and returns
// the entry of the last part. At an array of tables it continues in the last element, except at the
// end of the key.
func (b *treeBuilder) descend(table *node, keys unstable.Iterator) *entry {
	for {
		keys.Next()
		key := keys.Node()
		e := table.entry(string(key.Data))
		if e == nil {
			at := b.origin(key)
			e = &entry{name: string(key.Data), at: at, value: &node{at: at}}
			table.entries = append(table.entries, e)
		}
		if keys.IsLast() {
			return e
		}
		table = e.value
		if n := len(table.items); n > 0 {
			table = table.items[n-1]
		}
	}
}

// addPair adds a key and its value to a table.
func (b *treeBuilder) addPair(table *node, pair *unstable.Node) {
	last := lastKey(pair.Key())
	e := b.descend(table, pair.Key())
	e.value = b.value(pair.Value(), b.afterEquals(last))
}

// afterEquals returns the position of the first character after a key, the equals sign and blanks.
func (b *treeBuilder) afterEquals(key *unstable.Node) Origin {
	offset := int(key.Raw.Offset + key.Raw.Length)
	for offset < len(b.source) && strings.IndexByte(" \t=", b.source[offset]) >= 0 {
		offset++
	}
	return b.originAt(offset, 1)
}

// value returns the node for a value of the parser. fallback is its position if the parser does not
// know one.
func (b *treeBuilder) value(v *unstable.Node, fallback Origin) *node {
	n := &node{kind: kindOf(v.Kind), at: fallback, text: string(v.Data)}
	if v.Raw.Length > 0 {
		n.at = b.origin(v)
	}
	children := v.Children()
	for children.Next() {
		switch child := children.Node(); {
		case n.kind == arrayKind && child.Kind != unstable.Comment:
			n.items = append(n.items, b.value(child, n.at))
		case n.kind == tableKind && child.Kind == unstable.KeyValue:
			b.addPair(n, child)
		}
	}
	return n
}

// origin returns the position in the file of a node of the parser.
func (b *treeBuilder) origin(n *unstable.Node) Origin {
	return b.originAt(int(n.Raw.Offset), int(n.Raw.Length))
}

// originAt returns the same as the function [originAt], from an index of the lines. That is faster
// for many positions in one text.
func (b *treeBuilder) originAt(offset, length int) Origin {
	offset = min(max(offset, 0), len(b.source))
	line, found := slices.BinarySearch(b.lines, offset)
	if !found {
		line--
	}
	return Origin{File: b.file, Line: line + 1, Column: columnAt(b.source, b.lines[line], offset), offset: offset, length: length}
}

// kindOf returns the kind of TOML value that a node of the parser is.
func kindOf(k unstable.Kind) kind {
	switch k {
	case unstable.String:
		return stringKind
	case unstable.Bool:
		return boolKind
	case unstable.Integer:
		return integerKind
	case unstable.Float:
		return floatKind
	case unstable.Array:
		return arrayKind
	case unstable.InlineTable:
		return tableKind
	default:
		return dateKind
	}
}
