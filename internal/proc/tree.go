package proc

import "slices"

// Tree returns a process and all its descendants, parents before children. A process that was re-parented to a process outside
// the tree is not included. The error is [ErrGone] if there is no such process. The cost depends on the tree and not on the
// number of processes of the machine, except on Darwin.
func Tree(root int) ([]Info, error) {
	tree, err := tree(root)
	if err == nil && len(tree) == 0 {
		err = ErrGone
	}
	if err != nil {
		return nil, &Error{Op: "list tree of", PID: root, Err: err}
	}
	return tree, nil
}

// AnyNamedInTree reports whether a live process of the tree has one of the names, see [Named]. Processes whose pid is in without
// do not count. An error means that no process is known to have a name, but some could not be checked. A process that has a
// name is found by one reading of the tree. For the result false the tree is read as by [Tree].
func AnyNamedInTree(root int, names []string, without ...int) (bool, error) {
	if seen, err := readTree(root); err == nil {
		if fits, _ := AnyNamed(Live(seen, without...), names); fits { // an error is found again below
			return true, nil
		}
	}
	tree, err := Tree(root)
	if err != nil {
		return false, err
	}
	return AnyNamed(Live(tree, without...), names)
}

// treeFromList returns the process root with all its descendants, from one list of all processes. The result is empty if
// the process does not exist.
func treeFromList(root int) ([]Info, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	return Descendants(all, root), nil
}

// Descendants returns a process and all its descendants from a list, parents before children and siblings by pid. It is empty
// if root is not in the list. A process that is older than its parent is not a child: the parent's pid was reused while the
// list was made.
func Descendants(all []Info, root int) []Info {
	at := slices.IndexFunc(all, func(i Info) bool { return i.PID == root })
	if at < 0 {
		return nil
	}
	byParent := make(map[int][]Info)
	for _, info := range all {
		if info.PID != root {
			byParent[info.PPID] = append(byParent[info.PPID], info)
		}
	}
	tree := []Info{all[at]}
	seen := map[int]bool{root: true}
	for next := 0; next < len(tree); next++ {
		parent := tree[next]
		kids := byParent[parent.PID]
		slices.SortFunc(kids, func(a, b Info) int { return a.PID - b.PID })
		for _, kid := range kids {
			if !seen[kid.PID] && kid.Start >= parent.Start {
				seen[kid.PID] = true
				tree = append(tree, kid)
			}
		}
	}
	return tree
}
