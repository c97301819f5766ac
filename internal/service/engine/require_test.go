package engine

import (
	"strings"
	"testing"
)

func TestRequiredNamesWhatIsMissing(t *testing.T) {
	type options struct {
		Log  any
		Now  func()
		Most int
	}
	Required(options{Log: 1, Now: func() {}})
	defer func() {
		if got, _ := recover().(string); !strings.HasSuffix(got, "options has no Now") {
			t.Errorf("panic = %q, want the name of the field", got)
		}
	}()
	Required(options{Log: 1})
	t.Error("an option that is missing is accepted")
}
