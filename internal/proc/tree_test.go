package proc

import (
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Descend against the obvious definition: a process is in the tree if following its
// parents leads to the root.
func TestDescendFindsExactlyTheDescendants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		all := make([]Info, n)
		for i := range all {
			all[i] = Info{ID: ID{PID: i + 1, Start: uint64(i)}, PPID: rapid.IntRange(0, i).Draw(t, "parent")}
		}
		shuffled := rapid.Permutation(all).Draw(t, "order")
		root := rapid.IntRange(1, n).Draw(t, "root")
		tree := Descendants(slices.Clone(shuffled), root)
		place := map[int]int{}
		for i, info := range tree {
			if _, twice := place[info.PID]; twice {
				t.Fatalf("process %d is listed twice", info.PID)
			}
			place[info.PID] = i
			if at, ok := place[info.PPID]; info.PID != root && (!ok || at >= i) {
				t.Fatalf("process %d stands before its parent", info.PID)
			}
		}
		for _, info := range all {
			pid := info.PID
			for pid > root {
				pid = all[pid-1].PPID
			}
			if _, got := place[info.PID]; got != (pid == root) {
				t.Fatalf("process %d in tree of %d: %v", info.PID, root, got)
			}
		}
	})
}

func TestDescendDistrustsImpossibleParents(t *testing.T) {
	all := []Info{
		{ID: ID{1, 1}, PPID: 2}, // a cycle
		{ID: ID{2, 2}, PPID: 1},
		{ID: ID{3, 1}, PPID: 2}, // older than its parent
		{ID: ID{4, 4}, PPID: 2},
		{ID: ID{5, 5}, PPID: 5}, // its own parent
	}
	var got []int
	for _, info := range Descendants(all, 2) {
		got = append(got, info.PID)
	}
	if !slices.Equal(got, []int{2, 4}) {
		t.Errorf("tree of 2 is %v, want [2 4]", got)
	}
	if tree := Descendants(all, 6); tree != nil {
		t.Errorf("tree of a process that is not there is %v", tree)
	}
	if tree := Descendants(all, 5); len(tree) != 1 {
		t.Errorf("tree of 5 is %v", tree)
	}
}

func TestTreeOfRealProcesses(t *testing.T) {
	h := start(t, "child,setsid,daemon,sleep")
	h.ready(t, 4)
	tree, err := Tree(h.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree) != 3 || tree[0].PID != h.cmd.Process.Pid { // the daemon has left the tree
		t.Errorf("tree is %+v, want the root and its 2 children", tree)
	}
	own, err := Tree(os.Getpid())
	if err != nil || !slices.ContainsFunc(own, func(i Info) bool { return i.ID == tree[2].ID }) {
		t.Errorf("tree of the test does not hold its grandchild (%v)", err)
	}
}
