package proc

import "slices"

// Tree returns a process and all its descendants, parents before children, from one list of all processes. A process that was
// re-parented to a process outside the tree is not included. The error is [ErrGone] if there is no such process.
func Tree(root int) ([]Info, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	tree := Descendants(all, root)
	if len(tree) == 0 {
		return nil, &Error{Op: "list tree of", PID: root, Err: ErrGone}
	}
	return tree, nil
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
