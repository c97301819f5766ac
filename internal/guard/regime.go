package guard

// Regime contains the city's guard settings other than the rules. The zero value is that of a city
// without a guard.
type Regime struct {
	On       bool   // tools are guarded
	Lenient  bool   // a session whose worker has not shown that it asks gets prompts anyway
	OnBypass Bypass // empty: [BypassStop]
}

// Bypass is the action for a session that ran a denied tool.
type Bypass string

// The actions. All of them are recorded and logged.
const (
	BypassStop      Bypass = "stop"      // the session is suspended until a person resumes it
	BypassInterrupt Bypass = "interrupt" // its turn is interrupted
	BypassReport    Bypass = "report"    // no further action
)

// DetailHookless explains to people why a session is unguarded if its program never asks the guard.
const DetailHookless = "unguarded: gc has no hooks for its program, such as a shell, so nothing asks gc before it uses a tool"
