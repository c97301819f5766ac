package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// stat reads the process by sysctl, which returns an empty list for a pid that does not exist.
func stat(pid int) (Info, error) {
	procs, err := kinfo("kern.proc.pid", pid)
	if err != nil {
		return Info{}, err
	}
	for i := range procs {
		if int(procs[i].Proc.P_pid) == pid {
			return convert(&procs[i]), nil
		}
	}
	return Info{}, ErrGone
}

// list returns all processes.
func list() ([]Info, error) {
	procs, err := kinfo("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	self := false
	all := make([]Info, len(procs))
	for i := range procs {
		all[i] = convert(&procs[i])
		self = self || all[i].PID == os.Getpid()
	}
	if !self {
		return nil, errors.New("list processes: the kernel's list does not show this process")
	}
	return all, nil
}

// kinfo calls sysctl and retries if the process table grows between its two steps.
func kinfo(name string, args ...int) ([]unix.KinfoProc, error) {
	var err error
	for range 10 {
		var procs []unix.KinfoProc
		procs, err = unix.SysctlKinfoProcSlice(name, args...)
		if err == nil {
			return procs, nil
		}
		if !errors.Is(err, unix.ENOMEM) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return nil, err
}

// convert returns the Info of a kernel record.
func convert(p *unix.KinfoProc) Info {
	info := Info{
		ID: ID{
			PID:   int(p.Proc.P_pid),
			Start: uint64(p.Proc.P_starttime.Sec)*1_000_000 + uint64(p.Proc.P_starttime.Usec),
		},
		PPID:  int(p.Eproc.Ppid),
		PGID:  int(p.Eproc.Pgid),
		Comm:  unix.ByteSliceToString(p.Proc.P_comm[:]),
		State: parseState(p.Proc.P_stat),
		UID:   int(p.Eproc.Ucred.Uid),

		Foreground: max(0, int(p.Eproc.Tpgid)),
	}
	// The kernel's record has no session ID. The call fails for a process that has exited.
	if sid, err := unix.Getsid(info.PID); err == nil {
		info.SID = sid
	}
	return info
}

// parseState converts p_stat of <sys/proc.h>.
func parseState(s int8) State {
	const idle, run, sleep, stop, zombie = 1, 2, 3, 4, 5
	switch s {
	case run, idle: // idle: being created
		return StateRunning
	case sleep:
		return StateSleeping
	case stop:
		return StateStopped
	case zombie:
		return StateZombie
	default:
		return StateUnknown
	}
}

// tree returns the tree of a process from one list of all processes, which the kernel makes at one moment.
func tree(root int) ([]Info, error)     { return treeFromList(root) }
func readTree(root int) ([]Info, error) { return treeFromList(root) }

// agreedTree agrees never: this system has no subreapers.
func agreedTree(int) ([]Info, bool, error) { return nil, false, nil }

// becomeSubreaper does nothing: this system has no subreapers.
func becomeSubreaper() error { return errors.ErrUnsupported }

func argv(pid int) ([]string, error) {
	args, _, err := procargs(pid)
	return args, err
}

func environ(pid int) ([]string, error) {
	_, env, err := procargs(pid)
	return env, err
}

// procargs reads the beginning of a process's stack: the number of arguments, the path of the program, padding, arguments,
// environment. The kernel returns the same error (EINVAL) for a process that does not exist, has exited, or may not be read.
func procargs(pid int) (args, env []string, err error) {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		info, statErr := stat(pid)
		switch {
		case statErr != nil:
			return nil, nil, statErr
		case info.Ended():
			return nil, nil, nil
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM):
			return nil, nil, fmt.Errorf("%w: %w", fs.ErrPermission, err)
		}
		return nil, nil, err
	}
	return parseProcargs(data)
}

// parseProcargs parses the data of kern.procargs2 into arguments and environment.
func parseProcargs(data []byte) (args, env []string, err error) {
	if len(data) < 4 {
		return nil, nil, nil
	}
	count := int(binary.LittleEndian.Uint32(data))
	rest := data[4:]
	path := bytes.IndexByte(rest, 0)
	if path < 0 {
		return nil, nil, errors.New("malformed arguments")
	}
	rest = bytes.TrimLeft(rest[path:], "\x00")
	all := strings.Split(string(rest), "\x00")
	if count < 0 || count > len(all) {
		return nil, nil, errors.New("malformed arguments")
	}
	args = all[:count:count]
	for _, entry := range all[count:] {
		if entry == "" {
			break // the environment ends here
		}
		env = append(env, entry)
	}
	return args, env, nil
}

// bootID returns a text that identifies the current boot of the machine: it is different after each boot.
func bootID() (string, error) {
	if id, err := unix.Sysctl("kern.bootsessionuuid"); err == nil && id != "" {
		return id, nil
	}
	raw, err := unix.SysctlRaw("kern.boottime")
	return fmt.Sprintf("%x", raw), err
}
