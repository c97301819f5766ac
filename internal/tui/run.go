package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"gascity/client"
	"gascity/internal/retry"
)

// Options are the options of [Run]. All are required but Colors and First.
type Options struct {
	City City
	// First is the state of the city that the first frame shows.
	First *client.Status
	// Terminal is the terminal: keys are read from it, and frames are written to Out.
	Terminal *os.File
	Out      io.Writer
	// Size returns the columns and rows of the terminal.
	Size   func() (cols, rows int)
	Colors Colors
	Now    func() time.Time
	// By is who answers and sends prompts, for people.
	By string
	// Detach names the keys that detach from an attached agent: "Ctrl-q or Ctrl-b d"; empty if they are not known.
	Detach func(client.Agent) string

	// Start starts an agent that does not run.
	Start func(ctx context.Context, a client.Agent) (client.Done, error)
	// Attach connects the terminal to an agent until the person detaches.
	Attach func(ctx context.Context, agent string) error
	// Suspend stops this process until it is continued.
	Suspend func() error
	// Edit opens the person's editor on a text and returns the new text.
	Edit func(ctx context.Context, text string) (string, error)
	// EditCity opens the person's editor on city.toml.
	EditCity func(ctx context.Context) error
	// Command runs a gc command and writes what it prints, for a terminal of the given columns.
	Command func(ctx context.Context, args []string, out io.Writer, cols int)
	// Complete returns the words that can complete the last argument.
	Complete func(ctx context.Context, args []string) []string
}

// frameGap is the shortest time between two frames that no key has caused.
const frameGap = 33 * time.Millisecond

// tickGap is how often ages are drawn again.
const tickGap = 10 * time.Second

// runner connects a model to a terminal and a city. Only the goroutine of Run, or that of its program, uses what is not guarded.
type runner struct {
	opts   Options
	model  *Model
	inbox  *inbox
	costly chan struct{} // holds a token if the costs are to be read
	queued chan struct{} // holds a token if the queue is to be read

	output      output
	watches     map[string]watch
	watched     time.Time // when the last screen was followed
	connections int       // number of connections to a controller
	outside     Effect
	failed      error // of a write to the terminal
	input       *input
	leaving     bool // the program has ended, or is about to
	presence    presence
	commands    map[int]context.CancelFunc

	ctx  context.Context //nolint:containedctx // that of Run
	work sync.WaitGroup
}

// newRunner returns a runner that follows nothing yet.
func newRunner(ctx context.Context, opts Options) *runner {
	return &runner{
		opts: opts, model: NewModel(opts.Now(), opts.Detach), inbox: newInbox(), costly: make(chan struct{}, 1), queued: make(chan struct{}, 1),
		output: output{colors: opts.Colors}, watches: map[string]watch{}, commands: map[int]context.CancelFunc{}, ctx: ctx,
	}
}

// Run shows the dashboard until the person quits or ctx ends.
func Run(parent context.Context, opts Options) error {
	ctx, cancel := context.WithCancel(parent)
	r := newRunner(ctx, opts)
	defer r.work.Wait()
	defer cancel()
	if opts.First != nil {
		r.model.Update(opts.Now(), StatusMsg{*opts.First})
	}
	for _, follow := range []func(context.Context){r.followStatus, r.followEvents, r.followCosts, r.followQueue} {
		r.work.Go(func() { follow(ctx) })
	}
	for {
		if err := r.show(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		switch e := r.outside.(type) {
		case Attach:
			r.report("back from "+e.Agent, opts.Attach(ctx, e.Agent))
		case Suspend:
			if err := opts.Suspend(); err != nil {
				r.report("", fmt.Errorf("cannot return to the shell: %w", err))
			}
		case EditCity:
			r.report("the editor was closed; the city applies a changed "+client.CityFile+" by itself", opts.EditCity(ctx))
		case Edit:
			text, err := opts.Edit(ctx, e.Text)
			r.inbox.put(EditedMsg{text, err})
		default:
			return nil
		}
	}
}

// show shows the dashboard on the terminal until an effect needs the terminal itself, or ends the dashboard.
func (r *runner) show(parent context.Context) error {
	before, err := term.MakeRaw(int(r.opts.Terminal.Fd()))
	if err != nil {
		return fmt.Errorf("cannot set up the terminal: %w", err)
	}
	r.outside, r.leaving, r.input = nil, false, newInput(r.opts.Terminal)
	r.output.reset()
	r.write([]byte(outputBegin))
	cols, rows := r.opts.Size()
	r.handle(append([]Msg{Resize{cols, rows}}, r.inbox.take()...)...) // the program before may have lost the word that there are messages
	r.seen()
	ctx, cancel := context.WithCancel(parent)
	program := tea.NewProgram(r, tea.WithContext(ctx), tea.WithInput(r.input), tea.WithOutput(io.Discard), tea.WithoutRenderer(),
		tea.WithoutSignalHandler(), tea.WithFPS(1), tea.WithEnvironment([]string{"TERM=xterm-256color"})) // without TMUX: it would start tmux
	var feeders sync.WaitGroup
	feeders.Go(func() { r.feed(ctx, program) })
	feeders.Go(func() { r.watchSize(ctx, program) })
	_, err = program.Run()
	r.input.end()
	cancel()
	feeders.Wait()
	r.unseen()
	r.write([]byte(outputEnd))
	restored := term.Restore(int(r.opts.Terminal.Fd()), before)
	if errors.Is(err, tea.ErrProgramKilled) && parent.Err() != nil {
		err = nil
	}
	return errors.Join(err, r.failed, restored)
}

// feed sends a message to the program when there is something in the inbox, at most one for each frame, and when ages change.
func (r *runner) feed(ctx context.Context, program *tea.Program) {
	ticker := time.NewTicker(tickGap)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			program.Send(Tick{})
		case <-r.inbox.wake:
			program.Send(received{})
			if !retry.Sleep(ctx, frameGap) {
				return
			}
		}
	}
}

// received is the message that the inbox has messages.
type received struct{}

// watchSize sends the size of the terminal when it changes.
func (r *runner) watchSize(ctx context.Context, program *tea.Program) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			cols, rows := r.opts.Size()
			program.Send(Resize{cols, rows})
		}
	}
}

// Init implements tea.Model: bubbletea reads the keys and calls Update for each message. The runner draws by itself.
func (*runner) Init() tea.Cmd { return nil }

// View implements tea.Model. The program has no renderer.
func (*runner) View() tea.View { return tea.View{} }

// Update implements tea.Model. It handles nothing after an effect that needs the terminal: what comes then is not for the dashboard.
func (r *runner) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if r.leaving {
		return r, nil
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		r.press(Key{Name: msg.String(), Text: msg.Text})
	case tea.PasteMsg:
		r.press(Paste{msg.Content})
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft {
			r.press(Mouse{X: msg.X, Y: msg.Y})
		}
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			r.press(Mouse{X: msg.X, Y: msg.Y, Wheel: -3})
		case tea.MouseWheelDown:
			r.press(Mouse{X: msg.X, Y: msg.Y, Wheel: 3})
		default:
		}
	case tea.FocusMsg:
		r.seen()
	case tea.BlurMsg:
		r.unseen()
	case Resize, Tick:
		r.handle(msg)
	case received:
		r.handle(r.inbox.take()...)
	default:
		return r, nil
	}
	if r.outside != nil || r.failed != nil {
		r.leaving = true
		r.input.end()
		return r, tea.Quit
	}
	return r, nil
}

// press handles what the person does.
func (r *runner) press(msg Msg) {
	r.seen()
	r.handle(msg)
	if key, ok := msg.(Key); ok && r.outside == nil {
		r.input.done(key.Name)
	}
}

// handle updates the model by messages, carries out the effects, and draws one frame.
func (r *runner) handle(messages ...Msg) {
	now := r.opts.Now()
	for _, msg := range messages {
		if l, ok := msg.(LinkMsg); ok && l.Err == nil {
			if r.connections++; r.connections > 1 {
				r.seenAgain()
			}
		}
		for _, effect := range r.model.Update(now, msg) {
			r.do(effect)
		}
	}
	r.watch(r.ctx)
	if r.outside == nil {
		r.draw()
	}
}

// draw writes what has changed since the last frame.
func (r *runner) draw() {
	f := r.model.View()
	if b := r.output.frame(f.canvas, f.cursor); b != nil {
		r.write(b)
	}
}

func (r *runner) write(b []byte) {
	if _, err := r.opts.Out.Write(b); err != nil && r.failed == nil {
		r.failed = fmt.Errorf("cannot write to the terminal: %w", err)
	}
}

// do carries out an effect, a [task] in a goroutine. Effects that need the terminal
// itself, such as an attachment, are only stored: they are carried out outside of the dashboard.
func (r *runner) do(effect Effect) {
	switch e := effect.(type) {
	case Quit, Attach, Edit, EditCity, Suspend:
		r.outside = e
	case Redraw:
		r.output.reset()
	case LoadQueue:
		wake(r.queued)
	case task:
		r.work.Go(func() { e.carryOut(r.ctx, r) })
	case Command:
		r.run(e)
	case CancelCommand:
		r.commands[e.ID]()
		delete(r.commands, e.ID)
	}
}

// run runs a command until it ends or is cancelled.
func (r *runner) run(e Command) {
	ctx, cancel := context.WithCancel(r.ctx)
	r.commands[e.ID] = cancel
	cols := r.model.cols - 2
	r.work.Go(func() {
		defer cancel()
		r.opts.Command(ctx, e.Args, pageWriter{r.inbox, e.ID}, cols)
		r.inbox.put(PageMsg{ID: e.ID, Done: true})
	})
}

// pageWriter puts the output of a command into the inbox.
type pageWriter struct {
	inbox *inbox
	id    int
}

// Write implements io.Writer.
func (w pageWriter) Write(p []byte) (int, error) {
	w.inbox.put(PageMsg{ID: w.id, Output: string(p)})
	return len(p), nil
}
