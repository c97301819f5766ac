package event

import "slices"

// KindInfo is one row of the table of [Kinds].
type KindInfo struct {
	Kind    Kind
	Meaning string
	Data    []Datum // keys of the event's data; a key may be absent
}

// Datum is one key of an event's data.
type Datum struct{ Key, Meaning string }

// Kinds returns the table of all kinds in the order of the documentation. docs/reference/events.md
// is generated from it.
func Kinds() []KindInfo {
	reason := Datum{"reason", "why the controller did it"}
	fields := Datum{"fields", "the configuration fields that differ, separated by commas"}
	instance := Datum{"instance", "public fingerprint of the instance"}
	next := Datum{"next", "when the controller tries again, RFC 3339"}
	exit, code, signal := Datum{"exit", "how the agent ended"}, Datum{"code", "its exit code"}, Datum{"signal", "that ended it"}
	run, since := Datum{"run", "its run_id"}, Datum{"since", "when the session had begun, RFC 3339"}
	kinds := []KindInfo{
		{ControllerStarted, "the controller took charge of the city", []Datum{{"version", "its version"}, {"pid", "its process"}}},
		{ControllerStopping, "the controller received a request to stop", []Datum{{"scope", "city: the sessions stop too; controller: they keep running"}}},
		{ControllerStopped, "the controller stopped normally", nil},
		{ControllerReloaded, "the configuration was loaded again and is active", nil},
		{ControllerReloadFailed, "the configuration has errors; the previous one stays active", []Datum{{"error", "why"}}},
		{ControllerDegraded, "a provider cannot be observed, or the store cannot be written; nothing is started or stopped there", []Datum{{"provider", "its name; not set for the store"}, {"error", "why"}}},
		{ControllerRecovered, "the provider can be observed again, or the store works again", []Datum{{"provider", "its name; not set for the store"}}},
		{ServerLost, "a process that all sessions of a provider share, such as a tmux server, exited by itself, and the sessions with it", []Datum{{"provider", "which"}, {"error", "how gc detected it"}}},
		{SessionStarting, "the controller is starting the session", []Datum{reason}},
		{SessionStarted, "the agent runs and is ready", []Datum{instance, run, {"seconds", "how long the start took"}, {"warning", "what the start did not complete"}}},
		{SessionStartFailed, "the session could not be started; no process of it runs", []Datum{{"error", "why, with the agent's last output"}, {"class", "missing binary, exit, dialog, timeout, setup, limited or other"}, next}},
		{SessionAdopted, "a session that already ran was adopted: gc manages it from now on", []Datum{instance, run}},
		{SessionExited, "the agent exited by itself", []Datum{exit, code, signal, run, since, next}},
		{SessionLost, "the session disappeared and its exit is unknown; the text names the cause if it is known", []Datum{run, since, next}},
		{SessionStopping, "the controller is stopping the session", []Datum{reason}},
		{SessionStopped, "the controller stopped the session", []Datum{reason, run, since, {"processes", "how many it had"}}},
		{SessionStopFailed, "a stop failed; something may still run", []Datum{{"error", "why"}, {"survivors", "processes that still run"}}},
		{SessionQuarantined, "the agent failed too often; gc does not start it for a while", []Datum{reason, {"until", "when it may start again, RFC 3339"}}},
		{SessionDrift, "the configuration differs from what the session was started with", []Datum{fields, {"action", "what will be done about it"}, {"deferred", "what it waits for"}}},
		{SessionRelaunched, "the agent was started again in its existing session", []Datum{fields}},
		{SessionLiveApplied, "changed live commands were run, the agent kept running", []Datum{fields}},
		{SessionInterrupted, "the agent's turn was interrupted", nil},
		{SessionStalled, "the agent has shown no sign of progress in its turn for progress_stall_timeout; reported once for each stall", []Datum{{"since", "when the last sign was noticed, RFC 3339"}, {"sign", "what the last sign was"}, {"action", "what the controller does about it: none, interrupt or restart"}}},
		{SessionStallEnded, "the agent makes progress again, or its turn is over", []Datum{{"sign", "what shows it"}, {"seconds", "how long the stall lasted"}}},
		{SessionAttached, "a terminal was connected", []Datum{{"attached", "how many are"}}},
		{SessionDetached, "a terminal was disconnected", []Datum{{"attached", "how many are"}}},
		{SessionStatus, "the agent reported its activity", []Datum{{"status", "the reported activity"}}},
		{SessionActivity, "the agent's activity changed; unknown is reported after one second", []Datum{
			{"activity", "the new activity"}, {"kind", "what the agent waits for"}, {"source", "what reported it"}, {"confidence", "certain, likely or guess"},
		}},
		{SessionHeld, "a hold keeps the session from running", []Datum{{"hold", "sleep, suspend or budget"}, reason}},
		{SessionReleased, "the hold of the session was removed", []Datum{reason}},
		{SessionReset, "the failures of the session were reset", []Datum{reason}},
		{SessionDraining, "the agent is asked to finish its work", []Datum{reason, {"until", "when it is stopped anyway, RFC 3339"}}},
		{SessionDrained, "the agent reported that it has finished its work", nil},
		{SessionResumeFailed, "the agent could not resume its conversation; the next start tries another way", []Datum{
			{"conversation", "its id"}, {"rung", "how it was tried: resume or repair"}, {"failure", "in use, not found, wrong folder, expired, not offered or unclear"}, {"error", "the agent's last output"},
		}},
		{SessionLimited, "the model provider's usage limit is reached; gc waits until it ends", []Datum{{"until", "when the limit ends, RFC 3339; absent: unknown"}, {"source", "what reported it"}}},
		{SessionObstacle, "an obstacle prevents the agent from making progress, or the obstacle changed; repeated attempts are one event", []Datum{
			{"obstacle", "retrying, no_network, login, limit or error"},
			{"detail", "the agent CLI's own text"},
			{"attempt", "the number of the attempt when it is first observed"},
			{"reset_at", "when a limit ends, RFC 3339; absent: not known"},
			{"probe_at", "when the next prompt is tried, RFC 3339; absent: prompts are not held back"},
			{"source", "what reported it"},
		}},
		{SessionObstacleOver, "the obstacle is gone", []Datum{{"obstacle", "which"}}},
		{PoolCheckFailed, "the check of a pool fails; the pool keeps its last wanted number", []Datum{{"pool", "its agent"}, {"error", "why"}}},
		{EventsDropped, "events of a session or agent exceeded the rate limit; all but the newest of each kind were left out", []Datum{
			{"count", "how many were left out"}, {"kinds", "how many of each kind"}, {"since", "when the first of them occurred, RFC 3339"},
		}},
		{HostResumed, "the host was suspended; for a while no timeout stops a session", []Datum{{"seconds", "how long"}}},
		{ClockJumped, "the clock was set back", []Datum{{"seconds", "by how much"}}},
		{StoreDegraded, "the city's database cannot be written or read; nothing is started or stopped meanwhile", []Datum{{"error", "the problem and its remedy"}}},
		{StoreRecovered, "the city's database works again", []Datum{{"seconds", "how long it did not work"}, {"lost", "number of lost events"}}},
		{StoreRebuilt, "the city's database was damaged and was renamed, or was missing; a new one was created", []Datum{{"file", "the damaged file; absent: it was missing"}, {"error", "the cause"}}},
	}
	return slices.Concat(kinds, questionKinds(), waitKinds(), promptKinds(), workerKinds(), budgetKinds(), webKinds())
}

// questionKinds returns the kinds of events about questions of agents.
func questionKinds() []KindInfo {
	id, asks := Datum{"id", "the question or approval"}, Datum{"instance", "public fingerprint of the instance that asks"}
	kind := Datum{"kind", "permission, question, menu, login or limit"}
	answer, by := Datum{"answer", "what was answered"}, Datum{"by", "who answered"}
	return []KindInfo{
		{PendingRaised, "the agent is blocked by a question", []Datum{
			id, kind, asks,
			{"prompt", "what is asked, at most 1,000 bytes of it"},
			{"options", "a JSON array of the labels"},
			{"tool", "what is to run"},
			{"policy", "what happens at the deadline"},
			{"deadline", "RFC 3339"},
		}},
		{PendingAnswered, "the question was answered through gc, and is closed", []Datum{id, kind, answer, by}},
		{PendingResolved, "the question has ended without an answer that was given through gc; it may have been answered in the terminal", []Datum{id, kind}},
		{PendingExpired, "the question was answered by the policy, and is closed", []Datum{id, kind, answer, by}},
		{PendingGone, "the instance that asked has stopped", []Datum{id, kind, asks}},
		{PendingEscalated, "no answer arrived by the deadline", []Datum{id, kind, {"reason", "why it was not answered by the policy"}}},
		{PendingNotifyFailed, "the notifier failed to report a question", []Datum{id, {"error", "why"}}},
		{NotifyFailed, "a notification was not sent to a sink of city.toml, and is not tried again", []Datum{{"sink", "its name"}, {"id", "the notification"}, {"error", "why"}, {"device", "the device of the web console; absent: the sink has no devices"}}},
		{NotifyAnswer, "an answer button of a notification was pressed; the answer is sent to the agent next", []Datum{id, {"sink", "its name"}, answer, {"by", "who pressed it, if it is known"}}},
		{NotifyAnswerRefused, "a press of an answer button was refused; 20 of them are reported at once, and then one each 10 s", []Datum{
			{"reason", "forged, expired, replayed, superseded (the question is not open any more) or not_listed (the person may not answer)"}, id, {"sink", "its name"}, {"by", "who pressed it, if it is known"},
		}},
	}
}

// waitKinds returns the kinds of events about waits: an agent waits for a condition and is notified
// when it holds.
func waitKinds() []KindInfo {
	id, condition := Datum{"id", "the wait"}, Datum{"for", "its condition"}
	return []KindInfo{
		{WaitAdded, "an agent waits for a condition", []Datum{id, condition, {"deadline", "RFC 3339"}}},
		{WaitEnded, "a wait of an agent has ended", []Datum{id, condition, {"state", "fulfilled, expired, cancelled or failed"}, {"reason", "why"}}},
	}
}

// promptKinds returns the kinds of events about prompts.
func promptKinds() []KindInfo {
	evidence := Datum{"evidence", "what proved it"}
	data := []Datum{
		{"receipt", "its id"},
		{"priority", "system, urgent or normal"},
		{"source", "who sent it"},
		{"instance", "public fingerprint of the instance that the prompt is for or was delivered to"},
		{"reason", "why"},
	}
	proved := append(slices.Clip(data), evidence)
	return []KindInfo{
		{PromptAccepted, "a prompt is stored and will be delivered", data},
		{PromptEdited, "a person changed a prompt that waits", []Datum{data[0], data[1], {"by", "who"}}},
		{PromptMoved, "a person changed the place of a prompt that waits", []Datum{data[0], data[1], {"by", "who"}, {"before", "the id of the prompt that follows; none: it is the last one of its priority"}}},
		{PromptSubmitted, "the agent accepted a prompt", proved},
		{PromptConsumed, "a turn worked on a prompt", proved},
		{PromptExpired, "a prompt expired before it could be delivered", data},
		{PromptDead, "a prompt can never be delivered; nothing of it reached the agent", data},
		{PromptCancelled, "a prompt was withdrawn before it was delivered", data},
		{PromptUnconfirmed, "a prompt was delivered without evidence that the agent accepted it", data},
		{InputBlocked, "an agent's input box may hold text that gc can neither prove gone nor remove; no prompt is typed until it is empty", []Datum{{"reason", "what blocks the input box"}, {"instance", "public fingerprint of the instance"}}},
		{InputUnblocked, "the input box is empty again, or a new instance runs", []Datum{{"instance", "public fingerprint of the instance"}}},
	}
}

// workerKinds returns the kinds of events that workers report, or that are about workers.
func workerKinds() []KindInfo {
	account, end := Datum{"credential", "its name in city.toml"}, Datum{"until", "when it expires, RFC 3339; absent: unknown"}
	run, body := Datum{"run", "the run_id"}, Datum{"body", "the report as JSON, without contents and credentials"}
	return []KindInfo{
		{WorkerConnected, "a worker has opened its stream", []Datum{run}},
		{WorkerLifecycle, "a worker reported a transition of its run", []Datum{run, body, {"late", "true: the report changed nothing"}, {"clock", "why its time was not used: it was before the start of the instance, or in the future"}}},
		{WorkerTelemetry, "a worker reported usage: tokens, cost or tool calls", []Datum{run, body}},
		{WorkerInteraction, "a worker reported a question, or that it is closed", []Datum{run, body}},
		{WorkerAuthorize, "the guard decided whether an agent may use a tool", []Datum{
			run, body, {"tool", "which"}, {"action", "allow, ask or deny"}, {"rule", "the id of the rule that decided"}, {"input", "sha256 of the tool's input"}, {"microseconds", "duration of the decision, without the time that a person took"},
		}},
		{WorkerAck, "a worker reported the progress of a message that it was sent", []Datum{run, body}},
		{WorkerBypass, "a tool ran although it was not allowed: the guard was bypassed", []Datum{run, body, {"tool", "which"}}},
		{WorkerContext, "the context of a run fills up", []Datum{run, {"step", "warn: a threshold was reached; compact: the worker was asked to compact; compacted: it has finished; overdue: it has not finished in time"}, {"usage", "the used fraction of the context window"}}},
		{WorkerHealth, "a worker reported its health", []Datum{run, body}},
		{CredentialGood, "a credential is available, or was renewed again after a failure", []Datum{account, end}},
		{CredentialFailing, "a credential could not be renewed, but is still valid", []Datum{account, end, {"error", "why"}}},
		{CredentialExpired, "a credential has expired or is not available: sessions with it get no new prompts until it is", []Datum{account, {"error", "why"}}},
	}
}

// budgetKinds returns the kinds of events about budgets.
func budgetKinds() []KindInfo {
	name, who := Datum{"budget", "its name"}, Datum{"who", "the session or agent; absent: the city"}
	return []KindInfo{
		{BudgetExceeded, "a budget is used up, and its act applies; a controller that starts later reports it again", []Datum{
			name, who,
			{"act", "warn, hold, interrupt or stop"},
			{"measure", "tokens, usd, turns or time"},
			{"used", "how much is known to be used"},
			{"limit", "the limit of the budget"},
			{"unknown", "why the real use may be greater"},
			{"until", "when the budget is free again if there is no more usage, RFC 3339; absent: never by itself"},
		}},
		{BudgetReleased, "a budget is not used up any more", []Datum{name, who}},
		{BudgetLifted, "a person reset a budget", []Datum{name, who}},
	}
}

// webKinds returns the kinds of events about the web console.
func webKinds() []KindInfo {
	device, name := Datum{"device", "the id of the device"}, Datum{"name", "the name of the device"}
	scope := Datum{"scope", "see, answer, type or manage"}
	person := Datum{"claimed", "the person that a header of a proxy names; any process of this machine can send such a header"}
	return []KindInfo{
		{WebStarted, "the web console is on", []Datum{{"url", "its address"}}},
		{WebStopped, "the web console is off", nil},
		{WebFailed, "the web console is to be on and cannot be started", []Datum{{"error", "why"}}},
		{WebCodeMade, "a code was made that signs one device in", []Datum{scope}},
		{WebSignedIn, "a device signed in to the web console", []Datum{device, name, scope, person}},
		{WebSignedOut, "a device signed itself out", []Datum{device, name}},
		{WebDeviceRevoked, "a device was signed out by another one or by a command", []Datum{device, name}},
		{WebRequest, "a device requests a change; events about the change follow if it is made", []Datum{
			device, name, scope, person, {"operation", "the operation, as in openapi.json"}, {"target", "the agent, prompt, question or other object"},
		}},
		{WebTerminal, "a device opened a terminal in which it may type", []Datum{device, name, scope, person, {"target", "the agent or session"}}},
		{WebSubscribed, "a device gets notifications by Web Push", []Datum{device, name, scope, person}},
		{WebUnsubscribed, "a device gets no notifications any more", []Datum{device, name, {"reason", "turned off, or what its push service answered"}}},
	}
}
