package proc

import (
	"errors"
	"fmt"
	"net/netip"
)

// LoopbackUID reports that this system does not report it: the error is
// errors.ErrUnsupported.
func LoopbackUID(_, _ netip.AddrPort) (int, error) {
	return 0, fmt.Errorf("the user of a TCP connection: %w", errors.ErrUnsupported)
}
