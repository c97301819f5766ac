package bridge

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// exitBySignal ends this process by a signal, so that its parent sees how the agent ended.
func exitBySignal(sig syscall.Signal) {
	signal.Reset(sig)
	if syscall.Kill(os.Getpid(), sig) == nil {
		<-time.After(time.Second) // it is on its way
	}
}
