package shim

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/terminal/vt"
)

func attach(t *testing.T, c *Client, req AttachRequest) net.Conn {
	t.Helper()
	conn, err := c.Attach(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func attached(t *testing.T, c *Client, n int) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%d viewers", n), func() bool {
		s, err := c.State(t.Context())
		return err == nil && s.Attached == n
	})
}

func send(t *testing.T, conn net.Conn, kind AttachKind, payload []byte) {
	t.Helper()
	if _, err := (AttachMessage{Kind: kind, Payload: payload}).WriteTo(conn); err != nil {
		t.Fatal(err)
	}
}

func size(cols, rows int) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, uint16(cols)), uint16(rows))
}

// view reads frames into a terminal until it shows the text.
func view(t *testing.T, conn net.Conn, screen *vt.Screen, text string) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(strings.Join(screen.Rows(), "\n"), text) {
		m, err := ReadAttachMessage(conn)
		if err != nil {
			t.Fatalf("waiting for %q: %v in\n%s", text, err, strings.Join(screen.Rows(), "\n"))
		}
		if m.Kind == AttachOutput {
			screen.Write(m.Payload)
		}
	}
}

// The viewer that was active last decides the size; who only reads never does.
func TestViewersOfDifferentSizes(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("v", "trap 'stty size' WINCH; echo up; while :; do sleep 0.02; done"))
	frameWith(t, c, "up")
	big := attach(t, c, AttachRequest{Cols: 100, Rows: 30})
	attached(t, c, 1)
	small := attach(t, c, AttachRequest{Cols: 60, Rows: 20})
	attached(t, c, 2)
	attach(t, c, AttachRequest{Cols: 10, Rows: 5, ReadOnly: true})
	frameWith(t, c, "20 60")
	send(t, big, AttachInput, []byte("x"))
	frameWith(t, c, "30 100")
	send(t, big, AttachSize, size(90, 25))
	frameWith(t, c, "25 90")
	screen := vt.New(60, 20, nil)
	view(t, small, screen, "25 90")
	big.Close()
	waitFor(t, "the size of who is left", func() bool {
		s, err := c.State(t.Context())
		return err == nil && s.Cols == 60 && s.Rows == 20
	})
	small.Close()
	frameWith(t, c, "50 200")
	attached(t, c, 1)
}

// A person who leaves an agent that does not read is gone, whatever was typed.
func TestViewerOfADeafAgentLeaves(t *testing.T) {
	t.Parallel()
	f := testFleet(t)
	c := start(t, f, spec("deaf", "stty raw -echo; echo up; sleep 1000"))
	frameWith(t, c, "up")
	conn := attach(t, c, AttachRequest{Cols: 80, Rows: 24})
	attached(t, c, 1)
	for range 40 {
		send(t, conn, AttachInput, bytes.Repeat([]byte("x"), 4<<10))
	}
	conn.Close()
	attached(t, c, 0)
}

// Nothing that a viewer sends makes the session fail.
func TestMalformedAttachMessages(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("m", "cat"))
	for _, req := range []AttachRequest{{}, {Cols: -1, Rows: 5}, {Cols: 1 << 20, Rows: 5}, {Cols: 80}} {
		if conn, err := c.Attach(t.Context(), req); err == nil {
			conn.Close()
			t.Errorf("an attach of %+v succeeds", req)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, raw := range [][]byte{
		{},
		{'i'},
		{'s', 0, 0, 0, 4},
		{'s', 0, 0, 0, 3, 1, 2, 3},
		{'z', 0, 0, 0, 1, 9},
		{0, 0, 0, 0, 0},
		{'i', 0xff, 0xff, 0xff, 0xff, 1},
		append([]byte{'s', 0, 0, 0, 4}, size(0, 0)...), append([]byte{'s', 0, 0, 0, 4}, size(65535, 65535)...),
		append([]byte{'s', 0, 0, 0, 4}, size(1, 1)...),
		{'o', 0, 0, 0, 0},
		{'x', 0, 0, 0, 0},
		{'d', 0, 0, 0, 0},
	} {
		conn := attach(t, c, AttachRequest{Cols: 80, Rows: 24})
		if _, err := conn.Write(raw); err != nil {
			t.Fatal(err)
		}
		noise := make([]byte, 300)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		_, _ = conn.Write(noise) // it may have hung up
		conn.Close()
	}
	attached(t, c, 0)
	s, err := c.State(t.Context())
	if err != nil || s.Cols != DefaultCols || s.Rows != DefaultRows {
		t.Errorf("afterwards the terminal is %dx%d, %v", s.Cols, s.Rows, err)
	}
}

// A hundred viewers, some of them never reading, and a storm of sizes disturb
// neither the agent nor those who ask.
func TestManyViewersAndAStormOfSizes(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("storm", "i=0; while :; do i=$((i+1)); echo line $i with some text; done"))
	var conns []net.Conn
	for i := range 100 {
		conn := attach(t, c, AttachRequest{Cols: 80 + i, Rows: 24, ReadOnly: i%2 == 0})
		conns = append(conns, conn)
		if i%4 != 0 {
			go io.Copy(io.Discard, conn) //nolint:errcheck // ends with the connection
		}
	}
	var wg sync.WaitGroup
	for i, conn := range conns[:10] {
		wg.Go(func() {
			for n := range 20 {
				message := AttachMessage{Kind: AttachSize, Payload: size(20+(n*i)%300, 5+n)}
				if _, err := message.WriteTo(conn); err != nil {
					t.Error(err)
				}
			}
		})
	}
	slowest := time.Duration(0)
	for range 20 {
		began := time.Now()
		if _, err := c.Frame(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Text(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(began))
	}
	wg.Wait()
	t.Logf("slowest frame and text: %v", slowest)
	if slowest > 10*time.Second {
		t.Errorf("a frame and a text took %v", slowest)
	}
	for _, conn := range conns {
		conn.Close()
	}
	attached(t, c, 0)
}

// The focus of a viewer's window is not a person typing.
func TestFocusIsNoTyping(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("focus", "stty raw -echo; echo up; cat"))
	frameWith(t, c, "up")
	conn := attach(t, c, AttachRequest{Cols: 80, Rows: 24})
	send(t, conn, AttachInput, []byte("\x1b[I"))
	send(t, conn, AttachInput, []byte("\x1b[O"))
	attached(t, c, 1)
	waitFor(t, "the agent to read it", func() bool { s, err := c.State(t.Context()); return err == nil && !s.LastOutput.IsZero() })
	if s, err := c.State(t.Context()); err != nil || !s.LastHuman.IsZero() {
		t.Errorf("a focus report counts as typing: %v, %v", s.LastHuman, err)
	}
	send(t, conn, AttachInput, []byte("x"))
	waitFor(t, "the typing", func() bool { s, err := c.State(t.Context()); return err == nil && !s.LastHuman.IsZero() })
}

// A viewer learns how the agent ended.
func TestViewerLearnsTheExit(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("exit", "read x; echo bye; exit 7"))
	conn := attach(t, c, AttachRequest{Cols: 80, Rows: 24})
	send(t, conn, AttachInput, []byte("\r"))
	for {
		m, err := ReadAttachMessage(conn)
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind != AttachExit {
			continue
		}
		var exit Exit
		if err := json.Unmarshal(m.Payload, &exit); err != nil || exit.Code != 7 {
			t.Errorf("exit %+v, %v; want 7", exit, err)
		}
		break
	}
	if _, err := ReadAttachMessage(conn); !errors.Is(err, io.EOF) {
		t.Errorf("after the exit: %v, want the end", err)
	}
}
