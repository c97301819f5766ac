package exec

import (
	"testing"
	"time"

	"gascity/internal/driver/script"
)

// TestTimeLimits checks the documented time limit of each operation.
func TestTimeLimits(t *testing.T) {
	t.Parallel()
	p := &Provider{cfg: Config{Limit: defaultLimit, StartLimit: defaultStart, Handshake: defaultHandshake}}
	long := map[string]time.Duration{
		script.OpStart: 2 * time.Minute, script.OpProvision: 2 * time.Minute,
		script.OpDeliver: 2 * time.Minute, script.OpSettle: 2 * time.Minute, script.OpProtocol: 10 * time.Second,
	}
	for _, row := range script.Operations() {
		want, ok := long[row.Name]
		if !ok {
			want = 30 * time.Second
		}
		if got := p.processSpec(request{op: row.Name, name: "one"}, row); got.limit != want || got.grace < 2*time.Second {
			t.Errorf("%s may take %v and has %v to clean up, want %v and 2 s", row.Name, got.limit, got.grace, want)
		}
	}
}
