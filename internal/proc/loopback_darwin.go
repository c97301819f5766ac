package proc

import (
	"errors"
	"fmt"
	"net/netip"
)

// LoopbackUID returns errors.ErrUnsupported: this system does not report the user.
func LoopbackUID(_, _ netip.AddrPort) (int, error) {
	return 0, fmt.Errorf("the user of a TCP connection: %w", errors.ErrUnsupported)
}
