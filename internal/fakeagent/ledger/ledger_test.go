package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestReadLeavesOutAnUnfinishedLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "l")
	if _, err := Read(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read = %v, want ErrNotExist", err)
	}
	write(t, file, `{"seq":1,"kind":"start","run":7}`+"\n"+`{"seq":2,"ki`)
	records, err := Read(file)
	if err != nil || len(records) != 1 || records[0].Kind != Start || records[0].Run != 7 {
		t.Errorf("Read = %+v, %v", records, err)
	}
	write(t, file, `nonsense`+"\n")
	if _, err := Read(file); err == nil {
		t.Error("a broken line is accepted")
	}
}

func TestVerify(t *testing.T) {
	start, two := Record{Seq: 1, Kind: Start, Run: 7}, Record{Seq: 2, Kind: Ready, Run: 7}
	other := Record{Seq: 1, Kind: Start, Run: 8}
	exit := Record{Seq: 3, Kind: Exit, Run: 7}
	for name, c := range map[string]struct {
		records []Record
		ok      bool
	}{
		"nothing":          {nil, true},
		"one run":          {[]Record{start, two, exit}, true},
		"two runs":         {[]Record{start, other, two, exit}, true},
		"pid used again":   {[]Record{start, two, exit, start, two}, true},
		"killed and again": {[]Record{start, two, start}, true},
		"gap":              {[]Record{start, exit}, false},
		"twice":            {[]Record{start, two, two}, false},
		"no start":         {[]Record{two}, false},
		"after exit":       {[]Record{start, two, exit, {Seq: 4, Kind: Prompt, Run: 7}}, false},
	} {
		if err := Verify(c.records); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIsComparesBytesAndSum(t *testing.T) {
	r := Record{Bytes: 2, SHA256: Sum("ab")}
	if !r.Is("ab") || r.Is("ba") || r.Is("abc") {
		t.Error("Is does not distinguish texts")
	}
}
