package cluster_test

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A city of two agents in pods, from gc start to gc stop, as its user has it.
func TestCityInPods(t *testing.T) {
	requireCluster(t)
	space(t)
	root := must(os.MkdirTemp("/tmp", "gcc-")) //nolint:usetesting // socket paths are short
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	city := fmt.Sprintf("[workspace]\nname = \"town\"\n[session]\nprovider = \"k8s\"\nstartup_timeout = \"2m\"\n[session.k8s]\nimage = %q\n"+
		"cpu_request = \"10m\"\nmem_request = \"16Mi\"\n", image)
	for _, name := range []string{"one", "two"} {
		city += fmt.Sprintf("[[agents]]\nname = %q\nstart_command = \"exec ./fakeagent\"\nready_prompt_prefix = \"❯\"\npre_start = [\"ln -sf /gc/bin/gc fakeagent\"]\n[agents.env]\nGC_K8S_PULL_POLICY = \"IfNotPresent\"\n", name)
	}
	if err := os.WriteFile(filepath.Join(root, "city.toml"), []byte(city), 0o600); err != nil {
		t.Fatal(err)
	}
	gc := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
		defer cancel()
		cmd := osexec.CommandContext(ctx, program("gc"), append([]string{"--city", root}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("gc %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	gc("start")
	t.Cleanup(func() {
		_ = osexec.CommandContext(context.WithoutCancel(t.Context()), program("gc"), "--city", root, "stop").Run() // it has stopped, if all is well
	})
	eventually(t, "both agents", func() bool { return strings.Count(phases(t), "Running") == 2 })
	gc("nudge", "one", "hello from the city")
	eventually(t, "the prompt on its screen", func() bool {
		return strings.Contains(gc("peek", "one"), "hello from the city")
	})
	t.Log(gc("status"))
	gc("stop")
	if left := phases(t); left != "" {
		t.Errorf("left are %s", left)
	}
}

// phases lists the pods of the city that was made last.
func phases(t *testing.T) string {
	t.Helper()
	return kubectl(t, "get", "pods", "-n", namespace, "-l", "gc-agent in (one,two)", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.phase}{"\n"}{end}`)
}
