package cluster_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Files go into a pod and come out of it, as a stream; a pod that is lost in between is an error.
func TestCopyBothWays(t *testing.T) {
	requireCluster(t)
	c := openPodCity(t, "[[agents]]\nname = \"one\"\nstart_command = \"exec sleep 10000\"\npre_start = [\"mkdir d; ln -s /etc/passwd d/passwords; echo x >d/x; ln -s x d/y; head -c 200000000 /dev/urandom >big; truncate -s 20G huge\"]\n"+
		"[agents.env]\nGC_K8S_PULL_POLICY = \"IfNotPresent\"\n")
	here := t.TempDir()
	pod := kubectl(t, "get", "pods", "-n", namespace, "-l", "gc-agent=one", "-o", "jsonpath={.items[0].metadata.name}")
	there := strings.Fields(kubectl(t, "exec", "-n", namespace, pod, "-c", "agent", "--", "sha256sum", c.root+"/big"))[0]

	began := time.Now()
	out := osexec.CommandContext(t.Context(), program("gc"), "--city", c.root, "copy", "one:big", here)
	if text, err := out.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	file := must(os.Open(filepath.Join(here, "big")))
	sum := sha256.New()
	size := must(io.Copy(sum, file))
	file.Close()
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != there {
		t.Errorf("%d bytes came, with the sum %s instead of %s", size, got, there)
	}
	memory := out.ProcessState.SysUsage().(*syscall.Rusage).Maxrss //nolint:forcetypeassert // on Linux
	t.Logf("%d MB in %v, %d MB of memory", size/1e6, time.Since(began).Round(time.Millisecond), memory/1e3)
	if memory > 120_000 {
		t.Errorf("it took %d kB of memory", memory)
	}

	c.gc("copy", "one:d", here)
	c.gc("copy", filepath.Join(here, "d"), "one:again")
	if got := kubectl(t, "exec", "-n", namespace, pod, "-c", "agent", "--", "sh", "-c", "cd "+c.root+"/again && ls && cat x y"); got != "x\ny\nx\nx" {
		t.Errorf("there is %q", got)
	}
	if _, err := os.Lstat(filepath.Join(here, "d", "passwords")); err == nil {
		t.Error("a link that leads out was made")
	}

	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	lost := osexec.CommandContext(ctx, program("gc"), "--city", c.root, "copy", "one:huge", filepath.Join(here, "lost"))
	if err := lost.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the copy", func() bool { return len(must(filepath.Glob(filepath.Join(here, ".gc-part-*")))) > 0 })
	kubectl(t, "delete", "pod", "-n", namespace, pod, "--force", "--grace-period=0", "--wait=false")
	if err := lost.Wait(); err == nil || ctx.Err() != nil {
		t.Errorf("without the pod: %v, %v", err, ctx.Err())
	}
	if left := must(filepath.Glob(filepath.Join(here, "*lost*"))); len(left) > 0 {
		t.Errorf("left is %s", left)
	}
	if left := must(filepath.Glob(filepath.Join(here, ".gc-part-*"))); len(left) > 0 {
		t.Errorf("left is %s", left)
	}
}
