package controlapi

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
	always = 0                // no limit: a stream, or an answer that waits

	smallBody  = 64 << 10
	promptBody = 8 << 20 // 1 MiB of text, each byte escaped
	configBody = 8 << 20
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

// routes returns the control API.
func routes() []route {
	const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	return []route{
		{get, "/v1/status", reads, quick, 0, "status", "The city at a glance", bind(status)},
		{get, "/v1/plan", reads, quick, 0, "plan", "What the controller would do now, and why", bind(plan)},
		{post, "/v1/plan", writes, slow, configBody, "preview", "What it would do with another configuration; nothing is changed", bind(preview)},
		{get, "/v1/config", reads, quick, 0, "config", "The configuration in force and where each value came from", bind(config)},
		{get, "/v1/providers", reads, quick, 0, "providers", "The runtime providers that the controller can use", bind(providers)},

		{get, "/v1/sessions/{target}", reads, quick, 0, "session", "Everything that is known of one session", bind(session)},
		{get, "/v1/sessions/{target}/peek", reads, quick, 0, "peek", "The last lines that the agent printed", bind(peek)},
		{get, "/v1/sessions/{target}/logs", reads, always, 0, "logs", "The recorded raw output", stream("application/octet-stream", logs)},
		{get, "/v1/sessions/{target}/explain", reads, quick, 0, "explain", "What is known of it, what is intended, and why", bind(explain)},
		{post, "/v1/sessions/{target}/interrupt", writes, slow, smallBody, "interrupt", "Ask the agent to abandon its turn", bind(interrupt)},
		{post, "/v1/sessions/{target}/keys", writes, slow, smallBody, "keys", "Send key events by tmux name", bind(keys)},
		{post, "/v1/sessions/{target}/clear-input", writes, slow, smallBody, "clear-input", "Remove all text from the agent's input box", bind(clearInput)},
		{post, "/v1/sessions/{target}/copy", writes, slow, smallBody, "copy", "Copy a file or folder into the working directory", bind(copyInto)},
		{post, "/v1/sessions/{target}/kill", writes, slow, smallBody, "kill", "End the instance; a wanted agent is started again", bind(kill)},

		{post, "/v1/sessions/{target}/nudge", writes, always, promptBody, "nudge", "Accept a prompt; with a wait, answer when it has come so far or ended", bindWait(nudge)},
		{get, "/v1/queue", reads, quick, 0, "queue", "The prompts on their way, in the order of delivery", bind(queued)},
		{get, "/v1/receipts/{id}", reads, always, 0, "receipt", "A receipt with its steps; with a wait, when it has come so far or ended", bindWait(receipt)},
		{patch, "/v1/receipts/{id}", writes, slow, promptBody, "edit-prompt", "Change a prompt that waits", bind(editPrompt)},
		{del, "/v1/receipts/{id}", writes, slow, 0, "cancel-prompt", "Cancel a prompt that the agent has not accepted", bind(cancelPrompt)},
		{post, "/v1/receipts/{id}/retry", writes, slow, smallBody, "retry-prompt", "Send a prompt whose receipt has ended once more, as a new prompt", bind(retryPrompt)},

		{get, "/v1/pending", reads, quick, 0, "pending", "What waits for a person, oldest first", bind(pending)},
		{post, "/v1/pending/{id}/respond", writes, slow, smallBody, "respond", "Answer a pending question, once", bind(respond)},

		{post, "/v1/await", writes, always, smallBody, "await", "Answer when a condition holds or never can", bindWait(await)},
		{get, "/v1/waits", reads, quick, 0, "waits", "The registered waits, oldest first", bind(waits)},
		{post, "/v1/waits", writes, slow, smallBody, "add-wait", "Register a durable wait, whose end is a prompt for its owner", bind(addWait)},
		{del, "/v1/waits/{id}", writes, slow, 0, "cancel-wait", "End a registered wait", bind(cancelWait)},

		{get, "/v1/usage", reads, quick, 0, "usage", "What was spent, summed up", bind(spent)},
		{get, "/v1/budgets", reads, quick, 0, "budgets", "How much of each budget is used", bind(budgets)},
		{post, "/v1/budgets/{name}/lift", writes, slow, smallBody, "lift-budget", "Reset a budget that is used up", bind(liftBudget)},
		{get, "/metrics", reads, quick, 0, "metrics", "Metrics in the text format of Prometheus", stream(metricsType, metrics)},

		{post, "/v1/sessions/{target}/wake", writes, slow, smallBody, "wake", "Start a session that sleeps", bind(wake)},
		{post, "/v1/sessions/{target}/sleep", writes, slow, smallBody, "sleep", "End a session until it is woken, by hand or by a prompt", bind(sleep)},
		{post, "/v1/sessions/{target}/suspend", writes, slow, smallBody, "suspend", "End a session until it is resumed by hand", bind(suspend)},
		{post, "/v1/sessions/{target}/resume", writes, slow, smallBody, "resume", "Release an agent that is suspended or held back", bind(resume)},
		{post, "/v1/sessions/{target}/reset", writes, slow, smallBody, "reset", "Forget failures and quarantine", bind(reset)},
		{get, "/v1/sessions/{target}/drain", reads, quick, 0, "drain-state", "Whether the agent is to wind down", bind(drainState)},
		{post, "/v1/sessions/{target}/drain", writes, slow, smallBody, "drain", "Ask an agent to wind down", bind(drain)},
		{post, "/v1/sessions/{target}/drain/ack", writes, slow, smallBody, "drain-ack", "The agent has wound down: it is stopped now", bind(drainAck)},
		{post, "/v1/sessions/{target}/request-restart", writes, slow, smallBody, "request-restart", "Restart at the end of the present turn", bind(requestRestart)},

		{post, "/v1/reload", writes, slow, smallBody, "reload", "Read the configuration again now", bind(reload)},
		{post, "/v1/restart", writes, whole, smallBody, "restart", "Restart agents, all if none is named", bind(restart)},
		{post, "/v1/apply", writes, slow, smallBody, "apply", "Put a changed configuration into force now that waits for the end of a turn", bind(apply)},
		{post, "/v1/stop", writes, whole, smallBody, "stop-city", "End every session, then the controller", bind(stopCity)},
		{post, "/v1/controller/stop", writes, slow, smallBody, "stop-controller", "End the controller and leave the sessions running", bind(stopController)},

		{get, "/v1/events", reads, quick, 0, "past-events", "The remembered events", bind(pastEvents)},
		{get, "/v1/events/stream", reads, always, 0, "events", "The remembered events, then every new one", stream("text/event-stream", events)},
	}
}
