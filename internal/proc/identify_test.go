package proc

import (
	"errors"
	"os/exec"
	"testing"
)

// A shell that started a program: the program is the agent, by its name or for being no
// shell, and it takes the place of an agent that has ended.
func TestAgentOfATree(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 300; :")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = KillTree(t.Context(), must(t, cmd.Process.Pid), nil) // the test reports its own failure
		_ = cmd.Wait()                                              // it was killed
	}()
	root := must(t, cmd.Process.Pid)
	var tree []Info
	eventually(t, "the shell has a child", func() bool {
		all, err := Tree(cmd.Process.Pid)
		tree = Live(all)
		return err == nil && len(tree) == 2 && tree[1].Comm == "sleep"
	})
	for name, names := range map[string][]string{"by its name": {"sleep"}, "no shell": nil, "no such name": {"nothing-has-this"}} {
		if agent, ok := Agent(tree, names); !ok || agent.ID != tree[1].ID {
			t.Errorf("%s: %+v, %v, want the program", name, agent, ok)
		}
	}
	if agent, ok := Agent(tree[:1], nil); ok {
		t.Errorf("a shell alone has the agent %+v", agent)
	}
	if rest := Live(tree, cmd.Process.Pid); len(rest) != 1 || !tree[0].IsShell() || tree[1].IsShell() {
		t.Errorf("without the shell: %+v", rest)
	}

	ended := root
	ended.Start++
	broken := errors.New("no tree can be had")
	for name, test := range map[string]struct {
		agent ID
		names []string
		err   error
		want  bool
	}{
		"lives":                {root, nil, broken, true},
		"a successor":          {ended, []string{"sleep"}, nil, true},
		"no user of that name": {ended, []string{"nothing-has-this"}, nil, false},
		"no names":             {ended, nil, nil, false},
		"unknown":              {ended, []string{"sleep"}, broken, false},
	} {
		got, err := AgentAlive(test.agent, func() ([]Info, error) { return tree, test.err }, test.names)
		unknown := test.err != nil && !test.want
		if got != test.want || (err != nil) != unknown {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
	}
}

func must(t *testing.T, pid int) ID {
	t.Helper()
	info, err := Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return info.ID
}

// A process that starts late is looked for twice: it was in no tree while its parent ended.
func TestAgentAliveLooksTwice(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	info, err := Stat(self.PID)
	if err != nil {
		t.Fatal(err)
	}
	ended, looks := self, 0
	ended.Start++
	alive, err := AgentAlive(ended, func() ([]Info, error) {
		if looks++; looks == 1 {
			return nil, nil
		}
		return []Info{info}, nil
	}, []string{info.Comm})
	if !alive || err != nil || looks != 2 {
		t.Errorf("%v, %v after %d looks", alive, err, looks)
	}
}
