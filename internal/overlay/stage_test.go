package overlay_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	overlays "gascity/internal/overlay"
	"gascity/runtime"
)

// plant makes files from "path" -> content; a path that ends in / is a folder, a
// content that begins with "-> " a symbolic link.
func plant(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		switch target, link := strings.CutPrefix(content, "-> "); {
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(full, 0o755))
		case link:
			must(t, os.Symlink(target, full))
		default:
			must(t, os.WriteFile(full, []byte(content), 0o644))
		}
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree reads a folder back, without the package's own state.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path) // path is below dir
		switch {
		case rel == ".gc":
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			files[rel] = "-> " + target
			return err
		case !d.IsDir():
			data, err := os.ReadFile(path)
			files[rel] = string(data)
			return err
		}
		return nil
	}))
	return files
}

func run(t *testing.T, req overlays.Request) overlays.Report {
	t.Helper()
	report, err := overlays.Stage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestLayers(t *testing.T) {
	pack := plant(t, t.TempDir(), map[string]string{
		"shared": "pack", "only-pack": "p", "per-provider/robot/slot": "pack robot", "per-provider/other/no": "x", ".gc/no": "x",
	})
	own := plant(t, t.TempDir(), map[string]string{
		"shared": "own", "deep/a/b": "d", "slot": "universal", "per-provider/robot/slot": "own robot",
		"per-provider/helper/slot": "own helper", "per-provider/robot/.gc/no": "x", "empty/": "",
	})
	work := plant(t, t.TempDir(), map[string]string{"only-pack": "the user's"})
	report := run(t, overlays.Request{
		WorkDir: work, PackOverlayDirs: []string{pack, filepath.Join(pack, "missing")}, OverlayDir: own,
		Slots: []string{"robot", "absent", "../x", "", "helper"},
	})
	want := map[string]string{"shared": "own", "only-pack": "the user's", "deep/a/b": "d", "slot": "own helper"}
	if diff := cmp.Diff(want, tree(t, work)); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(work, "empty")); err != nil || !info.IsDir() {
		t.Error("the empty folder is missing")
	}
	wantReport := overlays.Report{Written: []string{"deep/a/b", "shared", "slot"}, Kept: []string{"only-pack"}}
	if diff := cmp.Diff(wantReport, report); diff != "" {
		t.Error(diff)
	}
}

func TestNothingToDoTouchesNothing(t *testing.T) {
	work := t.TempDir()
	run(t, overlays.Request{WorkDir: work})
	run(t, overlays.Request{WorkDir: work, OverlayDir: filepath.Join(work, "missing"), PackOverlayDirs: []string{"/nonexistent"}})
	if entries, err := os.ReadDir(work); err != nil || len(entries) != 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

func TestModesAreKept(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{"run": "#!", "secret": "s", "d/f": "x"})
	must(t, os.Chmod(filepath.Join(overlay, "run"), 0o755))
	must(t, os.Chmod(filepath.Join(overlay, "secret"), 0o600))
	must(t, os.Chmod(filepath.Join(overlay, "d"), 0o750))
	work := t.TempDir()
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	run(t, overlays.Request{WorkDir: work, OverlayDir: overlay})
	for name, want := range map[string]fs.FileMode{"run": 0o755, "secret": 0o600, "d": 0o750} {
		if info, err := os.Stat(filepath.Join(work, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v (%v), want %v", name, info.Mode(), err, want)
		}
	}
}

func TestSecondStagingChangesNothing(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{"a": "1", "d/b": "2", ".claude/settings.json": `{"hooks":{"Stop":[1]}}`})
	work := plant(t, t.TempDir(), map[string]string{".claude/settings.json": "{\n  \"model\": \"x\"\n}\n"})
	req := overlays.Request{WorkDir: work, OverlayDir: overlay, CopyFiles: []runtime.CopyEntry{{Src: filepath.Join(overlay, "a"), RelDst: "copy"}}}
	run(t, req)
	before := stamps(t, work)
	report := run(t, req)
	if diff := cmp.Diff(before, stamps(t, work)); diff != "" {
		t.Errorf("a second staging writes: %s", diff)
	}
	if diff := cmp.Diff(overlays.Report{}, report); diff != "" {
		t.Errorf("a second staging reports: %s", diff)
	}
}

// stamps returns inode and change time of everything.
func stamps(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil {
			out[path] = fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino, info.ModTime(), info.Size())
		}
		return err
	}))
	return out
}

func TestOursIsUpdatedTheUsersIsNot(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{"ours": "1", "edited": "1", "same": "s"})
	work := plant(t, t.TempDir(), map[string]string{"same": "s"})
	req := overlays.Request{WorkDir: work, OverlayDir: overlay}
	run(t, req)
	plant(t, overlay, map[string]string{"ours": "2", "edited": "2", "same": "s2"})
	plant(t, work, map[string]string{"edited": "by the agent"})
	report := run(t, req)
	if diff := cmp.Diff(map[string]string{"ours": "2", "edited": "by the agent", "same": "s"}, tree(t, work)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(overlays.Report{Written: []string{"ours"}, Kept: []string{"edited", "same"}}, report); diff != "" {
		t.Error(diff)
	}
}

func TestHostileSources(t *testing.T) {
	outside := plant(t, t.TempDir(), map[string]string{"secret": "canary", "d/x": "canary"})
	overlay := plant(t, t.TempDir(), map[string]string{
		"etc":        "-> /etc/passwd",
		"outside":    "-> " + filepath.Join(outside, "secret"),
		"relative":   "-> ../" + filepath.Base(outside) + "/secret",
		"folder":     "-> " + outside,
		"loop":       "-> loop",
		"self":       "-> .",
		"dangling":   "-> nowhere",
		"good":       "g",
		"inside":     "-> good",
		"sub/inside": "-> ../good",
	})
	must(t, syscall.Mkfifo(filepath.Join(overlay, "fifo"), 0o644))
	for name, req := range map[string]overlays.Request{
		"overlay": {OverlayDir: overlay},
		"copy":    {CopyFiles: []runtime.CopyEntry{{Src: overlay}}},
	} {
		t.Run(name, func(t *testing.T) {
			req.WorkDir = t.TempDir()
			report := run(t, req)
			if diff := cmp.Diff(map[string]string{"good": "g", "inside": "g", "sub/inside": "g"}, tree(t, req.WorkDir)); diff != "" {
				t.Error(diff)
			}
			if len(report.Warnings) != 8 {
				t.Errorf("want a warning for each of 8, got %q", report.Warnings)
			}
		})
	}
}

func TestHostileDestinations(t *testing.T) {
	outside := plant(t, t.TempDir(), map[string]string{"victim": "v"})
	overlay := plant(t, t.TempDir(), map[string]string{
		"linked/new": "x", "linked/victim": "x", "file/below": "x", "folder": "x", "link": "x", "dangling": "x", "fine": "f",
		".claude/settings.json": "{}", "inner/f": "x",
	})
	work := plant(t, t.TempDir(), map[string]string{
		"linked":   "-> " + outside,
		"file":     "a file where a folder should be",
		"folder/":  "",
		"link":     "-> " + filepath.Join(outside, "victim"),
		"dangling": "-> " + filepath.Join(outside, "new"),
		".claude":  "-> " + outside,
		"real/":    "",
		"inner":    "-> real",
	})
	report := run(t, overlays.Request{WorkDir: work, OverlayDir: overlay})
	if diff := cmp.Diff(map[string]string{"victim": "v"}, tree(t, outside)); diff != "" {
		t.Errorf("the outside has changed: %s", diff)
	}
	want := []string{".claude", ".claude/settings.json", "dangling", "file", "file/below", "folder", "link", "linked", "linked/new", "linked/victim"}
	if diff := cmp.Diff(want, report.Kept); diff != "" {
		t.Error(diff)
	}
	after := tree(t, work)
	if after["fine"] != "f" || after["real/f"] != "x" || after["file"] != "a file where a folder should be" {
		t.Errorf("the working directory is %v", after)
	}
}

func TestCopyFiles(t *testing.T) {
	src := plant(t, t.TempDir(), map[string]string{"f": "1", "d/a": "2", "d/e/b": "3", "ln": "-> f"})
	at := func(name string) string { return filepath.Join(src, name) }
	work := plant(t, t.TempDir(), map[string]string{"there/": "", "mine": "the user's"})
	report := run(t, overlays.Request{WorkDir: work, CopyFiles: []runtime.CopyEntry{
		{Src: at("f")},
		{Src: at("f"), RelDst: "x/y"},
		{Src: at("f"), RelDst: "there"},
		{Src: at("d"), RelDst: "dd"},
		{Src: at("d")},
		{Src: at("f"), RelDst: "mine"},
		{Src: at("ln"), RelDst: "via-link"},
	}})
	want := map[string]string{"f": "1", "x/y": "1", "there/f": "1", "dd/a": "2", "dd/e/b": "3", "a": "2", "e/b": "3", "mine": "the user's", "via-link": "1"}
	if diff := cmp.Diff(want, tree(t, work)); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(report.Kept, []string{"mine"}) {
		t.Errorf("kept %v", report.Kept)
	}
	for _, entry := range []runtime.CopyEntry{{Src: at("missing")}, {Src: at("f"), RelDst: "../out"}, {Src: at("f"), RelDst: "/abs"}, {Src: "/dev/null", RelDst: "null"}} {
		if _, err := overlays.Stage(t.Context(), overlays.Request{WorkDir: work, CopyFiles: []runtime.CopyEntry{entry}}); err == nil {
			t.Errorf("%+v is no error", entry)
		}
	}
}

func TestCopyTo(t *testing.T) {
	src := plant(t, t.TempDir(), map[string]string{"f": "new", "d/a": "2"})
	outside := plant(t, t.TempDir(), map[string]string{"f": "v"})
	work := plant(t, t.TempDir(), map[string]string{"f": "old", "out": "-> " + outside, "link": "-> " + filepath.Join(outside, "f"), "folder/x/": ""})
	must(t, overlays.CopyTo(work, filepath.Join(src, "f"), "f"))
	must(t, overlays.CopyTo(work, filepath.Join(src, "d"), "e"))
	must(t, overlays.CopyTo(work, work+"/f", "f"))
	if after := tree(t, work); after["f"] != "new" || after["e/a"] != "2" {
		t.Errorf("the working directory is %v", after)
	}
	must(t, overlays.CopyTo(work, filepath.Join(src, "missing"), "x"))
	if after := tree(t, work); after["x"] != "" {
		t.Errorf("a missing source was copied: %v", after)
	}
	for _, dst := range []string{"../x", "out/f", "out/g"} {
		if err := overlays.CopyTo(work, filepath.Join(src, "f"), dst); err == nil {
			t.Errorf("copying to %s is no error", dst)
		}
	}
	must(t, overlays.CopyTo(work, filepath.Join(src, "f"), "link")) // replaces the link, not what it points to
	if diff := cmp.Diff(map[string]string{"f": "v"}, tree(t, outside)); diff != "" {
		t.Errorf("the outside has changed: %s", diff)
	}
}

func TestLostNotesMakeEverythingTheUsers(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{"f": "1"})
	work := t.TempDir()
	req := overlays.Request{WorkDir: work, OverlayDir: overlay}
	run(t, req)
	plant(t, overlay, map[string]string{"f": "2"})
	must(t, os.WriteFile(filepath.Join(work, ".gc/staged.json"), []byte("garbage"), 0o600))
	report := run(t, req)
	if tree(t, work)["f"] != "1" || len(report.Warnings) != 1 || !slices.Equal(report.Kept, []string{"f"}) {
		t.Errorf("%v %+v", tree(t, work), report)
	}
}

// Twenty stagings at once into one folder, with settings that all are wanted.
func TestConcurrentStagings(t *testing.T) {
	work := plant(t, t.TempDir(), map[string]string{".claude/settings.json": userJSON})
	var wg sync.WaitGroup
	for i := range 20 {
		overlay := plant(t, t.TempDir(), map[string]string{
			".claude/settings.json": fmt.Sprintf(`{"hooks":{"Stop":["gc %d"]}}`, i%2), "shared": "s", fmt.Sprintf("own-%d", i): "o",
		})
		wg.Go(func() {
			if _, err := overlays.Stage(t.Context(), overlays.Request{WorkDir: work, OverlayDir: overlay}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	after := tree(t, work)
	if len(after) != 22 || after["shared"] != "s" || !strings.Contains(after[".claude/settings.json"], `"mine"`) {
		t.Errorf("the working directory is %v", after)
	}
}

func TestAnEndedContextStops(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{"f": "1"})
	work := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := overlays.Stage(ctx, overlays.Request{WorkDir: work, OverlayDir: overlay}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(work, "f")); err == nil {
		t.Error("the file was staged")
	}
	// While another holds the lock, the wait ends with the context.
	must(t, os.MkdirAll(filepath.Join(work, ".gc"), 0o700))
	held, err := os.Create(filepath.Join(work, ".gc/stage.lock"))
	must(t, err)
	defer held.Close()
	must(t, syscall.Flock(int(held.Fd()), syscall.LOCK_EX))
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := overlays.Stage(ctx, overlays.Request{WorkDir: work, OverlayDir: overlay}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

const (
	limitedOverlay = "STAGE_TEST_OVERLAY"
	limitedWork    = "STAGE_TEST_WORK"
)

// TestWriteErrorLeavesTheOldFile stages in a process that cannot write more
// than 4 KiB into a file, as if the disk were full.
func TestWriteErrorLeavesTheOldFile(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{"big": "1", ".claude/settings.json": "{}", "small": "1"})
	work := plant(t, t.TempDir(), map[string]string{".claude/settings.json": userJSON})
	run(t, overlays.Request{WorkDir: work, OverlayDir: overlay})
	for _, big := range []string{"big", ".claude/settings.json"} {
		content := strings.Repeat("x", 100_000)
		if big != "big" {
			content = `{"a":"` + content + `"}`
		}
		plant(t, overlay, map[string]string{big: content, "small": "2"})
		before := tree(t, work)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLimitedProcess$")
		cmd.Env = append(os.Environ(), limitedOverlay+"="+overlay, limitedWork+"="+work)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "file too large") {
			t.Fatalf("the limited process: %v\n%s", err, out)
		}
		after := tree(t, work)
		before["small"], after["small"] = "", ""
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("a failed write has changed the folder: %s", diff)
		}
		plant(t, overlay, map[string]string{big: "{}"})
	}
}

// TestLimitedProcess is no test but the body of the process above.
func TestLimitedProcess(t *testing.T) {
	overlay, limited := os.LookupEnv(limitedOverlay)
	if !limited {
		t.Skip("runs as a child of TestWriteErrorLeavesTheOldFile")
	}
	signal.Ignore(syscall.SIGXFSZ)
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}))
	_, err := overlays.Stage(t.Context(), overlays.Request{WorkDir: os.Getenv(limitedWork), OverlayDir: overlay})
	fmt.Println(err)
}

func TestUnreadableSourceIsAnError(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	overlay := plant(t, t.TempDir(), map[string]string{"f": "1"})
	must(t, os.Chmod(filepath.Join(overlay, "f"), 0))
	if _, err := overlays.Stage(t.Context(), overlays.Request{WorkDir: t.TempDir(), OverlayDir: overlay}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

func TestMissingWorkFolderIsAnError(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{"f": "1"})
	if _, err := overlays.Stage(t.Context(), overlays.Request{WorkDir: filepath.Join(overlay, "none"), OverlayDir: overlay}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
