package controlapi

import (
	"net/http"
	"time"
)

// access is what a route requires in addition to a connection from the owner.
type access int

const (
	// reads requires nothing else: the owner of the controller and root may call the route.
	reads access = iota
	// writes also requires the version header, which a browser does not send by itself.
	writes
)

const (
	quick  = 10 * time.Second // time limit of a request that reads
	slow   = 2 * time.Minute  // time limit of an operation on one agent
	whole  = 15 * time.Minute // time limit of an operation on all agents
	always = 0                // no limit: a stream, or an answer that waits

	smallBody  = 64 << 10
	promptBody = 8 << 20 // 1 MiB of text, each byte escaped
	configBody = 8 << 20
)

// route is one row of the route table.
type route struct {
	method, path string
	access       access
	limit        time.Duration // of the handler; zero is none
	body         int64         // limit of the request body in bytes
	id           string        // OpenAPI operation ID: the name of the client's method in kebab case
	summary      string
	serve        binding
}

// routes returns the routes of the control API.
func routes() []route {
	const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	return []route{
		{get, "/v1/status", reads, quick, 0, "status", "The city at a glance", bind(status)},
		{get, "/v1/plan", reads, quick, 0, "plan", "What the controller would do now, and why", bind(plan)},
		{post, "/v1/plan", writes, slow, configBody, "preview", "What it would do with another configuration; nothing is changed", bind(preview)},
		{get, "/v1/config", reads, quick, 0, "config", "The current configuration and the source of each value", bind(config)},
		{get, "/v1/providers", reads, quick, 0, "providers", "The runtime providers that the controller can use", bind(providers)},

		{get, "/v1/sessions/{target}", reads, quick, 0, "session", "The full state of one session", bind(session)},
		{get, "/v1/sessions/{target}/peek", reads, quick, 0, "peek", "The last lines that the agent printed", bind(peek)},
		{get, "/v1/sessions/{target}/logs", reads, always, 0, "logs", "The recorded raw output", stream("application/octet-stream", logs)},
		{get, "/v1/sessions/{target}/explain", reads, quick, 0, "explain", "The state of a session, its desired state, and the reasons", bind(explain)},
		{post, "/v1/sessions/{target}/interrupt", writes, slow, smallBody, "interrupt", "Ask the agent to end its turn", bind(interrupt)},
		{post, "/v1/sessions/{target}/keys", writes, slow, smallBody, "keys", "Send key events by tmux name", bind(keys)},
		{post, "/v1/sessions/{target}/clear-input", writes, slow, smallBody, "clear-input", "Remove all text from the agent's input box", bind(clearInput)},
		{post, "/v1/sessions/{target}/copy", writes, slow, smallBody, "copy", "Copy a file or directory into the working directory", bind(copyInto)},
		{post, "/v1/sessions/{target}/kill", writes, slow, smallBody, "kill", "Stop the instance; an agent that is to run is started again", bind(kill)},

		{post, "/v1/sessions/{target}/nudge", writes, always, promptBody, "nudge", "Accept a prompt; with wait, answer when the receipt has that state or has ended", bindWait(nudge)},
		{get, "/v1/queue", reads, quick, 0, "queue", "The queued and injected prompts, in the order of delivery", bind(queued)},
		{get, "/v1/receipts/{id}", reads, always, 0, "receipt", "A receipt with its steps; with wait, answer when it has that state or has ended", bindWait(receipt)},
		{patch, "/v1/receipts/{id}", writes, slow, promptBody, "edit-prompt", "Change a queued prompt", bind(editPrompt)},
		{del, "/v1/receipts/{id}", writes, slow, 0, "cancel-prompt", "Cancel a prompt that the agent has not accepted", bind(cancelPrompt)},
		{post, "/v1/receipts/{id}/retry", writes, slow, smallBody, "retry-prompt", "Send the prompt of an ended receipt again, as a new prompt", bind(retryPrompt)},

		{get, "/v1/pending", reads, quick, 0, "pending", "The pending questions, oldest first", bind(pending)},
		{post, "/v1/pending/{id}/respond", writes, slow, smallBody, "respond", "Answer a pending question, once", bind(respond)},

		{post, "/v1/await", writes, always, smallBody, "await", "Answer when a condition holds or can never hold", bindWait(await)},
		{get, "/v1/waits", reads, quick, 0, "waits", "The registered waits, oldest first", bind(waits)},
		{post, "/v1/waits", writes, slow, smallBody, "add-wait", "Register a durable wait; its owner gets a prompt when it ends", bind(addWait)},
		{del, "/v1/waits/{id}", writes, slow, 0, "cancel-wait", "End a registered wait", bind(cancelWait)},

		{get, "/v1/usage", reads, quick, 0, "usage", "The usage, in groups", bind(spent)},
		{get, "/v1/budgets", reads, quick, 0, "budgets", "How much of each budget is used", bind(budgets)},
		{post, "/v1/budgets/{name}/lift", writes, slow, smallBody, "lift-budget", "Reset a budget that is used up", bind(liftBudget)},
		{get, "/metrics", reads, quick, 0, "metrics", "Metrics in the text format of Prometheus", stream(metricsType, metrics)},

		{post, "/v1/sessions/{target}/wake", writes, slow, smallBody, "wake", "Start a sleeping session", bind(wake)},
		{post, "/v1/sessions/{target}/sleep", writes, slow, smallBody, "sleep", "Stop a session until it is woken, by hand or by a prompt", bind(sleep)},
		{post, "/v1/sessions/{target}/suspend", writes, slow, smallBody, "suspend", "Stop a session until it is resumed by hand", bind(suspend)},
		{post, "/v1/sessions/{target}/resume", writes, slow, smallBody, "resume", "Release an agent that is suspended or held back", bind(resume)},
		{post, "/v1/sessions/{target}/reset", writes, slow, smallBody, "reset", "Clear failures and quarantine", bind(reset)},
		{get, "/v1/sessions/{target}/drain", reads, quick, 0, "drain-state", "Whether the agent is asked to shut down", bind(drainState)},
		{post, "/v1/sessions/{target}/drain", writes, slow, smallBody, "drain", "Ask an agent to shut down", bind(drain)},
		{post, "/v1/sessions/{target}/drain/ack", writes, slow, smallBody, "drain-ack", "Report that the agent is ready to stop; it is stopped now", bind(drainAck)},
		{post, "/v1/sessions/{target}/request-restart", writes, slow, smallBody, "request-restart", "Restart at the end of the present turn", bind(requestRestart)},

		{post, "/v1/reload", writes, slow, smallBody, "reload", "Read the configuration again now", bind(reload)},
		{post, "/v1/restart", writes, whole, smallBody, "restart", "Restart agents, all if none is named", bind(restart)},
		{post, "/v1/apply", writes, slow, smallBody, "apply", "Apply now a changed configuration that waits for the end of a turn", bind(apply)},
		{post, "/v1/stop", writes, whole, smallBody, "stop-city", "Stop every session, then the controller", bind(stopCity)},
		{post, "/v1/controller/stop", writes, slow, smallBody, "stop-controller", "Stop the controller and leave the sessions running", bind(stopController)},

		{get, "/v1/events", reads, quick, 0, "past-events", "The stored events", bind(pastEvents)},
		{get, "/v1/events/stream", reads, always, 0, "events", "The stored events, then every new one", stream("text/event-stream", events)},
	}
}
