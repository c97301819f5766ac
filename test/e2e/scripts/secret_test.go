package scripts_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
)

// A secret of the environment, of metadata and of a prompt is in no argument of a process and in no file that
// other users can read.
func TestSecrets(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("arguments of processes are read from /proc")
	}
	forEachScript(t, func(t *testing.T, s *script) {
		const secret = "canary-7d1f33"
		seen := watchArguments(t, secret)
		a := s.start("a", "", func(d document) { d["env"] = map[string]string{"GC_INSTANCE_TOKEN": secret, "API_KEY": secret} })
		s.do(secret, "set-meta", "a", "key")
		a.prompts("the word is " + secret)
		s.do("", "peek", "a", "0")
		s.do(secret, "interrupt-instance", "a")
		privateFiles(t, s.dir, secret)
		for _, launcher := range []string{"launch", "bytes", "text"} {
			if found := filesWith(t, filepath.Join(s.dir, "state"), launcher, secret); len(found) > 0 {
				t.Errorf("%q still hold the secret", found)
			}
		}
		s.do(secret, "stop-instance", "a")
		if found := filesWith(t, filepath.Join(s.dir, "state"), "", secret); len(found) > 0 {
			t.Errorf("%q hold the secret after stop", found)
		}
		if a.await(ledger.Exit, 1); len(seen()) > 0 {
			t.Errorf("the secret stood in the arguments of %q", seen())
		}
	})
}

// watchArguments reads the arguments of all processes as often as it can. The
// function that it returns ends that and gives those with the word.
func watchArguments(t *testing.T, word string) func() []string {
	t.Helper()
	end, found := make(chan struct{}), make(chan []string, 1)
	go func() {
		var with []string
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, file := range files {
				if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(word)) {
					with = append(with, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
				}
			}
			select {
			case <-end:
				found <- with
				return
			case <-tick.C:
			}
		}
	}()
	var result []string
	stopped := false
	stop := func() []string {
		if !stopped {
			stopped = true
			close(end)
			result = <-found
		}
		return result
	}
	t.Cleanup(func() { stop() })
	return stop
}

// privateFiles expects that no file with the word can be read by others. A file is private in
// a folder that is, too.
func privateFiles(t *testing.T, dir, word string) {
	t.Helper()
	for _, file := range filesWith(t, dir, "", word) {
		if strings.HasSuffix(file, ".ledger") {
			continue // the agent's own
		}
		info, err := os.Stat(file)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the secret and mode %v", file, info.Mode())
		}
	}
}

// filesWith returns the files below dir whose names begin so and that have the word.
func filesWith(t *testing.T, dir, name, word string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.HasPrefix(entry.Name(), name) {
			return nil //nolint:nilerr // what is gone holds nothing
		}
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), word) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
