package control

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
)

// maxOpen bounds the requests that await a reply: a server that is stopped must not fill our memory.
const maxOpen = 1 << 16

// secretLength is how many random characters, of 5 bits each, a token has. The server takes
// its time for each.
const secretLength = 20

// errNotSent reports that the connection was broken before the commands were
// sent.
var errNotSent = errors.New("not sent")

// connection is one process of tmux in control mode. Three goroutines belong to it: one reads,
// one writes what the process does not take at once, and its opener waits for done.
type connection struct {
	// Constant after construction.
	process *exec.Cmd
	stdin   *os.File
	raw     syscall.RawConn // of stdin
	stdout  io.ReadCloser
	stderr  *tail
	secret  string
	publish func(Event)
	// wake has room for one: there is something for the writer to do.
	wake chan struct{}
	// done is closed when the process was waited for and both goroutines have ended.
	done chan struct{}

	// adopted: events are for the subscriptions.
	adopted atomic.Bool
	// signalPane is the pane whose output is signals. Constant once adopted.
	signalPane string
	// canPause: the server pauses panes, from the request on. Before 3.2 it cannot, and what it
	// sends of a flood is only dropped by the subscriptions.
	canPause atomic.Bool
	// signalled is the beginning of a line of the signal pane. Owned by the reader.
	signalled []byte
	throttle  throttle
	activity  activity

	mu sync.Mutex
	// outgoing are the bytes to write, spare is room for the next ones. Guarded by mu.
	outgoing, spare []byte
	// writing: somebody writes, and goes on until outgoing is empty. Guarded by mu.
	writing bool
	// left is what the process did not take at once; the writer has writing then. Guarded by mu.
	left []byte
	// open are the requests whose replies have not begun, oldest first. Guarded by mu.
	open []*request
	// pauseCounts counts, by pane, who wants it paused for now. Guarded by mu.
	pauseCounts map[string]int
	// pausedPanes are the panes that were paused by us, the first to be continued first. Guarded by mu.
	pausedPanes []pausedGroup
	// sent counts the requests. Guarded by mu.
	sent uint64
	// broken: nothing more is sent. Guarded by mu.
	broken bool
	// endText is what tmux said at the end. Guarded by mu.
	endText string
}

// connect starts tmux with the arguments. Ending ctx kills it.
func connect(ctx context.Context, binary string, args, env []string, publish func(Event)) (*connection, error) {
	c := &connection{
		process: exec.CommandContext(ctx, binary, args...),
		stderr:  &tail{},
		secret:  rand.Text()[:secretLength] + "-",
		publish: publish,
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	c.process.Env = env
	c.process.Dir = "/"
	c.process.Stderr = c.stderr
	c.process.WaitDelay = time.Second // for its standard error, should anybody hold it open
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
		_ = c.stdin.Close() // unblocks the writer; the process is ending
		<-written
		_ = c.process.Wait() // how a client ends does not matter: it ends with its connection
	}()
	return c, nil
}

// start starts the process with our ends of its pipes.
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

// send passes the commands; their replies go to the batch, which may be nil.
func (c *connection) send(b *batch, commands ...Command) error {
	first, err := c.queue(b, commands)
	if first {
		c.drain(c.writeNow)
	}
	return err
}

// queue appends the commands to what is to be written; if first, the caller writes it.
func (c *connection) queue(b *batch, commands []Command) (first bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		return false, errNotSent
	}
	asks := b != nil && !b.reminds
	if asks && len(c.open)+len(commands) > maxOpen { // ours are few, and have waiting replies come
		return false, fmt.Errorf("%w: %d commands await a reply", ErrBusy, len(c.open))
	}
	for i, command := range commands {
		c.sent++
		request := &request{command: command, token: c.secret + strconv.FormatUint(c.sent, 36), batch: b, index: i}
		c.open = append(c.open, request)
		c.outgoing = append(c.outgoing, command.line...)
		c.outgoing = append(c.outgoing, "\ndisplay -p "...)
		c.outgoing = append(c.outgoing, request.token...)
		c.outgoing = append(c.outgoing, '\n')
	}
	if asks {
		c.recordActivity()
	}
	first = !c.writing
	c.writing = true
	return first, nil
}

// drain writes until nothing is left or write does not take all: the rest is the writer's then.
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
			return // the process ends or closed its input; the reader sees its end
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

// writeNow writes what the process takes at once. The sender does it itself: handing each
// line to another goroutine takes as long as all else of a small command does on this side.
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

func (c *connection) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default: // it is awake already
	}
}

// request sends the commands and waits for the replies.
func (c *connection) request(ctx context.Context, commands ...Command) ([]Reply, error) {
	b := newBatch(len(commands))
	if err := c.send(b, commands...); err != nil {
		return nil, err
	}
	return b.wait(ctx)
}

// write writes what was left, lets panes go on that have rested, and reminds the server, until stop.
func (c *connection) write(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var r keepAliveState
	for {
		now := time.Now()
		next, some := c.resumePaused(now)
		if silent, watched := c.sendKeepAlive(&r, now); watched && (!some || silent < next) {
			next, some = silent, true
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
			return // as in drain
		}
		c.drain(c.stdin.Write)
	}
}

// read takes all lines until the process ends or breaks the protocol.
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
		if asked != nil && t.request == nil && asked.batch != nil && !asked.batch.reminds {
			c.recordActivity()
		}
		if cap(long) > 1<<20 {
			long = nil
		}
	}
	if !errors.Is(err, io.EOF) {
		_ = c.process.Process.Kill() // it has not been waited for, so it is ours
		c.addEndText(err.Error())
	}
	c.addEndText(string(t.errorText))
	c.end(t.request)
}

// oldest takes the request whose reply begins.
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

// handle receives a notification from the transcript.
func (c *connection) handle(event Event) {
	c.recordActivity()
	switch {
	case event.Kind == exited:
		c.addEndText(event.Text)
	case event.Kind == paused:
		if c.isPaused(event.Pane) {
			return // it is continued when the hold ends
		}
		_ = c.send(nil, Cmd("refresh-client", "-A", event.Pane+":continue")) // a broken connection needs no continuing
		c.publishEvent(Event{Kind: Output, Pane: event.Pane, Gap: true})
	case event.Kind == continued:
	case event.Kind == Output && c.adopted.Load():
		c.output(event)
	default:
		c.publishEvent(event)
	}
}

// output receives what a pane printed.
func (c *connection) output(event Event) {
	if event.Pane == c.signalPane {
		c.signal(event.Data)
		return
	}
	c.publish(event)
	if !c.canPause.Load() {
		return
	}
	now := time.Now()
	if loud := c.throttle.add(event.Pane, len(event.Data), now); len(loud) > 0 {
		c.pause(loud, now)
	}
}

func (c *connection) publishEvent(event Event) {
	if c.adopted.Load() {
		c.publish(event)
	}
}

// signal reads the echo of the signal pane: each line is a signal.
func (c *connection) signal(data []byte) {
	c.signalled = append(c.signalled, data...)
	for {
		line, rest, ok := bytes.Cut(c.signalled, []byte("\n"))
		if !ok {
			break
		}
		if text := string(bytes.TrimRight(line, "\r")); text != "" {
			c.publish(Event{Kind: Signal, Text: text})
		}
		c.signalled = append(c.signalled[:0], rest...)
	}
	if len(c.signalled) > maxErrorText {
		c.signalled = c.signalled[:0]
	}
}

// addEndText adds to what is known of the end.
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

// end lets nothing more be sent. The request that is being answered stays open.
func (c *connection) end(current *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = true
	if current != nil {
		c.open = append([]*request{current}, c.open...)
	}
}

// last returns what tmux said at the end, to be called after done.
func (c *connection) last() string {
	c.addEndText(c.stderr.String())
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endText
}

// fail answers all requests that are still open, to be called after done.
func (c *connection) fail(err error) {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for _, request := range open {
		request.batch.complete(request.index, Reply{Err: err})
	}
}

// close ends the process: by closing its input, by force when ctx ends. It returns
// when everything of the connection has ended.
func (c *connection) close(ctx context.Context) {
	// A server does not close a client with waiting lines, see keepalive.go: a client that has an
	// answer has the lines before it.
	if b := newBatch(1); c.send(b, Cmd("display-message", "-p", "")) == nil {
		select {
		case <-b.done:
		case <-c.done:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	c.broken = true
	c.mu.Unlock()
	_ = c.stdin.Close() // a second close does no harm
	select {
	case <-c.done:
	case <-ctx.Done():
		_ = c.process.Process.Kill() // an error says that it has ended already
		_ = c.stdout.Close()         // the server holds the other end too
		<-c.done
	}
}

// tail keeps the beginning of what a process writes to its standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), maxErrorText-len(t.text))]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
