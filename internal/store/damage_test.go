package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/internal/store"
)

// filledFile returns the path of a database with records and events, which was closed normally if
// clean is true.
func filledFile(t *testing.T, clean bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "city.db")
	db := open(t, store.Options{Path: path})
	for i := range 50 {
		r := record(strings.Repeat("n", i+1))
		r.Screen = strings.Repeat("screen ", 300)
		if err := db.Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if !clean {
		do(t, raw(t, path), "UPDATE timeline SET clean = 0")
	}
	return path
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content = change(content)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return content
}

// garbage overwrites a part of each page from the third one on.
func garbage(content []byte) []byte {
	for at := 8192; at < len(content); at += 4096 {
		copy(content[at:], bytes.Repeat([]byte{0xa5}, 200))
	}
	return content
}

// TestDamagedDatabaseIsSetAside checks that a damaged database is renamed and replaced by a new
// one.
func TestDamagedDatabaseIsSetAside(t *testing.T) {
	tests := map[string]struct {
		clean  bool
		change func([]byte) []byte
	}{
		"no database":   {true, func([]byte) []byte { return []byte(strings.Repeat("this is no database\n", 1000)) }},
		"header":        {true, func(c []byte) []byte { return append(make([]byte, 100), c[100:]...) }},
		"schema":        {true, func(c []byte) []byte { return append(c[:100:100], append(make([]byte, 3996), c[4096:]...)...) }},
		"pages":         {false, garbage},
		"cut":           {false, func(c []byte) []byte { return c[:len(c)/2/4096*4096] }},
		"another's":     {true, func(c []byte) []byte { copy(c[68:], "\x01\x02\x03\x04"); return c }},
		"no tables":     {true, nil},
		"not ours, new": {true, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filledFile(t, test.clean)
			var content []byte
			switch {
			case test.change != nil:
				content = rewrite(t, path, test.change)
			case name == "no tables":
				do(t, raw(t, path), "DROP TABLE timeline")
			default:
				do(t, raw(t, path), "PRAGMA application_id = 0")
				do(t, raw(t, path), "PRAGMA user_version = 0")
			}
			db := open(t, store.Options{Path: path})
			damage := db.Damage()
			if damage == nil || !strings.HasPrefix(damage.File, path+".damaged-") || !errors.Is(damage.Err, store.ErrDamaged) {
				t.Fatalf("the damage is %+v, want the file's new name", damage)
			}
			if aside, err := os.ReadFile(damage.File); err != nil || content != nil && !bytes.Equal(aside, content) {
				t.Errorf("what was set aside is not what was there, error %v", err)
			}
			if err := db.Save(t.Context(), record("new")); err != nil || count(t, db) != 1 {
				t.Errorf("the new database has %d records, error %v", count(t, db), err)
			}
			if got := kinds(t, db); got != "store.rebuilt" {
				t.Errorf("the time line is %q, want store.rebuilt alone", got)
			}
		})
	}
}

// TestDamageThatIsFoundDuringReading checks a damaged database that was closed normally and is
// therefore not checked when it is opened: the damage is found when it is read, and the next start
// renames the file.
func TestDamageThatIsFoundDuringReading(t *testing.T) {
	path := filledFile(t, true)
	rewrite(t, path, func(content []byte) []byte {
		for at := 4096; at < len(content); at += 4096 {
			if page := content[at : at+4096]; bytes.Contains(page, []byte("screen ")) {
				copy(page, bytes.Repeat([]byte{0xa5}, 200))
			}
		}
		return content
	})
	db, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil || db.Damage() != nil {
		t.Fatalf("the database was looked through, error %v", err)
	}
	got, err := db.Load(t.Context())
	if got != nil || !errors.Is(err, store.ErrDamaged) || !errors.Is(err, store.ErrUnavailable) || !errors.Is(db.Fault(), store.ErrDamaged) {
		t.Errorf("the damage shows as %v with %d records, the fault is %v", err, len(got), db.Fault())
	}
	db.Close() // may fail: the database is damaged
	if open(t, store.Options{Path: path}).Damage() == nil {
		t.Error("the damaged database is used again")
	}
}

// TestNewerDatabaseIsRefusedAndNotTouched checks that the database of a newer gc is refused and not
// changed.
func TestNewerDatabaseIsRefusedAndNotTouched(t *testing.T) {
	path := filledFile(t, true)
	do(t, raw(t, path), "PRAGMA user_version = 8")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Open(t.Context(), store.Options{Path: path})
	if !errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "version is 8") ||
		!strings.Contains(err.Error(), "up to 6") || !strings.Contains(err.Error(), "use the gc that wrote it") {
		t.Errorf("a newer database is %v, want both versions and a remedy", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("a newer database was touched, error %v", err)
	}
}

// TestMissingDatabase checks that a lost database is reported like a damaged one, and that a first
// start is not.
func TestMissingDatabase(t *testing.T) {
	const journal = "what the last life had not yet brought home"
	nothing := func(*testing.T, string) {}
	empty := func(t *testing.T, path string) { abandonStore(t, path, "") }
	tests := map[string]struct {
		lived  bool
		before func(t *testing.T, path string)
		says   string // empty: nothing
		aside  int    // journals
	}{
		"first start":     {false, nothing, "", 0},
		"first, empty":    {false, empty, "", 0},
		"missing":         {true, nothing, "the file city.db does not exist", 0},
		"empty":           {true, empty, "city.db is empty", 0},
		"journal alone":   {false, func(t *testing.T, path string) { abandonStore(t, path+"-wal", journal) }, "the file city.db does not exist", 1},
		"sound and lived": {true, func(t *testing.T, path string) { move(t, filledFile(t, true), path) }, "", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path, want := filepath.Join(t.TempDir(), "city.db"), ""
			test.before(t, path)
			if test.says != "" {
				want = "store.rebuilt"
			}
			db := open(t, store.Options{Path: path, ExpectDatabase: test.lived})
			damage := db.Damage()
			if (damage != nil) != (want != "") || kinds(t, db) != want {
				t.Fatalf("the damage is %+v, the time line %q; want %q", damage, kinds(t, db), want)
			}
			if damage != nil && (damage.File != "" || !errors.Is(damage.Err, store.ErrMissing) || !strings.Contains(damage.Err.Error(), test.says)) {
				t.Errorf("the damage is %+v, want %q and no file", damage, test.says)
			}
			aside, err := filepath.Glob(path + ".damaged-*-wal")
			if err != nil || len(aside) != test.aside {
				t.Fatalf("set aside is %v, error %v", aside, err)
			}
			for _, name := range aside {
				if kept, err := os.ReadFile(name); err != nil || string(kept) != journal {
					t.Errorf("the journal that was left is %q, error %v", kept, err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, store.Options{Path: path, ExpectDatabase: true})
			if again.Damage() != nil || kinds(t, again) != want {
				t.Errorf("the next start finds the damage %+v, the time line %q", again.Damage(), kinds(t, again))
			}
		})
	}
}

func abandonStore(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
