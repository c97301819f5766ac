package overlay

import "slices"

// unmerge removes additions from the object in text, the last one first. It removes only values that are unchanged. What the
// user has added next to them stays.
func unmerge(text []byte, added []addition, gaps []gap) ([]byte, error) {
	if _, err := parseObject(text); err != nil {
		return nil, err
	}
	for _, a := range slices.Backward(added) {
		root, err := parseObject(text)
		if err != nil {
			return nil, err
		}
		if a.Item {
			text = removeItem(text, root, a, gaps)
		} else {
			text = removeMember(text, root, a, gaps)
		}
	}
	return text, nil
}

// removeItem removes the last item that equals the addition from its list.
func removeItem(text []byte, root *value, a addition, gaps []gap) []byte {
	list := root.find(a.Path)
	if list == nil || list.kind != array {
		return text
	}
	for i, item := range slices.Backward(list.items) {
		if item.canonical(text) == a.Value {
			starts := make([]int, len(list.items))
			ends := make([]int, len(list.items))
			for j, other := range list.items {
				starts[j], ends[j] = other.start, other.end
			}
			return removeSibling(text, list, span{i, starts, ends}, spaceAt(gaps, a.Path))
		}
	}
	return text
}

// removeMember removes an added member if its value is unchanged, or an added object or list if it is empty.
func removeMember(text []byte, root *value, a addition, gaps []gap) []byte {
	parentPath, key := a.Path[:len(a.Path)-1], a.Path[len(a.Path)-1]
	parent := root.find(parentPath)
	if parent == nil || parent.kind != object {
		return text
	}
	i, v := parent.lookup(key)
	holder := a.Value == ""
	if v == nil || holder && (v.kind == scalar || lastEnd(v) >= 0) || !holder && v.canonical(text) != a.Value {
		return text
	}
	starts := make([]int, len(parent.members))
	ends := make([]int, len(parent.members))
	for j, other := range parent.members {
		starts[j], ends[j] = other.start, other.value.end
	}
	return removeSibling(text, parent, span{i, starts, ends}, spaceAt(gaps, parentPath))
}

// span is one of several siblings and the positions of all of them.
type span struct {
	index        int
	starts, ends []int
}

// removeSibling removes one sibling together with its separator. If the object or list becomes empty, space is written between
// its brackets.
func removeSibling(text []byte, in *value, s span, space string) []byte {
	i, last := s.index, len(s.starts)-1
	switch {
	case i == 0 && last == 0:
		return slices.Concat(text[:in.start+1], []byte(space), text[in.end-1:])
	case i == 0:
		return slices.Concat(text[:s.starts[0]], text[s.starts[1]:])
	}
	return slices.Concat(text[:s.ends[i-1]], text[s.ends[i]:])
}

// spaceAt returns the recorded white space of the object or list at path.
func spaceAt(gaps []gap, path []string) string {
	for _, g := range gaps {
		if slices.Equal(g.Path, path) {
			return g.Space
		}
	}
	return ""
}
