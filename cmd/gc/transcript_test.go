package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gascity/client"
)

// writeTranscript is "transcript AGENT FILE": FILE becomes the transcript of the agent's conversation, as the agent CLI
// of the profile claude keeps it. The word NOW in it is the present time.
func writeTranscript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: transcript AGENT FILE")
	}
	c := &client.Client{Root: ts.Getenv("CITY")}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	talk, err := c.Conversation(ctx, args[0], client.ConversationQuery{})
	ts.Check(err)
	if talk.ID == "" {
		ts.Fatalf("no conversation of %s is known", args[0])
	}
	dir := filepath.Join(ts.Getenv("HOME"), ".claude", "projects", "work")
	ts.Check(os.MkdirAll(dir, 0o700))
	text := strings.ReplaceAll(ts.ReadFile(args[1]), "NOW", time.Now().UTC().Format(time.RFC3339Nano))
	ts.Check(os.WriteFile(filepath.Join(dir, talk.ID+".jsonl"), []byte(text), 0o600))
}
