package guard

// Regime is what a city wants of its guard beside the rules. The zero value is that of
// a city without one.
type Regime struct {
	On       bool   // tools are guarded
	Lenient  bool   // a session that has not shown that it asks gets its prompts all the same
	OnBypass Bypass // empty is [BypassStop]
}

// Bypass is what happens to a session that ran a tool which was denied.
type Bypass string

// What may happen. All of it is recorded and logged.
const (
	BypassStop      Bypass = "stop"      // it is suspended until a person resumes it
	BypassInterrupt Bypass = "interrupt" // its turn is ended
	BypassReport    Bypass = "report"    // nothing more
)
