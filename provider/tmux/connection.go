package tmux

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gascity/internal/proc"
)

// maxOpen is the limit of requests that wait for a reply, so a suspended server cannot fill the memory of gc.
const maxOpen = 1 << 16

// secretLength is the number of random characters of a token, of 5 bits each. A longer token costs the server more
// time.
const secretLength = 20

// errNotSent reports that the connection was broken before the commands were
// sent.
var errNotSent = errors.New("not sent")

// connection is one process of tmux in control mode. It has two goroutines: one reads, and one writes what the process
// does not accept at once. The opener waits for done.
type connection struct {
	// Constant after construction.
	process *exec.Cmd
	stdin   *os.File
	raw     syscall.RawConn // of stdin
	stdout  io.ReadCloser
	stderr  *proc.Tail
	secret  string
	publish func(controlEvent)
	// wake has capacity one. A value means that the writer has something to do.
	wake chan struct{}
	// done is closed when the process has exited and both goroutines have returned.
	done chan struct{}

	// adopted: events go to the subscriptions.
	adopted atomic.Bool
	// canPause: the server can pause panes (tmux 3.2 or newer). Before 3.2 only the subscriptions limit a
	// flood of output, by dropping it.
	canPause atomic.Bool
	throttle throttle
	activity activity

	mu sync.Mutex
	// outgoing are the bytes to write, spare is an empty buffer for the next bytes. Guarded by mu.
	outgoing, spare []byte
	// writing: a goroutine writes until outgoing is empty. Guarded by mu.
	writing bool
	// left are the bytes that the process did not accept at once. The writer goroutine writes them, and writing
	// stays true meanwhile. Guarded by mu.
	left []byte
	// open are the requests whose replies have not begun, oldest first. Guarded by mu.
	open []*request
	// pauseCounts is, for each pane, the number of callers that have paused it. Guarded by mu.
	pauseCounts map[string]int
	// pausedPanes are the panes that the throttle has paused, in the order of their continuation. Guarded by mu.
	pausedPanes []pausedGroup
	// sent counts the requests. Guarded by mu.
	sent uint64
	// broken: nothing more is sent. Guarded by mu.
	broken bool
	// endText is the reason that tmux has printed for its exit. Guarded by mu.
	endText string
}

// connect starts tmux with the arguments and returns the connection to it. When ctx ends, the process is killed.
func connect(ctx context.Context, binary string, args, env []string, publish func(controlEvent)) (*connection, error) {
	c := &connection{
		process: exec.CommandContext(ctx, binary, args...),
		stderr:  &proc.Tail{},
		secret:  rand.Text()[:secretLength] + "-",
		publish: publish,
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	c.process.Env = env
	c.process.Dir = "/"
	c.process.Stderr = c.stderr
	c.process.WaitDelay = time.Second // in case another process keeps its standard error open
	c.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.start(); err != nil {
		return nil, err
	}
	stop, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		c.write(stop)
	}()
	go func() {
		defer close(c.done)
		c.read()
		close(stop)
		_ = c.stdin.Close() // unblocks the writer; the process is exiting
		<-written
		_ = c.process.Wait() // the exit status of a client does not matter
	}()
	return c, nil
}

// start starts the process and creates its pipes.
func (c *connection) start() error {
	input, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer input.Close()
	c.process.Stdin, c.stdin = input, ours
	if c.raw, err = ours.SyscallConn(); err == nil {
		c.stdout, err = c.process.StdoutPipe()
	}
	if err == nil {
		err = c.process.Start()
	}
	if err != nil {
		_ = ours.Close() // nothing was written
	}
	return err
}

// send queues the requests. If no other goroutine is writing, it also writes them to the process.
func (c *connection) send(requests ...*request) error {
	mustDrain, err := c.queue(requests)
	if mustDrain {
		c.drain(c.writeNow)
	}
	return err
}

// queue appends the requests to outgoing. If mustDrain is true, no other goroutine is writing and the caller must call drain.
func (c *connection) queue(requests []*request) (mustDrain bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		return false, errNotSent
	}
	for _, r := range requests {
		if asks := r.done != nil && !r.flush; asks { // the limit is not for this package's own commands: they are few, and make the server send what others wait for
			if len(c.open) >= maxOpen {
				return false, fmt.Errorf("%w: %d commands await a reply", errBusy, len(c.open))
			}
			c.recordActivity()
		}
		c.sent++
		r.token = c.secret + strconv.FormatUint(c.sent, 36)
		c.open = append(c.open, r)
		c.outgoing = append(c.outgoing, r.command.line...)
		c.outgoing = append(c.outgoing, "\ndisplay -p "...)
		c.outgoing = append(c.outgoing, r.token...)
		c.outgoing = append(c.outgoing, '\n')
	}
	mustDrain = !c.writing
	c.writing = true
	return mustDrain, nil
}

// drain writes outgoing until it is empty. If write does not accept all bytes, drain gives the rest to the writer
// goroutine.
func (c *connection) drain(write func(p []byte) (n int, err error)) {
	var done []byte
	for {
		c.mu.Lock()
		if cap(done) > 0 && cap(done) <= 1<<20 {
			c.spare = done[:0]
		}
		p := c.outgoing
		if len(p) == 0 || c.broken {
			c.writing = false
			c.mu.Unlock()
			return
		}
		c.outgoing, c.spare = c.spare, nil
		c.mu.Unlock()
		n, err := write(p)
		if err != nil {
			return // the process has exited or closed its input; the reader handles the exit
		}
		if n < len(p) {
			c.mu.Lock()
			c.left = p[n:]
			c.mu.Unlock()
			c.wakeWriter()
			return
		}
		done = p
	}
}

// writeNow writes the bytes that the process accepts at once. The sender itself calls it, because passing each line to
// another goroutine would double the cost of a small command.
func (c *connection) writeNow(p []byte) (n int, err error) {
	var refused error
	err = c.raw.Write(func(fd uintptr) bool {
		n, refused = syscall.Write(int(fd), p)
		return true
	})
	if errors.Is(refused, syscall.EAGAIN) || errors.Is(refused, syscall.EINTR) {
		refused = nil
	}
	return max(n, 0), cmp.Or(err, refused)
}

// wakeWriter makes the goroutine that writes to tmux check for new requests. It never blocks.
func (c *connection) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// ask sends a command and waits for its reply. The error is that of the reply, or the cause of ctx.
func (c *connection) ask(ctx context.Context, command tmuxCommand) (tmuxReply, error) {
	r := newRequest(command)
	if err := c.send(r); err != nil {
		return tmuxReply{}, err
	}
	select {
	case <-r.done:
		return r.reply, r.reply.Err
	case <-ctx.Done():
		return tmuxReply{}, context.Cause(ctx)
	}
}

// write is the writer goroutine. Until stop is closed it writes the bytes in left, continues paused panes and sends
// flush commands.
func (c *connection) write(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var r flushState
	for {
		now := time.Now()
		next, some := c.resumePaused(now)
		if flush, watched := c.sendFlush(&r, now); watched && (!some || flush < next) {
			next, some = flush, true
		}
		if some {
			timer.Reset(next)
		}
		select {
		case <-stop:
			return
		case <-c.wake:
		case <-timer.C:
			continue
		}
		c.mu.Lock()
		left := c.left
		c.left = nil
		c.mu.Unlock()
		if len(left) == 0 {
			continue
		}
		if _, err := c.stdin.Write(left); err != nil {
			return // the process has exited, as in drain
		}
		c.drain(c.stdin.Write)
	}
}

// read is the reader goroutine. It processes all lines until the process exits or violates the protocol.
func (c *connection) read() {
	t := &transcript{next: c.oldest, event: c.handle}
	input := bufio.NewReaderSize(c.stdout, 64<<10)
	var long []byte
	var err error
	for err == nil {
		var line []byte
		line, err = input.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) && len(long) < maxReply {
			long, err = append(long, line...), nil
			continue
		}
		if err != nil {
			break
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = line[:0]
		}
		asked := t.request
		err = t.feed(bytes.TrimSuffix(line, []byte("\n")))
		if asked != nil && t.request == nil && asked.done != nil && !asked.flush {
			c.recordActivity()
		}
		if cap(long) > 1<<20 {
			long = nil
		}
	}
	if !errors.Is(err, io.EOF) {
		_ = c.process.Process.Kill() // Wait was not called yet, so the pid is valid
		c.addEndText(err.Error())
	}
	c.addEndText(string(t.errorText))
	c.end(t.request)
}

// oldest removes the oldest open request and returns it; nil if there is none.
func (c *connection) oldest() *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) == 0 {
		return nil
	}
	first := c.open[0]
	c.open[0] = nil
	c.open = c.open[1:]
	return first
}

// handle processes one notification of tmux: it continues a pane that tmux has paused, and publishes the others as
// events.
func (c *connection) handle(event controlEvent) {
	c.recordActivity()
	switch {
	case event.Kind == eventExited:
		c.addEndText(event.Text)
	case event.Kind == eventPaused:
		if c.isPaused(event.Text) {
			return // resume continues the pane
		}
		_ = c.send(toEach([]string{event.Text}, "continue")...) // an error means that the connection is broken: nothing to continue
		c.publishEvent(controlEvent{Kind: eventOutput, Pane: event.Text, Gap: true})
	case event.Kind == eventContinued:
	case event.Kind == eventOutput && c.adopted.Load():
		c.output(event)
	default:
		c.publishEvent(event)
	}
}

// output processes output of a pane: it publishes the output and pauses panes that print too much.
func (c *connection) output(event controlEvent) {
	c.publish(event)
	if !c.canPause.Load() {
		return
	}
	now := time.Now()
	if loud := c.throttle.add(event.Pane, len(event.Data), now); len(loud) > 0 {
		c.pause(loud, now)
	}
}

// publishEvent publishes an event if the connection is adopted.
func (c *connection) publishEvent(event controlEvent) {
	if c.adopted.Load() {
		c.publish(event)
	}
}

// addEndText appends text to endText.
func (c *connection) addEndText(text string) {
	if text = string(bytes.TrimSpace([]byte(text))); text == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endText != "" {
		c.endText += ": "
	}
	c.endText += text
}

// end marks the connection as broken, so nothing more is sent on it. current is the request whose reply was being read; nil
// if there is none. Its reply is incomplete, so it counts as unanswered again.
func (c *connection) end(current *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = true
	if current != nil {
		c.open = append([]*request{current}, c.open...)
	}
}

// last returns the reason that tmux has printed for its exit. It may be called only after done is closed.
func (c *connection) last() string {
	c.addEndText(c.stderr.String())
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endText
}

// fail completes all open requests with err. It may be called only after done is closed.
func (c *connection) fail(err error) {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for _, request := range open {
		request.complete(tmuxReply{Err: err})
	}
}

// close stops the process by closing its input, and kills it when ctx ends. It returns when the process has exited and
// the goroutines have returned.
func (c *connection) close(ctx context.Context) {
	// A server does not close a client that has unsent lines, see flush.go. When the client has the reply to
	// a command, it also has all lines before the reply.
	if r := newRequest(cmd("display-message", "-p", "")); c.send(r) == nil {
		select {
		case <-r.done:
		case <-c.done:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	c.broken = true
	c.mu.Unlock()
	_ = c.stdin.Close() // a second Close is harmless
	select {
	case <-c.done:
	case <-ctx.Done():
		_ = c.process.Process.Kill() // an error means that it has exited already
		_ = c.stdout.Close()         // the server may keep the other end open
		<-c.done
	}
}
