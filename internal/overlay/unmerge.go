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
			return removePart(text, list, i, spaceAt(gaps, a.Path))
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
	if v == nil || holder && (v.kind == scalar || len(v.parts()) > 0) || !holder && v.canonical(text) != a.Value {
		return text
	}
	return removePart(text, parent, i, spaceAt(gaps, parentPath))
}

// removePart removes the member or item with the index i of an object or list, together with its separator. If nothing is left,
// space is written between the brackets.
func removePart(text []byte, in *value, i int, space string) []byte {
	parts := in.parts()
	switch {
	case len(parts) == 1:
		return slices.Concat(text[:in.start+1], []byte(space), text[in.end-1:])
	case i == 0:
		return slices.Concat(text[:parts[0].start], text[parts[1].start:])
	}
	return slices.Concat(text[:parts[i-1].end], text[parts[i].end:])
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
