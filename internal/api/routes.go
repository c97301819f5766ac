package api

import (
	"net/http"
	"time"
)

// access says what a route needs beside a connection from the owner.
type access int

const (
	// reads is open to the owner of the controller and to root.
	reads access = iota
	// writes demands the version header too, which no browser sends unasked.
	writes
)

const (
	quick  = 10 * time.Second // the limit of a question
	slow   = 2 * time.Minute  // the limit of a verb on one agent
	whole  = 15 * time.Minute // the limit of a verb on all agents
	always = 0                // no limit: a stream

	smallBody  = 64 << 10
	promptBody = 8 << 20 // 1 MiB of text, each byte escaped
)

// route is one row of the table.
type route struct {
	method, path string
	access       access
	limit        time.Duration // of the handler; zero is none
	body         int64         // limit of the request body in bytes
	id           string        // OpenAPI operation id, the name of the client's method in kebab case
	summary      string
	serve        binding
}

// routes is the control API.
func routes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{get, "/v1/status", reads, quick, 0, "status", "The city at a glance", bind(status)},
		{get, "/v1/plan", reads, quick, 0, "plan", "What the controller would do now, and why", bind(plan)},
		{get, "/v1/config", reads, quick, 0, "config", "The configuration in force and where each value came from", bind(config)},
		{get, "/v1/providers", reads, quick, 0, "providers", "The runtime providers that the controller can use", bind(providers)},

		{get, "/v1/sessions/{target}", reads, quick, 0, "session", "Everything that is known of one session", bind(session)},
		{get, "/v1/sessions/{target}/peek", reads, quick, 0, "peek", "The last lines that the agent printed", bind(peek)},
		{get, "/v1/sessions/{target}/logs", reads, always, 0, "logs", "The recorded raw output", stream("application/octet-stream", logs)},
		{post, "/v1/sessions/{target}/nudge", writes, slow, promptBody, "nudge", "Deliver a prompt and tell what became of it", bind(nudge)},
		{post, "/v1/sessions/{target}/interrupt", writes, slow, smallBody, "interrupt", "Ask the agent to abandon its turn", bind(interrupt)},
		{post, "/v1/sessions/{target}/keys", writes, slow, smallBody, "keys", "Send key events by tmux name", bind(keys)},
		{post, "/v1/sessions/{target}/copy", writes, slow, smallBody, "copy", "Copy a file or folder into the work folder", bind(copyInto)},
		{post, "/v1/sessions/{target}/kill", writes, slow, smallBody, "kill", "End the incarnation; a wanted agent is started again", bind(kill)},

		{post, "/v1/reload", writes, slow, smallBody, "reload", "Read the configuration again now", bind(reload)},
		{post, "/v1/restart", writes, whole, smallBody, "restart", "Restart agents, all if none is named", bind(restart)},
		{post, "/v1/stop", writes, whole, smallBody, "stop-city", "End every session, then the controller", bind(stopCity)},
		{post, "/v1/controller/stop", writes, slow, smallBody, "stop-controller", "End the controller and leave the sessions running", bind(stopController)},

		{get, "/v1/events", reads, quick, 0, "past-events", "The remembered events", bind(pastEvents)},
		{get, "/v1/events/stream", reads, always, 0, "events", "The remembered events, then every new one", stream("text/event-stream", events)},
	}
}
