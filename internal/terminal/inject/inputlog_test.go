package inject

import (
	"fmt"
	"testing"
)

func TestJournalIsBounded(t *testing.T) {
	var j DeliveryLog
	for i := range DefaultLogLimit + 1 {
		if j.forgot {
			t.Fatalf("forgot after %d", i)
		}
		j.Begin(fmt.Sprint(i), []byte("x"), nil)
	}
	if len(j.entries) != DefaultLogLimit || len(j.order) != DefaultLogLimit || !j.forgot || j.entries["0"] != nil {
		t.Errorf("%d entries, forgot: %v", len(j.entries), j.forgot)
	}
	for id, e := range j.entries {
		if open := e == j.last; e.Open != open || (e.Text != nil) != open {
			t.Errorf("%s: %+v", id, e)
		}
	}
}
