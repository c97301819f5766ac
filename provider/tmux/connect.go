package tmux

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/internal/retry"
	"gascity/internal/statedir"
)

// startMode determines whether connecting may start a server.
type startMode uint8

const (
	mustListen startMode = iota
	mayStart
)

const (
	// handshakeTime is the limit of one attempt to connect again.
	handshakeTime = 10 * time.Second
	// firstPause and longestPause are the shortest and the longest pause between attempts to connect again.
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
	// startAttempts is the number of attempts to connect while a server is starting or exiting.
	startAttempts = 5
)

// connect connects the client unless it is connected, and returns the server. While the client is reconnecting, connect
// waits.
func (c *controlClient) connect(ctx context.Context, how startMode) (serverProcess, error) {
	for {
		server, changed, err := c.tryConnect(ctx, how)
		if changed == nil {
			return server, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return serverProcess{}, context.Cause(ctx)
		}
	}
}

// tryConnect connects as connect does, but does not wait while the client is reconnecting: it then returns a channel
// that is closed at the next change of state. changed is nil otherwise.
func (c *controlClient) tryConnect(ctx context.Context, how startMode) (server serverProcess, changed chan struct{}, err error) {
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-ctx.Done():
		return serverProcess{}, nil, context.Cause(ctx)
	case <-c.closing:
		return serverProcess{}, nil, errClosed
	}
	c.mu.Lock()
	state, known, changed := c.state, c.known, c.changed
	c.mu.Unlock()
	switch state {
	case connected:
		return known, nil, nil
	case closed:
		return serverProcess{}, nil, errClosed
	case reconnecting:
		return serverProcess{}, changed, nil
	case neverConnected, serverLost:
	}
	made, err := c.open(ctx, how)
	if err != nil {
		return serverProcess{}, nil, err
	}
	if err := c.adopt(ctx, made, state == serverLost); err != nil {
		return serverProcess{}, nil, err
	}
	return made.server, nil, nil
}

// opened is a connection whose server has answered, with the server's identity and features.
type opened struct {
	connection *connection
	server     serverProcess
	features   serverFeatures
}

// open starts a client process that is attached to the server's hub. It retries up to startAttempts times.
func (c *controlClient) open(ctx context.Context, how startMode) (opened, error) {
	binary, err := findProgram(c.options.Binary, c.options.Path)
	if err != nil {
		return opened{}, err
	}
	for attempt := 1; ; attempt++ {
		made, err := c.openOnce(ctx, binary, how)
		final := errors.Is(err, errNoServer) || errors.Is(err, errSocketPath) || errors.Is(err, errTooOld)
		if err == nil || final || attempt == startAttempts {
			return made, err
		}
		select {
		case <-time.After(time.Duration(attempt) * 20 * time.Millisecond):
		case <-ctx.Done():
			return opened{}, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-c.closing:
			return opened{}, errClosed
		}
	}
}

// openOnce makes one attempt to connect to the tmux server, and starts the server if how says so. On success the
// connection is ready for requests.
func (c *controlClient) openOnce(ctx context.Context, binary string, how startMode) (opened, error) {
	listens, err := listening(ctx, c.options.Socket)
	switch {
	case err != nil:
		return opened{}, err
	case !listens && how == mustListen:
		return opened{}, fmt.Errorf("%w at %s", errNoServer, c.options.Socket)
	case !listens:
		if err := statedir.MakePrivate(filepath.Dir(c.options.Socket)); err != nil {
			return opened{}, fmt.Errorf("%w: %w", errSocketPath, err)
		}
		if err := c.checkVersion(ctx, binary); err != nil {
			return opened{}, err
		}
	}
	unlock, err := c.lockExclusive(ctx)
	if err != nil {
		return opened{}, err
	}
	defer unlock()
	// The process continues to run after this call. close stops it.
	life := context.WithoutCancel(ctx)
	connection, err := connect(life, binary, c.arguments(how), c.options.Env, c.publish)
	if err != nil {
		return opened{}, fmt.Errorf("cannot start %s: %w", binary, err)
	}
	made, err := c.identifyServer(ctx, connection)
	if err != nil {
		now, cancel := context.WithCancel(life)
		cancel()
		connection.close(now)
		connection.fail(errInterrupted)
		if ctx.Err() != nil {
			return opened{}, context.Cause(ctx)
		}
		return opened{}, fmt.Errorf("cannot connect to tmux at %s: %w: %s", c.options.Socket, err, connection.last())
	}
	return made, nil
}

// arguments returns the arguments of tmux that attach to the hub, or create it. The program in the hub discards its input.
// The command new-session starts a server if none runs. Inside if-shell it does not.
func (c *controlClient) arguments(how startMode) []string {
	words := []string{
		"-A", "-s", hub, "-x", strconv.Itoa(defaultCols), "-y", strconv.Itoa(defaultRows), "/bin/sh", "-c", "exec cat >/dev/null",
	}
	args := []string{"-u", "-S", c.options.Socket, "-f", c.options.Config, "-C"}
	line, err := cmd("new-session", words...).Line()
	if how == mayStart || err != nil {
		return append(append(args, "new-session"), words...)
	}
	return append(args, "if-shell", "-F", "1", line)
}

// identifyServer queries the server's identity and features, and enables pauses if the server supports them.
func (c *controlClient) identifyServer(ctx context.Context, connection *connection) (opened, error) {
	usages, err := c.askUnadopted(ctx, connection, cmd("list-commands", "-F", "#{command_list_name} #{command_list_usage}")) // lists all commands: tmux 3.0 cannot list a single one
	if err != nil {
		return opened{}, err
	}
	identity, err := c.askUnadopted(ctx, connection, cmd("display-message", "-p", "#{pid} #{start_time} #{version}"))
	if err != nil {
		return opened{}, err
	}
	made := opened{connection: connection, features: featuresOf(usages)}
	if made.server, err = parseServer(string(identity.Output)); err != nil {
		return opened{}, err
	}
	if made.features.Pause {
		connection.canPause.Store(true)
		_, err = c.askUnadopted(ctx, connection, cmd("refresh-client", "-f", "pause-after=1,ignore-size"))
	}
	return made, err
}

// askUnadopted sends a command on a connection that is not adopted yet and returns the reply.
func (c *controlClient) askUnadopted(ctx context.Context, connection *connection, command tmuxCommand) (tmuxReply, error) {
	r := newRequest(command)
	if err := connection.send(r); err != nil {
		return tmuxReply{}, err
	}
	select {
	case <-connection.done:
		return tmuxReply{}, errInterrupted
	case <-c.closing:
		return tmuxReply{}, errClosed
	case <-r.done:
		return r.reply, r.reply.Err
	case <-ctx.Done():
		return tmuxReply{}, context.Cause(ctx)
	}
}

// parseServer parses "PID START_TIME VERSION".
func parseServer(text string) (serverProcess, error) {
	words := strings.Fields(text)
	if len(words) != 3 {
		return serverProcess{}, fmt.Errorf("%w: it identifies itself as %q", errProtocol, text)
	}
	pid, err := strconv.Atoi(words[0])
	started, err2 := strconv.ParseInt(words[1], 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return serverProcess{}, fmt.Errorf("%w: %w", errProtocol, err)
	}
	return serverProcess{PID: pid, Started: time.Unix(started, 0), Version: words[2]}, nil
}

// featuresOf returns the features of a server, by the usage lines of its commands.
func featuresOf(usages tmuxReply) serverFeatures {
	hasUsage := func(command, words string) bool {
		return slices.ContainsFunc(usages.Lines(), func(line string) bool {
			return strings.HasPrefix(line, command+" ") && strings.Contains(line, words)
		})
	}
	return serverFeatures{
		Pause:     hasUsage("refresh-client", "[-f flags]") && hasUsage("refresh-client", "[-A pane:state]"),
		HiddenEnv: hasUsage("set-environment", "[-Fh"),
	}
}

// adopt makes the connection the client's current one and starts to supervise it. If resync is true, each subscription
// gets an eventResync. It closes the connection and returns errClosed if the client is closed.
func (c *controlClient) adopt(ctx context.Context, made opened, resync bool) error {
	made.connection.adopted.Store(true)
	c.mu.Lock()
	if c.state == closed {
		c.mu.Unlock()
		made.connection.close(ctx)
		made.connection.fail(errClosed)
		return errClosed
	}
	c.known, c.features, c.lostReason = made.server, made.features, nil
	c.lossExpected = false
	c.enterLocked(connected, made.connection)
	if resync {
		for s := range c.subscriptions {
			s.push(controlEvent{Kind: eventResync})
		}
	}
	life := context.WithoutCancel(ctx)
	c.supervisors.Go(func() { c.supervise(life, made.connection) })
	c.mu.Unlock()
	c.options.Logger.Debug("connected to tmux", "socket", c.options.Socket, "pid", made.server.PID, "version", made.server.Version)
	return nil
}

// supervise waits until the connection breaks. It then marks the server as lost if no server listens, and connects again
// otherwise.
func (c *controlClient) supervise(ctx context.Context, connection *connection) {
	<-connection.done
	c.mu.Lock()
	if c.state == closed {
		c.mu.Unlock()
		return
	}
	c.enterLocked(reconnecting, nil)
	known := c.known
	c.mu.Unlock()
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-c.closing:
		connection.fail(errClosed)
		return
	}
	listens, err := listening(ctx, c.options.Socket)
	if err == nil && !listens {
		connection.fail(fmt.Errorf("%w: %w", errServerLost, errInterrupted))
		c.markLost(connection.last())
		return
	}
	connection.fail(errInterrupted)
	c.options.Logger.Info("the connection to tmux broke", "socket", c.options.Socket, "reason", connection.last())
	c.reconnect(ctx, known)
}

// reconnect connects to the known server again. It marks the server as lost if no server or another one listens. It
// retries other errors until the client is closed.
func (c *controlClient) reconnect(ctx context.Context, known serverProcess) {
	for delay := retry.New(firstPause, longestPause); ; {
		limited, cancel := context.WithTimeout(ctx, handshakeTime)
		made, err := c.open(limited, mustListen)
		cancel()
		switch {
		case errors.Is(err, errClosed):
			return
		case errors.Is(err, errNoServer):
			c.markLost(err.Error())
			return
		case err == nil && (made.server.PID != known.PID || !made.server.Started.Equal(known.Started)):
			now, cancel := context.WithCancel(ctx)
			cancel()
			made.connection.close(now)
			c.markLost(fmt.Sprintf("another server listens at %s, process %d instead of %d", c.options.Socket, made.server.PID, known.PID))
			return
		case err == nil:
			_ = c.adopt(ctx, made, true) // fails only if the client was closed
			return
		}
		c.options.Logger.Warn("cannot connect to tmux again", "socket", c.options.Socket, "error", err)
		select {
		case <-time.After(delay.Next()):
		case <-c.closing:
			return
		}
	}
}

// markLost sets the state serverLost and publishes one eventServerLost event with the reason why.
func (c *controlClient) markLost(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == closed {
		return
	}
	c.lostReason = fmt.Errorf("%w: %s", errServerLost, why)
	if why == "" {
		c.lostReason = errServerLost
	}
	c.enterLocked(serverLost, nil)
	for s := range c.subscriptions {
		s.push(controlEvent{Kind: eventServerLost, Text: why})
	}
	log := c.options.Logger.Warn
	if c.lossExpected {
		log = c.options.Logger.Debug
	}
	log("the tmux server is lost", "socket", c.options.Socket, "why", why)
}
