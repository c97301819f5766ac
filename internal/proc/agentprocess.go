package proc

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
)

// The environment variables of an agent's processes.
const (
	CityKey    = "GC_CITY_PATH"      // the path of the city that the agent belongs to
	SessionKey = "GC_SESSION"        // the name of the session
	TokenKey   = "GC_INSTANCE_TOKEN" // the instance token
	// SetupKey marks setup commands. Their background processes belong to no agent and never block a later start of the session.
	SetupKey = "GC_SETUP_COMMAND"
)

// AgentProcess is a live process of an agent of a city: the agent or a process that it started.
type AgentProcess struct {
	Info
	Session string // name of the session
	Token   string // instance token
}

// AgentProcesses returns the live processes of this user that have the variables of an agent of the city in their environment:
// GC_CITY_PATH with this value, a session and an instance token. The calling process, its ancestors and setup commands are
// skipped. Processes that cannot be read are not in the result.
func (s *AgentScanner) AgentProcesses(city string) ([]AgentProcess, error) {
	if city == "" {
		return nil, nil
	}
	marked, err := s.FindByEnv(CityKey, city)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("cannot search for processes of the city: %w", err)
	}
	mine := Ancestors()
	var out []AgentProcess
	for _, m := range marked {
		p := AgentProcess{Info: m.Info, Session: m.Get(SessionKey), Token: m.Get(TokenKey)}
		if !mine[m.PID] && p.Session != "" && p.Token != "" && m.Get(SetupKey) == "" {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b AgentProcess) int { return cmp.Compare(a.PID, b.PID) })
	return out, nil
}

// AgentProcesses is [AgentScanner.AgentProcesses] with a scan of its own.
func AgentProcesses(city string) ([]AgentProcess, error) {
	return new(AgentScanner).AgentProcesses(city)
}

// Ancestors returns the pids of the calling process and its ancestors.
func Ancestors() map[int]bool {
	mine := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !mine[pid]; {
		mine[pid] = true
		info, err := Stat(pid)
		if err != nil {
			break
		}
		pid = info.PPID
	}
	return mine
}

// Agents returns the agents of a session: those of its live processes that are the leader of a POSIX session. If city is empty,
// it returns nothing.
func (s *AgentScanner) Agents(city, session string) ([]AgentProcess, error) {
	return s.search(city, session, func(p AgentProcess) bool { return p.SID == p.PID })
}

// Leaderless returns the live processes of a session whose POSIX session has lost its leader. Processes that another process
// of the result has started are skipped.
func (s *AgentScanner) Leaderless(city, session string) ([]AgentProcess, error) {
	found, err := s.search(city, session, func(p AgentProcess) bool {
		_, err := Stat(p.SID)
		return errors.Is(err, ErrGone)
	})
	started := map[int]bool{}
	for _, p := range found {
		started[p.PID] = true
	}
	return slices.DeleteFunc(slices.Clone(found), func(p AgentProcess) bool { return started[p.PPID] }), err
}

// search returns the live processes of the session for which keep returns true.
func (s *AgentScanner) search(city, session string, keep func(AgentProcess) bool) ([]AgentProcess, error) {
	found, err := s.AgentProcesses(city)
	return slices.DeleteFunc(found, func(p AgentProcess) bool { return p.Session != session || !keep(p) }), err
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

// AgentPIDs returns the process IDs of processes.
func AgentPIDs(processes []AgentProcess) []int {
	out := make([]int, 0, len(processes))
	for _, p := range processes {
		out = append(out, p.PID)
	}
	return out
}

// AgentStopResult is the result of StopAll for one session.
type AgentStopResult struct {
	Session   string
	Found     int
	Survivors []int
}

// maxParallelStops bounds how many processes are stopped in parallel.
const maxParallelStops = 16

// StopAgents stops every process that [AgentProcesses] returns, with its descendants: it sends SIGTERM, then SIGKILL to processes
// that do not exit. It returns a result for each session that had processes.
func StopAgents(ctx context.Context, city string) ([]AgentStopResult, error) {
	live, err := AgentProcesses(city)
	if err != nil || len(live) == 0 {
		return nil, err
	}
	errs, turn := make([]error, len(live)), make(chan struct{}, maxParallelStops)
	var wg sync.WaitGroup
	for i, p := range live {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			if _, err := KillTree(ctx, p.ID, nil); err != nil && !errors.Is(err, ErrSurvivors) {
				errs[i] = fmt.Errorf("cannot stop process %d of session %q: %w", p.PID, p.Session, err)
			}
		})
	}
	wg.Wait()
	sessions := map[string]*AgentStopResult{}
	for _, p := range live {
		e := sessions[p.Session]
		if e == nil {
			e = &AgentStopResult{Session: p.Session}
			sessions[p.Session] = e
		}
		e.Found++
		if alive, err := Alive(p.ID); alive || err != nil {
			e.Survivors = append(e.Survivors, p.PID)
		}
	}
	out := make([]AgentStopResult, 0, len(sessions))
	for _, name := range slices.Sorted(maps.Keys(sessions)) {
		out = append(out, *sessions[name])
	}
	return out, errors.Join(errs...)
}
