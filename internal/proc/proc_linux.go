package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// stat reads /proc/pid/stat. UID is the owner of /proc/pid, which is the effective user.
func stat(pid int) (Info, error) {
	info, err := readStat(pid)
	if !errors.Is(err, ErrGone) {
		return info, err
	}
	// A process that is hidden (hidepid) and a missing /proc look like a process that does not exist.
	switch err := unix.Kill(pid, 0); {
	case errors.Is(err, unix.ESRCH):
		return Info{}, ErrGone
	case errors.Is(err, unix.EPERM):
		return Info{}, fmt.Errorf("the process exists, but /proc does not show it: %w", os.ErrPermission)
	}
	info, err = readStat(pid) // the process has just started or exited
	if errors.Is(err, ErrGone) && unix.Kill(pid, 0) == nil {
		return Info{}, errors.New("the process exists, but /proc does not show it")
	}
	return info, err
}

// readStat reads one process from /proc. It returns ErrGone if /proc does not show it.
func readStat(pid int) (Info, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	var owner unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Stat(dir, &owner) }); err != nil {
		return Info{}, missingToErrGone(err)
	}
	var space [1024]byte
	data, err := readAll(dir+"/stat", space[:0])
	if err != nil {
		return Info{}, err
	}
	info, err := parseStat(data)
	info.UID = int(owner.Uid)
	return info, err
}

// parseStat parses the text of a stat file: pid (comm) state ppid pgrp session ... The comm may contain any byte, also
// parentheses and newlines; it ends at the last parenthesis.
func parseStat(data []byte) (Info, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 2 || end < open || end+2 > len(data) {
		return Info{}, errors.New("the stat file of the process cannot be parsed")
	}
	fields := bytes.Fields(data[end+1:])
	const state, ppid, pgrp, session, foreground, threads, start = 0, 1, 2, 3, 5, 17, 19
	if len(fields) <= start {
		return Info{}, errors.New("the stat file of the process has too few fields")
	}
	var p fieldParser
	info := Info{
		ID:   ID{PID: p.number(bytes.TrimSpace(data[:open])), Start: p.unsigned(fields[start])},
		PPID: p.number(fields[ppid]), PGID: p.number(fields[pgrp]), SID: p.number(fields[session]),
		Comm:  string(data[open+1 : end]),
		State: parseState(fields[state][0]), Foreground: max(0, p.number(fields[foreground])),
	}
	// A process whose first thread has exited looks like a zombie while its other threads run.
	if info.State == StateZombie && p.number(fields[threads]) > 1 {
		info.State = StateSleeping
	}
	if p.err != nil {
		return Info{}, fmt.Errorf("malformed stat file: %w", p.err)
	}
	return info, nil
}

// fieldParser converts numbers and joins the errors of all conversions.
type fieldParser struct{ err error }

func (p *fieldParser) number(text []byte) int {
	n, err := strconv.Atoi(string(text))
	p.err = errors.Join(p.err, err)
	return n
}

func (p *fieldParser) unsigned(text []byte) uint64 {
	n, err := strconv.ParseUint(string(text), 10, 64)
	p.err = errors.Join(p.err, err)
	return n
}

// parseState converts the state letter of a stat file.
func parseState(c byte) State {
	switch c {
	case 'R':
		return StateRunning
	case 'S', 'D', 'I', 'K', 'W', 'P':
		return StateSleeping
	case 'T', 't':
		return StateStopped
	case 'Z':
		return StateZombie
	case 'X', 'x':
		return StateDead
	default:
		return StateUnknown
	}
}

// list returns all processes that /proc shows.
func list() ([]Info, error) {
	names, err := pids()
	if err != nil {
		return nil, err
	}
	all := make([]Info, 0, len(names))
	for _, pid := range names {
		info, err := readStat(pid)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return nil, &Error{Op: "stat", PID: pid, Err: err}
		}
		all = append(all, info)
	}
	return all, nil
}

// pids returns the numeric names in /proc. If the calling process itself is missing (a masked or missing /proc), it returns an
// error instead of an empty list.
func pids() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	pids := make([]int, 0, len(names))
	self := false
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
			self = self || pid == os.Getpid()
		}
	}
	if !self {
		return nil, errors.New("list processes: /proc does not show this process; is it mounted for this pid namespace?")
	}
	return pids, nil
}

func argv(pid int) ([]string, error)    { return readStrings(pid, "cmdline") }
func environ(pid int) ([]string, error) { return readStrings(pid, "environ") }

// readStrings reads a file of NUL-terminated strings.
func readStrings(pid int, file string) ([]string, error) {
	data, err := readAll("/proc/"+strconv.Itoa(pid)+"/"+file, nil)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00"), nil
}

// bootID returns a text that identifies the current boot of the machine: it is different after each boot.
func bootID() (string, error) {
	data, err := readAll("/proc/sys/kernel/random/boot_id", nil)
	return strings.TrimSpace(string(data)), err
}

// readAll reads a file of /proc and appends it to buf. It does not use package os, which would register each file with the
// poller.
func readAll(path string, buf []byte) ([]byte, error) {
	fd, err := openRead(path)
	if err != nil {
		return nil, missingToErrGone(err)
	}
	defer unix.Close(fd)
	for {
		if cap(buf)-len(buf) < 512 {
			buf = append(make([]byte, 0, max(4096, 2*cap(buf))), buf...)
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, missingToErrGone(err)
		case n == 0:
			return buf, nil
		default:
			buf = buf[:len(buf)+n]
		}
	}
}

// openRead opens a file for reading and retries after EINTR.
func openRead(path string) (int, error) {
	var fd int
	err := ignoringEINTR(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// ignoringEINTR repeats a system call as long as a signal interrupts it, and returns its first other result.
func ignoringEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// missingToErrGone returns ErrGone for an error that means that the process does not exist, and every other error
// unchanged.
func missingToErrGone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return err
}
