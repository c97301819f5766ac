package proc

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxReadings bounds the readings of a tree that changes all the time.
const maxReadings = 8

// tree returns a process and its descendants: the result of agreedTree, or else of a list of all processes. It is empty if there
// is no such process.
func tree(root int) ([]Info, error) {
	tree, agreed, err := agreedTree(root)
	if agreed || err != nil {
		return tree, err
	}
	return treeFromList(root)
}

// agreedTree reads a tree until two readings agree, at most maxReadings times. A reading can miss a process: the list of the
// children of a process can omit some of them while others exit (proc(5)), and a process whose parent exits gets another parent.
// In both cases a process or thread that the reading has listed is gone a moment later, or the next reading finds other parents.
// So the result is complete if two readings list the same processes with the same parents and all that they list exists. A pid
// that was reused has another start time. The tree is empty if there is no such process.
func agreedTree(root int) (tree []Info, agreed bool, err error) {
	if !hasChildren() {
		return nil, false, nil
	}
	var before treeReading
	for range maxReadings {
		now, err := readTreeOnce(root)
		if err != nil {
			return nil, false, err
		}
		if now.steady && before.steady && sameParents(before.tree, now.tree) {
			return now.tree, true, nil
		}
		before = now
	}
	return nil, false, nil
}

// readTree reads a tree once, parents before children and siblings by pid. A process may be missing in the result.
func readTree(root int) ([]Info, error) {
	if !hasChildren() {
		return treeFromList(root)
	}
	reading, err := readTreeOnce(root)
	return reading.tree, err
}

// treeReading is the result of one reading of a tree.
type treeReading struct {
	tree   []Info // parents before children, siblings by pid
	steady bool   // everything that was listed existed a moment later, with the same parent
}

// readTreeOnce reads the tree of processes below root once. The tree is empty if the process root does not exist.
func readTreeOnce(root int) (treeReading, error) {
	first, err := readStat(root)
	if errors.Is(err, ErrGone) {
		return treeReading{steady: true}, nil
	}
	if err != nil {
		return treeReading{}, err
	}
	r := treeReading{tree: []Info{first}, steady: true}
	seen := map[int]bool{root: true}
	for next := 0; next < len(r.tree); next++ {
		pids, steady, err := readChildren(r.tree[next].PID)
		if err != nil {
			return r, err
		}
		r.steady = r.steady && steady
		slices.Sort(pids)
		for _, pid := range pids {
			kid, err := readStat(pid)
			switch {
			case errors.Is(err, ErrGone) || err == nil && kid.PPID != r.tree[next].PID:
				r.steady = false
			case err != nil:
				return r, err
			case !seen[pid]: // two threads can list it
				seen[pid] = true
				r.tree = append(r.tree, kid)
			}
		}
	}
	return r, nil
}

// sameParents reports whether two readings found the same processes with the same parents.
func sameParents(a, b []Info) bool {
	parents := func(tree []Info) map[ID]int {
		m := make(map[ID]int, len(tree))
		for _, info := range tree {
			m[info.ID] = info.PPID
		}
		return m
	}
	return len(a) == len(b) && maps.Equal(parents(a), parents(b))
}

// hasChildren reports whether this kernel lists the children of a process.
func hasChildren() bool {
	return ignoringEINTR(func() error { return unix.Access("/proc/thread-self/children", unix.R_OK) }) == nil
}

// readChildren reads the children of all threads of a process. steady is false if a thread or the process has exited meanwhile.
func readChildren(pid int) (pids []int, steady bool, err error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	steady = true
	var space [1024]byte
	for _, thread := range threads {
		data, err := readAll(dir+"/"+thread.Name()+"/children", space[:0])
		if errors.Is(err, ErrGone) {
			steady = false // the children of this thread belong to another one now
			continue
		}
		if err != nil {
			return nil, false, err
		}
		for field := range strings.FieldsSeq(string(data)) {
			kid, err := strconv.Atoi(field)
			if err != nil {
				return nil, false, fmt.Errorf("malformed children file: %w", err)
			}
			pids = append(pids, kid)
		}
	}
	return pids, steady, nil
}
