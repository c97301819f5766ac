package controlapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"gascity/client"
	"gascity/internal/httpwire"
)

// City is what the control API serves: the controller and its engines. A target is the name of an
// agent or of a session. Errors are the sentinels of package client (client.ErrNotFound,
// client.ErrRefused, ...); their text names the target and the fix. All methods may be called
// concurrently.
//
// A call that changes something continues when the caller disconnects: its ctx ends with the
// route's time limit or the server, not with the connection.
type City interface {
	Views
	Agents
	Lifecycle
	Draining
	Prompts
	Queueing
	Questions
	Conditions
	Control
	Feed
	EventFinder
	Files
	Screener
	Conversations
	ToolGuard
	Diagnostics
	ConfigEditor
	WebConsole
	Notifier
	Spending
}

// Views are the methods that read the state of the city.
type Views interface {
	Status(ctx context.Context) (client.Status, error)
	// StatusChanged returns a channel that is closed when the status may have changed. Nil means that only events report a change.
	StatusChanged() <-chan struct{}
	Plan(ctx context.Context) (client.Plan, error)
	Session(ctx context.Context, target string) (client.Session, error)
	Config(ctx context.Context) (client.Config, error)
	Explain(ctx context.Context, target string) (client.Explanation, error)
}

// Agents are the operations on one agent. A request that names an instance other than the present
// one is client.ErrRefused.
type Agents interface {
	Peek(ctx context.Context, target string, lines int) (client.Output, error)
	Interrupt(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Keys(ctx context.Context, target string, req client.KeysRequest) (client.Done, error)
	// ClearInput empties the agent's input box. It returns client.ErrUnsupported if the agent has
	// none.
	ClearInput(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Copy(ctx context.Context, target string, req client.CopyRequest) (client.Done, error)
	Kill(ctx context.Context, target string, req client.LifecycleRequest) (client.StopResult, error) // stops the instance; the controller starts the agent again
}

// Lifecycle are the operations that decide whether a session is to run. Their effect is saved when
// they return.
type Lifecycle interface {
	Wake(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Sleep(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Suspend(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Resume(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Reset(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
}

// Draining are the operations to shut a session down gracefully. The requests name the instance; a
// request for another instance is client.ErrRefused.
type Draining interface {
	Drain(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	DrainState(ctx context.Context, target string) (client.Drain, error)
	DrainAck(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	RequestRestart(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
}

// Prompts are the operations on prompts and their receipts. A receipt is saved when it is returned.
type Prompts interface {
	// Nudge accepts a prompt and returns its receipt. req.Wait is empty: the server calls Receipt
	// to wait.
	Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error)
	// Queue returns the queued and injected prompts in the order of delivery. An empty target means
	// all sessions; see client.Which.
	Queue(ctx context.Context, target string, which client.Which) ([]client.Receipt, error)
	// Receipt returns a receipt. If wait is a state, it returns when the receipt has that state or
	// has ended.
	Receipt(ctx context.Context, id, wait string) (client.Receipt, error)
	EditPrompt(ctx context.Context, id string, req client.EditRequest) (client.Receipt, error)
	CancelPrompt(ctx context.Context, id string) (client.Receipt, error)
	// RetryPrompt sends the prompt of an ended receipt again, as a new prompt.
	RetryPrompt(ctx context.Context, id string, req client.RetryRequest) (client.Receipt, error)
}

// Queueing are the operations on prompts that wait.
type Queueing interface {
	MovePrompt(ctx context.Context, id string, req client.MoveRequest) (client.Receipt, error)
	// PromptText returns the whole text of a prompt that waits.
	PromptText(ctx context.Context, id string) (client.PromptText, error)
}

// Questions are the operations on pending questions, which block agents.
type Questions interface {
	Pending(ctx context.Context, target string, which client.Which) ([]client.Pending, error)
	Respond(ctx context.Context, id string, req client.RespondRequest) (client.Pending, error)
	// AllowAlways adds the rule of a question to the configuration, and answers the question.
	AllowAlways(ctx context.Context, id string, req client.AlwaysRequest) (client.Pending, error)
}

// Conditions are the operations on waits.
type Conditions interface {
	// Await returns when the condition holds or can never hold. It returns client.ErrTimeout after
	// req.Timeout, and an error when ctx ends.
	Await(ctx context.Context, req client.WaitRequest) (client.Wait, error)
	AddWait(ctx context.Context, req client.WaitRequest) (client.Wait, error)
	Waits(ctx context.Context, which client.Which) ([]client.Wait, error)
	CancelWait(ctx context.Context, id string) (client.Wait, error)
}

// Control are the operations on the whole city.
type Control interface {
	Reload(ctx context.Context) (client.Done, error)
	Restart(ctx context.Context, req client.RestartRequest) (client.Done, error)
	// Apply applies at once the changes of the configuration that wait for the end of a turn.
	Apply(ctx context.Context, req client.ApplyRequest) (client.Done, error)
	// StopCity stops every session, and then the controller exits. Progress is on the event stream.
	StopCity(ctx context.Context) (client.Census, error)
	// StopController makes the controller exit. The sessions keep running.
	StopController(ctx context.Context) (client.Done, error)
}

// Feed is the event stream.
type Feed interface {
	// Events returns the events after the event with the given ID, and a channel of later events,
	// which is closed when ctx ends. gap is true if events after that ID were deleted, or if the
	// city never used the ID. The server disconnects a slow reader; the city may close the channel
	// for the same reason.
	Events(ctx context.Context, after uint64) (past []client.Event, gap bool, next <-chan client.Event, err error)
}

// EventFinder finds events by time.
type EventFinder interface {
	// Since returns the ID of the newest event that is older than t, or zero if there is none.
	Since(ctx context.Context, t time.Time) (id uint64, err error)
}

// Files are the operations that read files of sessions.
type Files interface {
	// Logs writes the recorded output of the target to w, oldest first. With q.Follow it continues
	// until ctx ends, and then returns nil. Each Write is sent to the reader at once. If Logs
	// returns an error before its first Write, the reader gets it as a problem document.
	Logs(ctx context.Context, target string, q client.LogQuery, w io.Writer) error
	// Changes returns the changed files of the target's working directory; see client.Client.Changes.
	Changes(ctx context.Context, target string, q client.ChangesQuery) (client.Changes, error)
	// CopyOut writes a file or directory of the target's working directory to w: as a tar archive, or
	// the content of one file. It masks no secrets. An error before the first Write becomes a problem document.
	CopyOut(ctx context.Context, target string, req client.CopyOutRequest, w io.Writer) error
}

// Screener returns the screens of sessions with colors.
type Screener interface {
	// Screen returns what the target's terminal shows.
	Screen(ctx context.Context, target string, style client.ScreenStyle) (client.Screen, error)
	// Screens calls send with the screen of each target and then with its changes, until ctx ends or send fails. It returns nil
	// when ctx has ended, or when no target has a screen any more. Only one call of send runs at a time. An update is read when it
	// is sent, so changes meanwhile are one change.
	Screens(ctx context.Context, targets []string, style client.ScreenStyle, send func(client.ScreenUpdate) error) error
}

// Conversations reads the conversations of agents.
type Conversations interface {
	// Conversation returns the entries that the query selects, the newest ones if they are too many.
	Conversation(ctx context.Context, target string, q client.ConversationQuery) (client.Conversation, error)
	// FollowConversation calls send with the newest entries and then with every new or changed one, until ctx ends; it
	// then returns nil. An error of send ends it too.
	FollowConversation(ctx context.Context, target string, q client.ConversationQuery, send func(client.Conversation) error) error
}

// ToolGuard decides about the tools of agents.
type ToolGuard interface {
	// CheckTool returns what the guard would decide about a tool call. It records nothing.
	CheckTool(ctx context.Context, req client.GuardCheckRequest) (client.GuardCheck, error)
	// GuardDecisions returns a page of recorded decisions, newest first.
	GuardDecisions(ctx context.Context, q client.GuardQuery) (client.GuardDecisions, error)
}

// Diagnostics examines the city and its machine.
type Diagnostics interface {
	// Doctor makes all checks. While one examination runs, another one is client.ErrRefused.
	Doctor(ctx context.Context) (client.Findings, error)
	// Bundle writes a support bundle without credentials to w.
	Bundle(ctx context.Context, w io.Writer) error
	// Metrics writes the metrics in the text format of Prometheus. They contain no secrets.
	Metrics(ctx context.Context, w io.Writer) error
}

// ConfigEditor compares another configuration with what runs, and reads and writes the text of city.toml, in which placeholders
// stand for credentials.
type ConfigEditor interface {
	Providers(ctx context.Context) ([]client.Provider, error)
	// Preview returns what the controller would do. An invalid configuration is client.ErrInvalid
	// with its mistakes.
	Preview(ctx context.Context, req client.PreviewRequest) (client.Plan, error)
	ConfigFile(ctx context.Context) (client.ConfigFile, error)
	// PreviewConfig checks another text and returns what it would do. It changes nothing.
	PreviewConfig(ctx context.Context, edit client.ConfigEdit) (client.ConfigPreview, error)
	// ApplyConfig writes another text if the file still has the hash of the edit.
	ApplyConfig(ctx context.Context, edit client.ConfigEdit) (client.Done, error)
}

// WebConsole controls the listener of the web console.
type WebConsole interface {
	Web(ctx context.Context) (client.Web, error)
	// StartWeb starts the listener, and changes its address if the request names another one.
	StartWeb(ctx context.Context, req client.WebRequest) (client.Web, error)
	StopWeb(ctx context.Context) (client.Web, error)
	// NewWebCode returns a code that signs one device in. The listener must run.
	NewWebCode(ctx context.Context, req client.WebCodeRequest) (client.WebCode, error)
	WebDevices(ctx context.Context) ([]client.WebDevice, error)
	// RevokeWebDevice signs a device out and ends its open streams.
	RevokeWebDevice(ctx context.Context, id string) (client.WebDevice, error)
}

// Notifier sends notifications.
type Notifier interface {
	// Notifications returns the sinks and the recent notifications.
	Notifications(ctx context.Context) (client.Notifications, error)
	// TestNotify sends a test message. An unknown sink is client.ErrNotFound.
	TestNotify(ctx context.Context, req client.NotifyTestRequest) ([]client.NotifyResult, error)
	// RetryNotification sends a failed notification again.
	RetryNotification(ctx context.Context, id string) (client.Notification, error)
	// Present counts a person who sees all agents, until ctx ends. It does not wait.
	Present(ctx context.Context) error
}

// Spending reports usage and budgets.
type Spending interface {
	// Usage returns the usage, in groups.
	Usage(ctx context.Context, req client.UsageRequest) (client.Usage, error)
	// Budgets returns how much of each budget is used.
	Budgets(ctx context.Context) ([]client.Budget, error)
	// LiftBudget resets a budget that is used up, for req.Who, or for everyone if req.Who is empty.
	LiftBudget(ctx context.Context, name string, req client.LiftRequest) (client.Done, error)
}

// access is what a route requires in addition to a connection from the owner.
type access int

const (
	// reads requires nothing else: the owner of the controller and root may call the route.
	reads access = iota
	// writes also requires the version header, which a browser does not send by itself.
	writes
)

// socketOnly marks a route that only the control socket has: it is for the owner's own commands, or
// for agents.
const socketOnly client.Scope = ""

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
	scope        client.Scope  // of the devices that may call the route on the web; see [Server.Mount]
	limit        time.Duration // of the handler; zero is none
	body         int64         // limit of the request body in bytes
	id           string        // OpenAPI operation ID: the name of the client's method in kebab case
	summary      string
	serve        binding
}

// routes returns the routes of the control API.
func routes() []route {
	const get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	return []route{
		{get, "/v1/status", reads, client.ScopeSee, quick, 0, "status", "The city at a glance", ask(City.Status)},
		{get, "/v1/status/stream", reads, socketOnly, always, 0, "watch-status", "The status, and again after each change", stream(httpwire.EventStream, watchStatus)},
		{get, "/v1/plan", reads, client.ScopeSee, quick, 0, "plan", "What the controller would do now, and why", ask(City.Plan)},
		{post, "/v1/plan", writes, client.ScopeManage, slow, configBody, "preview", "What it would do with another configuration; nothing is changed", send(City.Preview, checkPreview)},
		{get, "/v1/config", reads, client.ScopeSee, quick, 0, "config", "The current configuration and the source of each value", ask(City.Config)},
		{get, "/v1/config/file", reads, client.ScopeManage, quick, 0, "config-file", "The text of city.toml, with placeholders for credentials", ask(City.ConfigFile)},
		{post, "/v1/config/preview", writes, client.ScopeManage, slow, configBody, "preview-config", "The mistakes in another text of city.toml, and what it would do; nothing is changed", send(City.PreviewConfig)},
		{put, "/v1/config/file", writes, client.ScopeManage, slow, configBody, "apply-config", "Replace the text of city.toml, unless it has changed since the caller read it, and load the new configuration", send(City.ApplyConfig, checkEdit)},
		{get, "/v1/providers", reads, client.ScopeSee, quick, 0, "providers", "The runtime providers that the controller can use", bind(providers)},

		{get, "/v1/sessions/{target}", reads, client.ScopeSee, quick, 0, "session", "The full state of one session", askOf(City.Session)},
		{get, "/v1/sessions/{target}/peek", reads, client.ScopeSee, quick, 0, "peek", "The last lines that the agent printed", bind(peek)},
		{get, "/v1/sessions/{target}/screen", reads, client.ScopeSee, quick, 0, "screen", "What the terminal shows, with colors", bind(screen)},
		{get, "/v1/screens", reads, client.ScopeSee, always, 0, "screens", "The screens of several agents, then each change", stream(httpwire.EventStream, screens, screensParameters()...)},
		{get, "/v1/sessions/{target}/logs", reads, client.ScopeSee, always, 0, "logs", "The recorded raw output", stream("application/octet-stream", logs, logsParameters()...)},
		{get, "/v1/sessions/{target}/changes", reads, client.ScopeSee, slow, 0, "changes", "The changed files of the working directory, with their diffs", bind(changes)},
		{get, "/v1/sessions/{target}/conversation", reads, client.ScopeSee, quick, 0, "conversation", "Prompts, answers and tool calls of the agent", bind(conversation)},
		{get, "/v1/sessions/{target}/conversation/stream", reads, client.ScopeSee, always, 0, "follow-conversation", "The newest entries of the conversation, then every new or changed one", stream(httpwire.EventStream, followConversation, followParameters()...)},
		{get, "/v1/sessions/{target}/explain", reads, client.ScopeSee, quick, 0, "explain", "The state of a session, its desired state, and the reasons", askOf(City.Explain)},
		{post, "/v1/sessions/{target}/interrupt", writes, client.ScopeType, slow, smallBody, "interrupt", "Ask the agent to end its turn", act(City.Interrupt)},
		{post, "/v1/sessions/{target}/keys", writes, client.ScopeType, slow, smallBody, "keys", "Send key events by tmux name", sendTo(City.Keys, checkKeys)},
		{post, "/v1/sessions/{target}/clear-input", writes, client.ScopeType, slow, smallBody, "clear-input", "Remove all text from the agent's input box", act(City.ClearInput)},
		{post, "/v1/sessions/{target}/copy", writes, socketOnly, slow, smallBody, "copy", "Copy a file or directory into the working directory", sendTo(City.Copy)},
		{post, "/v1/sessions/{target}/copy-out", writes, client.ScopeManage, always, smallBody, "copy-out", "Copy a file or directory out of the working directory", download("application/octet-stream", copyName, City.CopyOut)},
		{post, "/v1/sessions/{target}/kill", writes, client.ScopeManage, slow, smallBody, "kill", "Stop the instance; an agent that is to run is started again", act(City.Kill)},

		{post, "/v1/sessions/{target}/nudge", writes, client.ScopeType, always, promptBody, "nudge", "Accept a prompt; with wait, answer when the receipt has that state or has ended", bind(nudge)},
		{get, "/v1/queue", reads, client.ScopeSee, quick, 0, "queue", "The queued and injected prompts, in the order of delivery", list(City.Queue)},
		{get, "/v1/receipts/{id}", reads, client.ScopeSee, always, 0, "receipt", "A receipt with its steps; with wait, answer when it has that state or has ended", bind(receipt)},
		{patch, "/v1/receipts/{id}", writes, client.ScopeType, slow, promptBody, "edit-prompt", "Change a queued prompt", bind(editPrompt)},
		{get, "/v1/receipts/{id}/text", reads, client.ScopeSee, quick, 0, "prompt-text", "The whole text of a queued prompt", askID(City.PromptText)},
		{post, "/v1/receipts/{id}/move", writes, client.ScopeType, slow, smallBody, "move-prompt", "Move a queued prompt among those of its priority", bind(movePrompt)},
		{del, "/v1/receipts/{id}", writes, client.ScopeType, slow, 0, "cancel-prompt", "Cancel a prompt that the agent has not accepted", askID(City.CancelPrompt)},
		{post, "/v1/receipts/{id}/retry", writes, client.ScopeType, slow, smallBody, "retry-prompt", "Send the prompt of an ended receipt again, as a new prompt", bind(retryPrompt)},

		{get, "/v1/pending", reads, client.ScopeSee, quick, 0, "pending", "The pending questions, oldest first", list(City.Pending)},
		{post, "/v1/pending/{id}/respond", writes, client.ScopeAnswer, slow, smallBody, "respond", "Answer a pending question, once", sendID(City.Respond, checkResponse)},
		{post, "/v1/pending/{id}/always", writes, client.ScopeManage, slow, smallBody, "allow-always", "Add the rule that allows the tool call of a question always, and allow the call", sendID(City.AllowAlways, checkAlways)},

		{post, "/v1/await", writes, client.ScopeSee, always, smallBody, "await", "Answer when a condition holds or can never hold", send(City.Await, client.WaitRequest.Check)},
		{get, "/v1/waits", reads, client.ScopeSee, quick, 0, "waits", "The registered waits, oldest first", bind(waits)},
		{post, "/v1/waits", writes, client.ScopeType, slow, smallBody, "add-wait", "Register a durable wait; its owner gets a prompt when it ends", send(City.AddWait, client.WaitRequest.Check, checkOwner)},
		{del, "/v1/waits/{id}", writes, client.ScopeType, slow, 0, "cancel-wait", "End a registered wait", askID(City.CancelWait)},

		{get, "/v1/usage", reads, client.ScopeSee, quick, 0, "usage", "The usage, in groups", bind(spent)},
		{get, "/v1/budgets", reads, client.ScopeSee, quick, 0, "budgets", "How much of each budget is used", ask(City.Budgets)},
		{post, "/v1/budgets/{name}/lift", writes, client.ScopeManage, slow, smallBody, "lift-budget", "Reset a budget that is used up", bind(liftBudget)},

		{post, "/v1/guard/check", writes, client.ScopeSee, quick, promptBody, "check-tool", "What the guard would decide about a tool call", send(City.CheckTool, client.GuardCheckRequest.Check)},
		{get, "/v1/guard/decisions", reads, client.ScopeSee, quick, 0, "guard-decisions", "The recorded decisions of the guard, newest first", bind(guardDecisions)},
		{post, "/v1/doctor", writes, client.ScopeManage, whole, 0, "doctor", "Check the city and its machine, from inside the controller", ask(City.Doctor)},
		{post, "/v1/bundle", writes, client.ScopeManage, always, 0, "bundle", "Make a support bundle without credentials", download("application/gzip", nil, bundle)},
		{get, "/metrics", reads, client.ScopeSee, quick, 0, "metrics", "Metrics in the text format of Prometheus", stream(metricsType, metrics)},

		{post, "/v1/sessions/{target}/wake", writes, client.ScopeManage, slow, smallBody, "wake", "Start a sleeping session", sendTo(City.Wake, checkLifecycle)},
		{post, "/v1/sessions/{target}/sleep", writes, client.ScopeManage, slow, smallBody, "sleep", "Stop a session until it is woken, by hand or by a prompt", sendTo(City.Sleep, checkLifecycle)},
		{post, "/v1/sessions/{target}/suspend", writes, client.ScopeManage, slow, smallBody, "suspend", "Stop a session until it is resumed by hand", sendTo(City.Suspend, checkLifecycle)},
		{post, "/v1/sessions/{target}/resume", writes, client.ScopeManage, slow, smallBody, "resume", "Release an agent that is suspended or held back", sendTo(City.Resume, checkLifecycle)},
		{post, "/v1/sessions/{target}/reset", writes, client.ScopeManage, slow, smallBody, "reset", "Clear failures and quarantine", sendTo(City.Reset, checkLifecycle)},
		{get, "/v1/sessions/{target}/drain", reads, client.ScopeSee, quick, 0, "drain-state", "Whether the agent is asked to shut down", askOf(City.DrainState)},
		{post, "/v1/sessions/{target}/drain", writes, client.ScopeManage, slow, smallBody, "drain", "Ask an agent to shut down", sendTo(City.Drain, checkLifecycle)},
		{post, "/v1/sessions/{target}/drain/ack", writes, socketOnly, slow, smallBody, "drain-ack", "Report that the agent is ready to stop; it is stopped now", sendTo(City.DrainAck, checkLifecycle)},
		{post, "/v1/sessions/{target}/request-restart", writes, client.ScopeManage, slow, smallBody, "request-restart", "Restart at the end of the present turn", sendTo(City.RequestRestart, checkLifecycle)},

		{post, "/v1/reload", writes, client.ScopeManage, slow, smallBody, "reload", "Read the configuration again now", ask(City.Reload)},
		{post, "/v1/restart", writes, client.ScopeManage, whole, smallBody, "restart", "Restart agents, all if none is named", send(City.Restart, checkRestart)},
		{post, "/v1/apply", writes, client.ScopeManage, slow, smallBody, "apply", "Apply a changed configuration now, without waiting for the end of a turn", send(City.Apply)},
		{post, "/v1/stop", writes, client.ScopeManage, whole, smallBody, "stop-city", "Stop every session, then the controller", ask(City.StopCity)},
		{post, "/v1/controller/stop", writes, socketOnly, slow, smallBody, "stop-controller", "Stop the controller and leave the sessions running", ask(City.StopController)},

		{get, "/v1/web", reads, client.ScopeManage, quick, 0, "web", "Whether the web console is on, and its address", ask(City.Web)},
		{post, "/v1/web", writes, socketOnly, slow, smallBody, "start-web", "Start the web console; it stays on until it is stopped", send(City.StartWeb)},
		{del, "/v1/web", writes, socketOnly, slow, 0, "stop-web", "Stop the web console; its devices stay signed in", ask(City.StopWeb)},
		{post, "/v1/web/codes", writes, socketOnly, slow, smallBody, "new-web-code", "Make a code that signs one device in, once, within 60 s", send(City.NewWebCode, client.WebCodeRequest.Check)},
		{get, "/v1/web/devices", reads, client.ScopeManage, quick, 0, "web-devices", "The devices that are signed in to the web console", ask(City.WebDevices)},
		{del, "/v1/web/devices/{id}", writes, client.ScopeManage, slow, 0, "revoke-web-device", "Sign a device out and end its open streams", askID(City.RevokeWebDevice)},

		{get, "/v1/notifications", reads, client.ScopeSee, quick, 0, "notifications", "The sinks for notifications, and the recent notifications", ask(City.Notifications)},
		{post, "/v1/notifications/test", writes, client.ScopeManage, slow, smallBody, "test-notify", "Send a test message to sinks", send(City.TestNotify)},
		{post, "/v1/notifications/{id}/retry", writes, client.ScopeManage, slow, smallBody, "retry-notification", "Send a failed notification again", askID(City.RetryNotification)},
		{get, "/v1/presence", reads, socketOnly, always, 0, "present", "Count the caller as a person who sees all agents, while the connection is open, at most 2 minutes", stream(httpwire.EventStream, present)},

		{get, "/v1/events", reads, client.ScopeSee, quick, 0, "past-events", "The stored events", bind(pastEvents)},
		{get, "/v1/events/stream", reads, client.ScopeSee, always, 0, "events", "The stored events, then every new one", stream(httpwire.EventStream, events, eventsParameters()...)},
	}
}
