package proc_test

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"gascity/internal/proc"
)

func TestLoopbackUIDIsThatOfThePeer(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, err := new(net.Dialer).DialContext(t.Context(), "tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	local, remote := netip.MustParseAddrPort(in.LocalAddr().String()), netip.MustParseAddrPort(in.RemoteAddr().String())
	if uid, err := proc.LoopbackUID(local, remote); err != nil || uid != os.Getuid() {
		t.Errorf("the peer is user %d, %v; it is %d", uid, err, os.Getuid())
	}
	if uid, err := proc.LoopbackUID(local, netip.AddrPortFrom(remote.Addr(), 1)); err == nil {
		t.Errorf("the unprivileged user has id %d", uid)
	}
}
