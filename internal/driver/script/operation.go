package script

import "slices"

// The operations of version 0. The argument after the operation is the session's
// name unless the operation's row says otherwise.
const (
	OpProtocol        = "protocol"
	OpStart           = "start"
	OpProvision       = "provision"
	OpStop            = "stop"
	OpInterrupt       = "interrupt"
	OpIsRunning       = "is-running"
	OpIsAttached      = "is-attached"
	OpProcessAlive    = "process-alive"
	OpAttach          = "attach"
	OpNudge           = "nudge"
	OpSendKeys        = "send-keys"
	OpSetMeta         = "set-meta"
	OpGetMeta         = "get-meta"
	OpRemoveMeta      = "remove-meta"
	OpPeek            = "peek"
	OpClearScrollback = "clear-scrollback"
	OpListRunning     = "list-running"
	OpGetLastActivity = "get-last-activity"
	OpCopyTo          = "copy-to"
	OpExec            = "exec"
)

// The operations that are called only if the handshake declares them.
const (
	OpWatch             = "watch"
	OpRunLive           = "run-live"
	OpObserve           = "observe"
	OpObserveAll        = "observe-all"
	OpScreen            = "screen"
	OpStopInstance      = "stop-instance"
	OpInterruptInstance = "interrupt-instance"
	OpDeliver           = "deliver"
	OpSettle            = "settle"
)

// Missing is what a caller makes of exit code 2.
type Missing uint8

// The meanings of exit code 2. The zero value is the strict one.
const (
	Unsupported Missing = iota // an error matching errors.ErrUnsupported
	Harmless                   // success: nothing can be lost by it
)

// Operation is one row of the wire's table.
type Operation struct {
	Name    string
	Args    string     // after the operation's name
	Stdin   string     // what the script reads; empty for nothing
	Stdout  string     // what it prints; empty for nothing that is read
	Needs   Capability // which must be declared before it is called; empty for none
	Missing Missing
	// Reads says that the operation changes nothing, so that it may be cut off and
	// called again.
	Reads bool
}

const argName = "<name>"

// Operations returns the whole wire in the order of the reference.
func Operations() []Operation {
	return []Operation{
		{Name: OpProtocol, Stdout: "handshake", Missing: Harmless, Reads: true},
		{Name: OpStart, Args: argName, Stdin: "start"},
		{Name: OpStop, Args: argName},
		{Name: OpInterrupt, Args: argName},
		{Name: OpIsRunning, Args: argName, Stdout: "true or false", Reads: true},
		{Name: OpListRunning, Args: "<prefix>", Stdout: "one name per line", Reads: true},
		{Name: OpProcessAlive, Args: argName, Stdin: "process names, one per line", Stdout: "true or false", Reads: true},
		{Name: OpNudge, Args: argName, Stdin: "text", Stdout: "outcome or nothing"},
		{Name: OpSendKeys, Args: argName + " <key>..."},
		{Name: OpPeek, Args: argName + " <lines>", Stdout: "text", Reads: true},
		{Name: OpClearScrollback, Args: argName, Missing: Harmless},
		{Name: OpAttach, Args: argName, Stdin: "terminal", Stdout: "terminal"},
		{Name: OpIsAttached, Args: argName, Stdout: "true or false", Needs: CapAttachment, Missing: Harmless, Reads: true},
		{Name: OpGetLastActivity, Args: argName, Stdout: "RFC 3339 or nothing", Missing: Harmless, Reads: true},
		{Name: OpSetMeta, Args: argName + " <key>", Stdin: "value"},
		{Name: OpGetMeta, Args: argName + " <key>", Stdout: "value", Missing: Harmless, Reads: true},
		{Name: OpRemoveMeta, Args: argName + " <key>", Missing: Harmless},
		{Name: OpCopyTo, Args: argName + " <src> <rel-dst>"},
		{Name: OpRunLive, Args: argName, Stdin: "start", Needs: CapRunLive},
		{Name: OpExec, Args: argName, Stdin: "command line", Stdout: "output", Needs: CapExec},
		{Name: OpProvision, Args: argName, Stdin: "start", Needs: CapProvision},
		{Name: OpWatch, Stdout: "events, one per line", Needs: CapWatch, Reads: true},
		{Name: OpObserve, Args: argName, Stdout: "observation", Needs: CapObserve, Reads: true},
		{Name: OpObserveAll, Args: "<prefix>", Stdout: "observations, one per line", Needs: CapObserve, Reads: true},
		{Name: OpScreen, Args: argName, Stdout: "screen", Needs: CapScreen, Reads: true},
		{Name: OpStopInstance, Args: argName, Stdin: "instance token", Needs: CapFence},
		{Name: OpInterruptInstance, Args: argName, Stdin: "instance token", Needs: CapFence},
		{Name: OpDeliver, Args: argName, Stdin: "delivery", Stdout: "outcome", Needs: CapDeliver},
		{Name: OpSettle, Args: argName, Stdin: "delivery", Stdout: "outcome", Needs: CapSettle},
	}
}

// Lookup returns the row of an operation; ok is false if there is none.
func Lookup(name string) (op Operation, ok bool) {
	ops := Operations()
	at := slices.IndexFunc(ops, func(o Operation) bool { return o.Name == name })
	if at < 0 {
		return Operation{}, false
	}
	return ops[at], true
}

// The exit codes of a script. Any other is a failure, too.
const (
	ExitOK      = 0
	ExitFailed  = 1
	ExitMissing = 2 // the operation is unknown or not implemented
)
