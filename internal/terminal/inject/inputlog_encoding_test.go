package inject

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// An account that is stored and read again at any moment behaves like one that never left
// the memory.
func TestStoredAccountIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		kept, stored := &DeliveryLog{Limit: limit}, &DeliveryLog{Limit: limit}
		same := func(what string, got, want any) {
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(DeliveryEntry{})); diff != "" {
				t.Fatalf("%s (-kept +stored):\n%s", what, diff)
			}
		}
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"})
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				id := id.Draw(t, "id")
				undo := rapid.SampledFrom([][]byte{nil, []byte("\x15")}).Draw(t, "undo")
				kept.Begin(id, []byte("text of "+id), undo)
				stored.Begin(id, []byte("text of "+id), undo)
			},
			"send": func(t *rapid.T) {
				in := rapid.SampledFrom([]Input{InputKeys, InputText, InputEnter, InputSeen, InputProbe, InputClear}).Draw(t, "input")
				keys := rapid.SampledFrom([][]byte{nil, []byte("\x7f"), []byte("\x7f\x7f\x7f"), []byte("\x15")}).Draw(t, "keys")
				same("send", fmt.Sprint(stored.Send(in, keys)), fmt.Sprint(kept.Send(in, keys)))
			},
			"touch": func(*rapid.T) {
				same("undo", string(stored.Touch()), string(kept.Touch()))
			},
			"settle": func(t *rapid.T) {
				e := DeliveryEntry{ID: id.Draw(t, "id"), Outcome: "submitted", Evidence: "e", Open: rapid.Bool().Draw(t, "open")}
				same("settle", stored.RecordOutcome(e), kept.RecordOutcome(e))
			},
			"restart": func(*rapid.T) { kept.Restart(); stored.Restart() },
			"": func(t *rapid.T) {
				data, err := json.Marshal(stored)
				if err != nil {
					t.Fatal(err)
				}
				*stored = DeliveryLog{Limit: limit}
				if err := json.Unmarshal(data, stored); err != nil {
					t.Fatal(err)
				}
				for _, id := range []string{"a", "b", "c", "d", "e", "f", "g"} {
					same("account", stored.Account(id), kept.Account(id))
				}
			},
		})
	})
}

func TestStoredAccountIsNoAccount(t *testing.T) {
	d := &DeliveryLog{Limit: 7}
	d.Begin("one", []byte("text"), nil)
	for _, bad := range []string{"", "{", `{"deliveries":3}`} {
		if err := d.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%q is an account", bad)
		}
	}
	if a := d.Account("one"); a.Asked == nil {
		t.Error("what cannot be read has taken the place of the account")
	}
	if err := json.Unmarshal([]byte(`{}`), d); err != nil || d.Limit != 7 || d.Account("one").Asked != nil {
		t.Errorf("an empty account: %+v, %v", d, err)
	}
}

// FuzzUnmarshalLog reads arbitrary accounts: nothing panics, and what was read can be used.
func FuzzUnmarshalLog(f *testing.F) {
	f.Add([]byte(`{"deliveries":[{"id":"a","open":true,"text":"eA==","undo":"FQ==","probed":true},{"id":"a"}],"forgot":true}`))
	f.Add([]byte(`{"deliveries":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &DeliveryLog{Limit: 2}
		if d.UnmarshalJSON(data) != nil {
			return
		}
		d.Touch()
		d.Begin("new", []byte("x"), nil)
		if a := d.Account("new"); a.Last == nil || a.Last.ID != "new" || !a.Last.Open || a.Asked == nil {
			t.Errorf("%+v", a)
		}
	})
}
