package shell

import "testing"

// TestTablesHaveEachNameOnce builds every table, and checks that none can be built with a name in two rows: which of the rows such
// a name gets would be random.
func TestTablesHaveEachNameOnce(t *testing.T) {
	for table, names := range map[string]int{"carriers": len(carriers()), "programFiles": len(programFiles()), "patternFirst": len(patternFirst())} {
		if names == 0 {
			t.Errorf("%s is empty", table)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a table was built with a name in two rows")
		}
	}()
	byName(map[string]int{"one two": 1, "two three": 2})
}
