package terminals_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/service/terminals"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// city is a provider with the session "a", and the service of its viewers.
func city(t *testing.T, mask func(string) string) (*fake.Provider, *terminals.Service) {
	t.Helper()
	p := fake.New()
	if err := p.Start(t.Context(), "a", runtime.Config{WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	s := terminals.New(terminals.Options{Mask: mask, Open: func(ctx context.Context, session string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
		return runtime.OpenTerminal(ctx, p, session, opts)
	}})
	t.Cleanup(s.Close)
	return p, s
}

// page is a viewer with an emulator.
type page struct {
	*terminals.Viewer
	t      *testing.T
	screen *vt.Screen
	driver terminals.Driver
}

func open(t *testing.T, s *terminals.Service, name string) *page {
	t.Helper()
	v, err := s.Open(t.Context(), "a", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return &page{Viewer: v, t: t, screen: vt.New(10, 3, nil)}
}

// until reads updates until ok is true.
func (p *page) until(what string, ok func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Second)
	defer cancel()
	for !ok() {
		u, err := p.Next(ctx)
		if err != nil {
			p.t.Fatalf("waiting for %s: %v; the screen shows\n%s", what, err, p.text())
		}
		if u.All {
			p.screen.Resize(u.Cols, u.Rows)
		}
		p.screen.Write(u.Output)
		if u.Driver != nil {
			p.driver = *u.Driver
		}
	}
}

func (p *page) text() string { return strings.Join(p.screen.Rows(), "\n") }

func (p *page) shows(text string) {
	p.t.Helper()
	p.until(text, func() bool { return strings.Contains(p.text(), text) })
}

func (p *page) driven(want terminals.Driver) {
	p.t.Helper()
	p.until("the driver", func() bool { return p.driver == want })
}

// TestViewersShareOneTerminal: every viewer shows the session, by one terminal of the provider, also one that comes late.
func TestViewersShareOneTerminal(t *testing.T) {
	t.Parallel()
	provider, service := city(t, nil)
	first := open(t, service, "first")
	first.shows("fake agent")
	if err := provider.Nudge("a", runtime.TextContent("the marker")); err != nil {
		t.Fatal(err)
	}
	first.shows("the marker")
	for range 20 {
		late := open(t, service, "late")
		late.shows("the marker")
		if late.text() != first.text() {
			t.Errorf("a late viewer shows\n%s\nwant\n%s", late.text(), first.text())
		}
	}
	if n := len(provider.Calls("OpenTerminal")); n != 1 {
		t.Errorf("%d terminals were opened, want 1", n)
	}
	if provider.IsAttached("a") {
		t.Error("viewers that watch count as attached")
	}
}

// TestOneViewerDrives: one viewer types at a time, the others see which, and it counts as attached.
func TestOneViewerDrives(t *testing.T) {
	t.Parallel()
	provider, service := city(t, nil)
	phone, laptop := open(t, service, "phone"), open(t, service, "laptop")
	phone.shows("fake agent")
	if err := phone.Write(t.Context(), []byte("x")); !errors.Is(err, terminals.ErrNotDriver) {
		t.Errorf("Write of a watcher = %v, want %v", err, terminals.ErrNotDriver)
	}
	if err := phone.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	phone.driven(terminals.Driver{Name: "phone", You: true})
	laptop.driven(terminals.Driver{Name: "phone"})
	if !provider.IsAttached("a") {
		t.Error("a viewer that types does not count as attached")
	}
	if err := phone.Write(t.Context(), []byte("from the phone")); err != nil {
		t.Fatal(err)
	}
	laptop.shows("from the phone")
	if err := laptop.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	phone.driven(terminals.Driver{Name: "laptop"})
	if err := phone.Write(t.Context(), []byte("x")); !errors.Is(err, terminals.ErrNotDriver) {
		t.Errorf("Write of the previous driver = %v, want %v", err, terminals.ErrNotDriver)
	}
	phone.Release() // changes nothing
	if err := laptop.Write(t.Context(), []byte(" and the laptop")); err != nil {
		t.Fatal(err)
	}
	phone.shows("from the phone and the laptop")
	laptop.Close()
	phone.driven(terminals.Driver{})
	if provider.IsAttached("a") {
		t.Error("without a driver the session counts as attached")
	}
}

// TestViewerClosesDuringTakeOver: the terminal that types is closed if its viewer closes before the take-over returns.
func TestViewerClosesDuringTakeOver(t *testing.T) {
	t.Parallel()
	p := fake.New()
	if err := p.Start(t.Context(), "a", runtime.Config{WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	opening, proceed := make(chan struct{}), make(chan struct{})
	s := terminals.New(terminals.Options{Open: func(ctx context.Context, session string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
		if opts.Type {
			close(opening)
			<-proceed
		}
		return runtime.OpenTerminal(ctx, p, session, opts)
	}})
	t.Cleanup(s.Close)
	watcher, phone := open(t, s, "watcher"), open(t, s, "phone") // the watcher keeps the session open
	watcher.shows("fake agent")
	took := make(chan error, 1)
	go func() { took <- phone.TakeOver(t.Context()) }()
	<-opening
	phone.Close()
	close(proceed)
	if err := <-took; !errors.Is(err, io.EOF) {
		t.Errorf("TakeOver of a closed viewer = %v, want %v", err, io.EOF)
	}
	if p.IsAttached("a") {
		t.Error("the terminal that types is open without a viewer")
	}
}

// TestViewersEnd: viewers end with their agent, with Close, and with the service.
func TestViewersEnd(t *testing.T) {
	t.Parallel()
	provider, service := city(t, nil)
	viewer := open(t, service, "v")
	viewer.shows("fake agent")
	closed := open(t, service, "closed")
	closed.Close()
	if _, err := closed.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Next after Close = %v, want %v", err, io.EOF)
	}
	if err := provider.Stop("a"); err != nil {
		t.Fatal(err)
	}
	var err error
	for err == nil {
		_, err = viewer.Next(t.Context())
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("Next after the agent has exited = %v, want %v", err, io.EOF)
	}
	if _, err := service.Open(t.Context(), "a", "v"); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("Open of a stopped session = %v, want %v", err, runtime.ErrSessionNotFound)
	}
	if err := provider.Start(t.Context(), "a", runtime.Config{WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	again := open(t, service, "v")
	again.shows("fake agent")
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := again.Next(t.Context()); err != nil {
				ended <- err
				return
			}
		}
	}()
	service.Close()
	if err := <-ended; !errors.Is(err, terminals.ErrClosed) {
		t.Errorf("Next after the service is closed = %v, want %v", err, terminals.ErrClosed)
	}
	if _, err := service.Open(t.Context(), "a", "v"); !errors.Is(err, terminals.ErrClosed) {
		t.Errorf("Open after the service is closed = %v, want %v", err, terminals.ErrClosed)
	}
}

// TestSecretsAreMasked: a viewer gets no secret that the agent prints.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	provider, service := city(t, func(text string) string { return strings.ReplaceAll(text, "hunter2", "*****") })
	if err := provider.Nudge("a", runtime.TextContent("my key is hunter2 today")); err != nil {
		t.Fatal(err)
	}
	viewer := open(t, service, "v")
	viewer.shows("my key is ***** today")
	if strings.Contains(viewer.text(), "hunter2") {
		t.Errorf("the screen shows the secret:\n%s", viewer.text())
	}
}

// TestRowsFollowTheScreen: a viewer of rows gets the screen once, then only rows that have changed, not more often than its pause, and
// the rows together are the screen. Without a change it gets nothing and the provider is asked for no frame.
func TestRowsFollowTheScreen(t *testing.T) {
	t.Parallel()
	provider, service := city(t, nil)
	v, err := service.Open(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	const pause = 50 * time.Millisecond
	shown := map[int]string{}
	updates := 0
	next := func(ctx context.Context) error {
		if err := v.AwaitChange(ctx, pause); err != nil {
			return err
		}
		u := v.ReadRows()
		if updates++; u.All != (updates == 1) {
			t.Errorf("update %d has All = %t", updates, u.All)
		}
		for _, row := range u.Lines {
			shown[row.Y] = ""
			for _, span := range row.Spans {
				shown[row.Y] += span.Text
			}
		}
		return nil
	}
	text := func() string {
		var all []string
		for _, y := range slices.Sorted(maps.Keys(shown)) {
			all = append(all, shown[y])
		}
		return strings.Join(all, "\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !strings.Contains(text(), "fake agent") {
		if err := next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	began, before := time.Now(), updates
	for i := range 20 {
		if err := provider.Nudge("a", runtime.TextContent(fmt.Sprintf("marker %d", i))); err != nil {
			t.Fatal(err)
		}
	}
	for !strings.Contains(text(), "marker 19") {
		if err := next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n, most := updates-before, int(time.Since(began)/pause)+1; n > most {
		t.Errorf("%d updates in %v, want at most %d", n, time.Since(began), most)
	}
	short, stop := context.WithTimeout(ctx, 3*pause)
	defer stop()
	for err = nil; err == nil; {
		err = next(short)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a change: %v", err)
	}
	page := open(t, service, "page")
	page.shows("marker 19")
	if want := strings.TrimRight(page.text(), "\n "); strings.TrimRight(text(), "\n ") != strings.Join(notEmpty(want), "\n") {
		t.Errorf("the rows are\n%s\nwant\n%s", text(), want)
	}
	if err := provider.Stop("a"); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; {
		err = next(ctx)
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v, want %v", err, io.EOF)
	}
}

// notEmpty returns the lines of a text that are not empty.
func notEmpty(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}
