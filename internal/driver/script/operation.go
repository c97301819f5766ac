package script

import "slices"

// The operations of version 0. The first argument is the session's name unless the operation's row in [Operations] says
// otherwise.
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

// The operations that gc calls only if the handshake declares them.
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

// Missing is the meaning of exit code 2 for the caller.
type Missing uint8

// The meanings of exit code 2.
const (
	Unsupported Missing = iota // an error that matches errors.ErrUnsupported
	Harmless                   // success: nothing is lost without the operation
)

// Operation is one row of the table of operations.
type Operation struct {
	Name    string
	Args    string     // arguments after the operation's name
	Stdin   string     // what the script reads; empty means nothing
	Stdout  string     // what the script prints; empty means that the output is ignored
	Needs   Capability // capability that the handshake must declare; empty means none
	Missing Missing
	// Reads reports that the operation changes nothing, so that it may be cancelled and called again.
	Reads bool
}

const argName = "<name>"

// Operations returns all operations in the order of the reference.
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

// Lookup returns the row of the named operation and reports whether there is one.
func Lookup(name string) (op Operation, ok bool) {
	ops := Operations()
	at := slices.IndexFunc(ops, func(o Operation) bool { return o.Name == name })
	if at < 0 {
		return Operation{}, false
	}
	return ops[at], true
}

// The exit codes of a script. Any other code is a failure, too.
const (
	ExitOK      = 0
	ExitFailed  = 1
	ExitMissing = 2 // the operation is unknown or not implemented
)
