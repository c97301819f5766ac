package bridge

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// exitBySignal kills this process with a signal, so that its parent sees how the agent exited.
func exitBySignal(sig syscall.Signal) {
	signal.Reset(sig)
	if syscall.Kill(os.Getpid(), sig) == nil {
		<-time.After(time.Second) // wait for the signal to be delivered
	}
}
