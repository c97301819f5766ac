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

// Operation is one row of the table of operations.
type Operation struct {
	Name  string
	Needs Capability // capability that the handshake must declare; empty means none
	// Harmless reports that exit code 2 counts as success, because nothing is lost without the operation. Otherwise it is an
	// error that matches errors.ErrUnsupported.
	Harmless bool
	// Reads reports that the operation changes nothing, so that it may be cancelled and called again.
	Reads bool
}

// Operations returns all operations in the order of the reference.
func Operations() []Operation {
	return []Operation{
		{Name: OpProtocol, Harmless: true, Reads: true},
		{Name: OpStart},
		{Name: OpStop},
		{Name: OpInterrupt},
		{Name: OpIsRunning, Reads: true},
		{Name: OpListRunning, Reads: true},
		{Name: OpProcessAlive, Reads: true},
		{Name: OpNudge},
		{Name: OpSendKeys},
		{Name: OpPeek, Reads: true},
		{Name: OpClearScrollback, Harmless: true},
		{Name: OpAttach},
		{Name: OpIsAttached, Needs: CapAttachment, Harmless: true, Reads: true},
		{Name: OpGetLastActivity, Harmless: true, Reads: true},
		{Name: OpSetMeta},
		{Name: OpGetMeta, Harmless: true, Reads: true},
		{Name: OpRemoveMeta, Harmless: true},
		{Name: OpCopyTo},
		{Name: OpRunLive, Needs: CapRunLive},
		{Name: OpExec, Needs: CapExec},
		{Name: OpProvision, Needs: CapProvision},
		{Name: OpWatch, Needs: CapWatch, Reads: true},
		{Name: OpObserve, Needs: CapObserve, Reads: true},
		{Name: OpObserveAll, Needs: CapObserve, Reads: true},
		{Name: OpScreen, Needs: CapScreen, Reads: true},
		{Name: OpStopInstance, Needs: CapFence},
		{Name: OpInterruptInstance, Needs: CapFence},
		{Name: OpDeliver, Needs: CapDeliver},
		{Name: OpSettle, Needs: CapSettle},
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
