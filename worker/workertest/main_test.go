package workertest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"gascity/worker"
)

// The test binary is a worker, too: a complete one, or one that breaks a promise.
func TestMain(m *testing.M) {
	if breaks := os.Getenv("WORKERTEST_BREAKS"); breaks != "" {
		p := &program{breaks: breaks, prompts: make(chan worker.Message, 64), interrupted: make(chan string, 1)}
		if err := p.run(context.Background()); err != nil { //nolint:forbidigo // this is a main
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is a worker that can do everything: "touch FILE" uses a tool, and "sleep" is a
// turn until it is interrupted.
type program struct {
	breaks      string
	c, told     *worker.Client // the client for its reports
	prompts     chan worker.Message
	interrupted chan string
}

func connect() *worker.Client {
	return &worker.Client{Socket: os.Getenv("GC_WORKER_SOCKET"), Token: os.Getenv("GC_WORKER_TOKEN"), RunID: os.Getenv("GC_RUN_ID")}
}

func (p *program) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.c = connect()
	p.told = p.c
	switch p.breaks {
	case "clings":
		p.told = connect()
	case "misnames":
		p.told = connect()
		p.told.RunID = "another"
	}
	all := []string{worker.OfferContext, worker.OfferIdentity, worker.OfferInterrupt, worker.OfferCompact, worker.OfferHealth, worker.OfferAuthorize}
	if err := p.told.Report(ctx, worker.Started, worker.Detail{Offers: all}); err != nil {
		return err
	}
	if p.breaks != "unproved" {
		if err := p.told.Prove(ctx); err != nil {
			return err
		}
	}
	if p.breaks != "unready" {
		if err := p.told.Report(ctx, worker.Ready, worker.Detail{}); err != nil {
			return err
		}
	}
	failed := make(chan error, 2)
	go func() { failed <- p.work(ctx) }()
	go func() { failed <- p.read(ctx) }()
	return <-failed
}

// read takes what the city sends.
func (p *program) read(ctx context.Context) error {
	if p.breaks == "stumbles" {
		return p.stumble(ctx)
	}
	for {
		for m, err := range p.c.Messages(ctx) {
			if err == nil {
				err = p.handle(ctx, m)
			}
			switch {
			case errors.Is(err, errLeaves):
				<-ctx.Done()
			case err != nil && p.breaks != "lingers":
				return err
			}
			if p.breaks == "forgets" && m.Kind == worker.PromptMessage { // what it has done
				p.c = connect()
				break
			}
		}
		switch p.breaks {
		case "lingers":
			<-time.After(10 * time.Millisecond)
		case "forgets":
		default:
			return nil
		}
	}
}

var errLeaves = errors.New("leaves")

// stumble reads the stream by itself, and fails at what is no message.
func (p *program) stumble(ctx context.Context) error {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", os.Getenv("GC_WORKER_SOCKET"))
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://city/stream", http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("GC_WORKER_TOKEN"))
	res, err := t.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		var m worker.Message
		if !found || json.Unmarshal([]byte(data), &m) != nil {
			continue
		}
		if err := p.handle(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// handle acts on a message.
func (p *program) handle(ctx context.Context, m worker.Message) error {
	ack := worker.Ack{ID: m.ID, State: worker.Consumed}
	switch m.Kind {
	case worker.PromptMessage:
		p.prompts <- m
		if p.breaks == "leaves" || p.breaks == "forgets" {
			for len(p.prompts) > 0 { // until it works on it
				<-time.After(time.Millisecond)
			}
		}
		if p.breaks == "leaves" {
			return errLeaves
		}
		return nil
	case worker.InterruptMessage:
		if p.breaks != "ignores" {
			p.interrupted <- m.ID
		}
		return nil
	case worker.ContextMessage:
		var c worker.Context
		if err := json.Unmarshal(m.Data, &c); err != nil {
			return err
		}
		for _, s := range c.Sections {
			ack.Nonces = append(ack.Nonces, s.Nonce)
		}
		if p.breaks == "invents" {
			ack.Nonces = []string{"made up"}
		}
	case worker.HealthMessage:
		if p.breaks == "silent" {
			return nil
		}
		return p.told.ReportHealth(ctx, worker.Health{Status: worker.Healthy, Question: m.ID, CurrentState: "idle"})
	case worker.CompactMessage:
		if p.breaks == "bloats" {
			ack.State = worker.Failed
		}
	default:
		ack.State = worker.Refused
		if p.breaks == "takes" {
			ack.State = worker.Consumed
		}
	}
	return p.told.Ack(ctx, ack)
}

// work works on one prompt after the other.
func (p *program) work(ctx context.Context) error {
	for {
		select {
		case id := <-p.interrupted: // between two turns
			if err := p.told.Ack(ctx, worker.Ack{ID: id, State: worker.Consumed}); err != nil {
				return err
			}
		case m := <-p.prompts:
			turns := 1
			if p.breaks == "twice" {
				turns = 2
			}
			for range turns {
				if err := p.turn(ctx, m); err != nil {
					return err
				}
			}
			if p.breaks == "dies" {
				return nil
			}
		}
	}
}

func (p *program) turn(ctx context.Context, m worker.Message) error {
	var prompt worker.Prompt
	if err := json.Unmarshal(m.Data, &prompt); err != nil {
		return err
	}
	if p.breaks == "strict" && prompt.Priority != worker.Normal {
		return p.told.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Refused})
	}
	begin, end := worker.Busy, worker.Idle
	if p.breaks == "stays busy" {
		end = worker.Busy
	}
	// Two clients: the one that has read the message repeats its last word.
	ack := func(state worker.Progress) error {
		client := p.c
		if p.told != p.c {
			client = p.told
		}
		return client.Ack(ctx, worker.Ack{ID: m.ID, State: state})
	}
	if err := errors.Join(p.told.Report(ctx, begin, worker.Detail{PromptID: m.ID}), ack(worker.Submitted)); err != nil {
		return err
	}
	if file, tool := strings.CutPrefix(prompt.Content, "touch "); tool {
		p.touch(ctx, file)
	}
	confirm := ""
	if prompt.Content == "sleep" {
		confirm = <-p.interrupted
	}
	if err := p.told.Report(ctx, end, worker.Detail{PromptID: m.ID}); err != nil {
		return err
	}
	if confirm != "" {
		if err := p.told.Ack(ctx, worker.Ack{ID: confirm, State: worker.Consumed}); err != nil {
			return err
		}
	}
	return ack(worker.Consumed)
}

// touch is its tool.
func (p *program) touch(ctx context.Context, file string) {
	if p.breaks == "acts" {
		return
	}
	input, err := json.Marshal(map[string]string{"path": file})
	if err != nil {
		return
	}
	d, err := p.told.Authorize(ctx, worker.Call{ID: "call", Tool: "Touch", Input: input})
	yes := d.Allowed
	switch p.breaks {
	case "disobeys":
		yes = true
	case "trusts":
		yes = yes || err != nil
	case "refuses":
		yes = false
	}
	if yes {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}
