package fsutil_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/internal/fsutil"
)

// writeFiles makes files of names and contents: one that ends with a slash is a folder, one that
// begins with "->" in its content a link.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(content, "->")
		var err error
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o750)
		case link:
			err = os.Symlink(target, path)
		default:
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tree returns what lies below dir, in the form of lay.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil || name == ".":
			return err
		case entry.IsDir():
			found[name+"/"] = ""
		case entry.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			found[name] = "->" + target
		default:
			content, err := os.ReadFile(path)
			found[name] = string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func same(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := tree(t, dir)
	for name := range want {
		for at := filepath.Dir(strings.TrimSuffix(name, "/")); at != "."; at = filepath.Dir(at) {
			delete(got, at+"/")
		}
	}
	for name, content := range want {
		if now, there := got[name]; !there || now != content {
			t.Errorf("%s is %q, %v, want %q", name, now, there, content)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("there is more: %q", got)
	}
}

func packed(t *testing.T, folder, name string) io.Reader {
	t.Helper()
	var out bytes.Buffer
	if err := fsutil.PackArchiveFrom(&out, folder, name); err != nil {
		t.Fatal(err)
	}
	return &out
}

// What is copied has cp's place and names.
func TestRoundTrip(t *testing.T) {
	work := map[string]string{"a.txt": "a", "d/b.txt": "b", "d/empty/": "", "d/deep/link": "->../b.txt", "d/same": "->b.txt", "home": "->d"}
	for what, tt := range map[string]struct {
		name, destination string
		there, want       map[string]string
	}{
		"a file into a folder":           {"a.txt", ".", nil, map[string]string{"a.txt": "a"}},
		"a file with another name":       {"d/b.txt", "new", nil, map[string]string{"new": "b"}},
		"a file over a file":             {"a.txt", "old", map[string]string{"old": "older"}, map[string]string{"old": "a"}},
		"a file over a link":             {"a.txt", "out/a.txt", map[string]string{"out/a.txt": "->../old", "old": "older"}, map[string]string{"out/a.txt": "a", "old": "older"}},
		"a folder into a folder":         {"d", "out", map[string]string{"out/": ""}, map[string]string{"out/d/b.txt": "b", "out/d/empty/": "", "out/d/deep/link": "->../b.txt", "out/d/same": "->b.txt"}},
		"a folder with another name":     {"d/deep", "new", nil, map[string]string{"new/": ""}},
		"a folder over itself":           {"d", ".", map[string]string{"d/b.txt": "older", "d/mine": "m"}, map[string]string{"d/b.txt": "b", "d/mine": "m", "d/empty/": "", "d/deep/link": "->../b.txt", "d/same": "->b.txt"}},
		"what a link inside leads to":    {"home", "new", nil, map[string]string{"new/b.txt": "b", "new/empty/": "", "new/deep/link": "->../b.txt", "new/same": "->b.txt"}},
		"the whole folder":               {".", "new", nil, map[string]string{"new/a.txt": "a", "new/d/b.txt": "b", "new/d/empty/": "", "new/d/deep/link": "->../b.txt", "new/d/same": "->b.txt", "new/home": "->d"}},
		"the whole folder into a folder": {".", ".", nil, work},
	} {
		t.Run(what, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			writeFiles(t, from, work)
			writeFiles(t, to, tt.there)
			report, err := fsutil.UnpackArchive(packed(t, from, tt.name), filepath.Join(to, tt.destination))
			if err != nil {
				t.Fatal(err)
			}
			if what == "a folder with another name" {
				if !slices.Equal(report.Left, []string{"link"}) {
					t.Errorf("left out are %q", report.Left)
				}
			} else if len(report.Left) > 0 {
				t.Errorf("left out are %q", report.Left)
			}
			same(t, to, tt.want)
		})
	}
}

// A file keeps what it may be run by, and files of any size arrive.
func TestContentAndMode(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for name, content := range map[string][]byte{"big": big, "empty": nil, "a\nb \xff*": []byte("odd")} {
		if err := os.WriteFile(filepath.Join(from, name), content, 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	report, err := fsutil.UnpackArchive(packed(t, from, "."), to)
	if err != nil || report.Files != 3 || report.Bytes != int64(len(big)+3) {
		t.Fatalf("%+v, %v", report, err)
	}
	same(t, to, map[string]string{"big": string(big), "empty": "", "a\nb \xff*": "odd"})
	if info, err := os.Stat(filepath.Join(to, "big")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Nothing outside of the folder is packed.
func TestPackingIsConfined(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"secret": "s", "work/out": "->../secret", "work/up": "->..", "work/abs": "->/etc/passwd", "work/none": "->nowhere"})
	for name, want := range map[string]error{
		"../secret": fs.ErrInvalid, "/etc/passwd": fs.ErrInvalid, "a/../../secret": fs.ErrInvalid, "out": nil, "up/secret": nil, "abs": nil, "missing": fs.ErrNotExist, "none": fs.ErrNotExist,
	} {
		var out bytes.Buffer
		err := fsutil.PackArchiveFrom(&out, filepath.Join(dir, "work"), name)
		if err == nil || want != nil && !errors.Is(err, want) || out.Len() > 0 {
			t.Errorf("%s: %v and %d bytes", name, err, out.Len())
		}
	}
}

func hostile(t *testing.T, headers ...tar.Header) io.Reader {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := range headers {
		h := headers[i]
		h.Mode = 0o777
		if h.Typeflag == tar.TypeReg {
			h.Size = 1
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, "x"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

// An archive of somebody who means harm writes nothing outside of its root, and makes no link
// that leads out of it, neither by itself nor together with another one.
func TestNothingLeavesTheRoot(t *testing.T) {
	dir := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name} }
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	link := func(name, to string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
	}
	for what, headers := range map[string][]tar.Header{
		"a name with ..":                  {dir("r"), file("r/../victim")},
		"an absolute name":                {dir("r"), file("/tmp/victim")},
		"another root":                    {dir("r"), file("victim")},
		"a root with ..":                  {file("../victim")},
		"a root that is ..":               {dir("..")},
		"a root that is a link":           {link("r", "victim"), file("r")},
		"through a link":                  {dir("r"), link("r/l", "../.."), file("r/l/victim")},
		"through a link that stays":       {dir("r"), dir("r/d"), link("r/l", "d"), file("r/l/f")},
		"a link up":                       {dir("r"), link("r/l", "../victim")},
		"an absolute link":                {dir("r"), link("r/l", "/etc/passwd")},
		"a link that goes down and up":    {dir("r"), link("r/l", "d/../../victim")},
		"a way up through a link":         {dir("r"), link("r/here", "."), link("r/l", "here/../victim")},
		"a link below a link":             {dir("r"), dir("r/d"), link("r/d/here", ".."), link("r/d/here/l", "../victim")},
		"a link deeper than its place":    {dir("r"), dir("r/d"), link("r/d/l", "../../victim")},
		"a hard link":                     {dir("r"), {Typeflag: tar.TypeLink, Name: "r/l", Linkname: "/etc/passwd"}},
		"a device":                        {dir("r"), {Typeflag: tar.TypeChar, Name: "r/null", Devmajor: 1, Devminor: 3}},
		"a file in place of a folder":     {dir("r"), dir("r/d"), file("r/d")},
		"a link in place of a folder":     {dir("r"), dir("r/d"), link("r/d", ".."), file("r/d/victim")},
		"a folder through what was there": {dir("r"), dir("r/old"), file("r/old/victim")},
	} {
		t.Run(what, func(t *testing.T) {
			place := t.TempDir()
			writeFiles(t, place, map[string]string{"victim": "v", "to/victim": "v", "to/r/old": "->../.."})
			report, err := fsutil.UnpackArchive(hostile(t, headers...), filepath.Join(place, "to"))
			if err == nil && len(report.Left) == 0 {
				t.Error("it was taken as it is")
			}
			for name, content := range tree(t, place) {
				target, isLink := strings.CutPrefix(content, "->")
				if isLink && name != "to/r/old" && (filepath.IsAbs(target) || !strings.HasPrefix(filepath.Join(filepath.Dir(name), target), "to/r")) {
					t.Errorf("%s leads to %s", name, target)
				}
				if (name == "victim" || name == "to/victim") && content != "v" {
					t.Errorf("%s was written", name)
				}
			}
		})
	}
}

// What is cut off is an error, and leaves whole files only.
func TestCutOff(t *testing.T) {
	from := t.TempDir()
	writeFiles(t, from, map[string]string{"d/a": strings.Repeat("a", 5000), "d/b": strings.Repeat("b", 5000)})
	whole, err := io.ReadAll(packed(t, from, "d"))
	if err != nil {
		t.Fatal(err)
	}
	lost := errors.New("lost")
	for at := range len(whole) {
		if at%500 != 0 {
			continue
		}
		to := t.TempDir()
		_, err := fsutil.UnpackArchive(io.MultiReader(bytes.NewReader(whole[:at]), broken{lost}), to)
		if !errors.Is(err, lost) {
			t.Errorf("cut off at %d of %d: %v", at, len(whole), err)
		}
		for name, content := range tree(t, to) {
			if content != "" && len(content) != 5000 {
				t.Errorf("cut off at %d: %s has %d bytes", at, name, len(content))
			}
		}
	}
	if _, err := fsutil.UnpackArchive(io.MultiReader(bytes.NewReader(whole), broken{lost}), t.TempDir()); !errors.Is(err, lost) {
		t.Errorf("what its sender says last is %v", err)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func TestAMissingFileIsNamed(t *testing.T) {
	err := fsutil.PackArchiveFrom(io.Discard, t.TempDir(), "a/none")
	if err == nil || err.Error() != "a/none: no such file or directory" {
		t.Errorf("the error is %v", err)
	}
}
