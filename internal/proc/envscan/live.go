package envscan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/internal/proc"
)

// The environment variables of an agent's processes, in addition to the instance token.
const (
	// CityKey is the variable with the path of the city that an agent belongs to.
	CityKey    = "GC_CITY_PATH"
	sessionKey = "GC_SESSION"
	// SetupKey marks setup commands: their background processes belong to no agent.
	SetupKey = "GC_SETUP_COMMAND"
)

// Process is a live process of an agent of a city: the agent or a process that it started.
type Process struct {
	proc.Info
	Session string // name of the session
	Token   string // instance token
}

// LiveProcesses returns the live processes of this user that have the variables of an agent of the city in their environment:
// GC_CITY_PATH with this value, a session and an instance token. The calling process, its ancestors and setup commands are
// skipped. Processes that cannot be read are not in the result.
func LiveProcesses(city string) ([]Process, error) {
	if city == "" {
		return nil, nil
	}
	marked, err := proc.FindByEnv(CityKey, city)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("cannot search for processes of the city: %w", err)
	}
	mine := ancestors()
	var out []Process
	for _, m := range marked {
		if mine[m.PID] {
			continue
		}
		p, ok := processOf(m.Info)
		if ok {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	return out, nil
}

// processOf reads the variables of one process and reports whether it belongs to an agent.
func processOf(info proc.Info) (p Process, ok bool) {
	value := func(key string) string { v, _, _ := proc.EnvValue(info.PID, key); return v }
	p = Process{Info: info, Session: value(sessionKey), Token: value(markKey)}
	if p.Session == "" || p.Token == "" || value(SetupKey) != "" {
		return p, false
	}
	now, err := proc.Stat(info.PID)
	return p, err == nil && now.ID == info.ID // else the pid was reused meanwhile
}

// ancestors returns the pids of the calling process and its ancestors.
func ancestors() map[int]bool {
	mine := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !mine[pid]; {
		mine[pid] = true
		info, err := proc.Stat(pid)
		if err != nil {
			break
		}
		pid = info.PPID
	}
	return mine
}

// Searcher shares one search of all processes among concurrent callers. The zero value is ready to use. It is safe for
// concurrent use.
type Searcher struct {
	mu    sync.Mutex
	began time.Time
	city  string
	found []Process
}

// Agents returns the live processes of a session that lead a terminal session, as agents do. It uses a search that began after
// the call. If city is empty, it returns nothing.
func (s *Searcher) Agents(city, session string) ([]Process, error) {
	return s.search(city, session, func(p Process) bool { return p.SID == p.PID })
}

// Leaderless returns the live processes of a session whose terminal session has lost its leader. Processes that another process
// of the result has started are skipped.
func (s *Searcher) Leaderless(city, session string) ([]Process, error) {
	found, err := s.search(city, session, func(p Process) bool {
		_, err := proc.Stat(p.SID)
		return errors.Is(err, proc.ErrGone)
	})
	started := map[int]bool{}
	for _, p := range found {
		started[p.PID] = true
	}
	return slices.DeleteFunc(slices.Clone(found), func(p Process) bool { return started[p.PPID] }), err
}

// search returns the processes of the session for which keep returns true. It reuses a search that began after the call.
func (s *Searcher) search(city, session string, keep func(Process) bool) ([]Process, error) {
	if city == "" {
		return nil, nil
	}
	asked := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.city != city || !s.began.After(asked) {
		began := time.Now()
		found, err := LiveProcesses(city)
		if err != nil {
			return nil, err
		}
		s.began, s.city, s.found = began, city, found
	}
	var out []Process
	for _, p := range s.found {
		if p.Session == session && keep(p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// OrphanError reports an agent that runs and cannot be reached: its session has no files, and the process that could create
// them has exited.
type OrphanError struct {
	Session string
	PIDs    []int
}

func (e *OrphanError) Error() string {
	pids := strings.Trim(fmt.Sprint(e.PIDs), "[]")
	return fmt.Sprintf("an agent of session %q runs already (process %s) but cannot be reached any more; stop it with: kill %s", e.Session, pids, pids)
}

// PIDs returns the process IDs of processes.
func PIDs(processes []Process) []int {
	out := make([]int, 0, len(processes))
	for _, p := range processes {
		out = append(out, p.PID)
	}
	return out
}

// StopResult is the result of StopAll for one session.
type StopResult struct {
	Session   string
	Found     int
	Survivors []int
}

// maxParallelStops bounds how many processes are stopped in parallel.
const maxParallelStops = 16

// StopAll stops every process that [LiveProcesses] returns, with its descendants: it sends SIGTERM, then SIGKILL to processes
// that do not exit. It returns a result for each session that had processes.
func StopAll(ctx context.Context, city string) ([]StopResult, error) {
	live, err := LiveProcesses(city)
	if err != nil || len(live) == 0 {
		return nil, err
	}
	errs, turn := make([]error, len(live)), make(chan struct{}, maxParallelStops)
	var wg sync.WaitGroup
	for i, p := range live {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			if _, err := proc.KillTree(ctx, p.ID, nil); err != nil && !errors.Is(err, proc.ErrSurvivors) {
				errs[i] = fmt.Errorf("cannot stop process %d of session %q: %w", p.PID, p.Session, err)
			}
		})
	}
	wg.Wait()
	sessions := map[string]*StopResult{}
	for _, p := range live {
		e := sessions[p.Session]
		if e == nil {
			e = &StopResult{Session: p.Session}
			sessions[p.Session] = e
		}
		e.Found++
		if alive, err := proc.Alive(p.ID); alive || err != nil {
			e.Survivors = append(e.Survivors, p.PID)
		}
	}
	out := make([]StopResult, 0, len(sessions))
	for _, name := range slices.Sorted(maps.Keys(sessions)) {
		out = append(out, *sessions[name])
	}
	return out, errors.Join(errs...)
}
