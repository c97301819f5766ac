package proc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// LoopbackUID returns the user ID at the other end of a TCP connection within this machine. local is the address of this
// process, remote the address of the peer. The connection must be open.
func LoopbackUID(local, remote netip.AddrPort) (int, error) {
	for _, table := range []struct {
		path string
		hex  func(netip.AddrPort) string
	}{{"/proc/self/net/tcp", kernelV4}, {"/proc/self/net/tcp6", kernelV6}} {
		text, err := os.ReadFile(table.path)
		if err != nil {
			continue // the protocol is not available; the peer may be in the other table
		}
		mine, theirs := table.hex(local), table.hex(remote)
		for line := range bytes.Lines(text) {
			// sl local_address rem_address st tx:rx tr:when retrnsmt uid ...
			if f := strings.Fields(string(line)); len(f) > 7 && f[1] == theirs && f[2] == mine {
				return strconv.Atoi(f[7])
			}
		}
	}
	return 0, fmt.Errorf("no socket of this machine is %s", remote)
}

// kernelV4 returns an address in the format of /proc/net/tcp: the IP address as a word in the byte order of the machine.
func kernelV4(a netip.AddrPort) string {
	ip := a.Addr().Unmap().As4()
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip[:]), a.Port())
}

// kernelV6 returns an address in the format of /proc/net/tcp6.
func kernelV6(a netip.AddrPort) string {
	ip, text := a.Addr().As16(), ""
	for i := 0; i < len(ip); i += 4 {
		text += fmt.Sprintf("%08X", binary.NativeEndian.Uint32(ip[i:]))
	}
	return fmt.Sprintf("%s:%04X", text, a.Port())
}
