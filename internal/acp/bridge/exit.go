package bridge

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// exitBySignal sends a signal to this process, so that its parent sees the same signal that ended
// the agent.
func exitBySignal(sig syscall.Signal) {
	signal.Reset(sig)
	if syscall.Kill(os.Getpid(), sig) == nil {
		<-time.After(time.Second) // wait for the signal to be delivered
	}
}
