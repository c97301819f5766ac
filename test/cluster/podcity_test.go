package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// podCity is a city whose agents are in pods.
type podCity struct {
	*testing.T

	root    string
	client  *client.Client
	stopped bool
}

// openPodCity makes a city with [newPodCity] and starts it.
func openPodCity(t *testing.T, text string, programs ...string) *podCity {
	t.Helper()
	c := newPodCity(t, text, programs...)
	c.gc("start")
	return c
}

// newPodCity makes a city of the text, which is completed by the way to the cluster, and stops
// it at the end. The named programs of the tier are in its folder "files".
func newPodCity(t *testing.T, text string, programs ...string) *podCity {
	t.Helper()
	space(t)
	root := must(os.MkdirTemp("/tmp", "gcc-")) //nolint:usetesting // socket paths are short
	c := &podCity{T: t, root: root, client: &client.Client{Root: root}}
	t.Cleanup(func() {
		c.client.Close()
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	if err := os.Mkdir(filepath.Join(root, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if err := os.Link(program(name), filepath.Join(root, "files", name)); err != nil {
			t.Fatal(err)
		}
	}
	text += fmt.Sprintf("[workspace]\nname = %q\n[session]\nprovider = \"k8s\"\nstartup_timeout = \"2m\"\n[session.k8s]\nimage = %q\n"+
		"cpu_request = \"10m\"\nmem_request = \"16Mi\"\n", filepath.Base(root), image)
	if err := os.WriteFile(filepath.Join(root, client.CityFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

// stop stops the city. A second call does nothing.
func (c *podCity) stop() {
	if !c.stopped {
		c.stopped = true
		c.gc("stop")
	}
}

// gc runs a command that has to succeed.
func (c *podCity) gc(args ...string) string {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), 3*time.Minute)
	defer cancel()
	out, err := osexec.CommandContext(ctx, program("gc"), append([]string{"--city", c.root}, args...)...).CombinedOutput()
	if err != nil {
		c.Errorf("gc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// promptAndWait gives a prompt to an agent and waits until it says itself that it has taken it.
func (c *podCity) promptAndWait(name, text string) error { return c.promptWithKey(name, text, text) }

// promptWithKey is promptAndWait for a text that is too long for a key.
func (c *podCity) promptWithKey(name, key, text string) error {
	ctx, cancel := context.WithTimeout(c.Context(), 2*waitLimit)
	defer cancel()
	for {
		r, err := c.client.Nudge(ctx, name, client.NudgeRequest{Text: text, Key: key, Wait: client.ReceiptConsumed})
		if err == nil && r.State == client.ReceiptConsumed {
			return nil
		}
		if ctx.Err() != nil || err == nil && r.Ended() && r.State != client.ReceiptSubmitted {
			return fmt.Errorf("%.80q is %s: %s; %w", text, r.State, r.Reason, errors.Join(err, ctx.Err()))
		}
		<-time.After(50 * time.Millisecond)
	}
}
