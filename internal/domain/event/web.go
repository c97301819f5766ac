package event

// The kinds of events about the web console.
const (
	WebStarted       Kind = "web.started"
	WebStopped       Kind = "web.stopped"
	WebFailed        Kind = "web.failed"
	WebCodeMade      Kind = "web.code_made"
	WebSignedIn      Kind = "web.signed_in"
	WebSignedOut     Kind = "web.signed_out"
	WebDeviceRevoked Kind = "web.device_revoked"
	WebRequest       Kind = "web.request"
	WebTerminal      Kind = "web.terminal"
	WebSubscribed    Kind = "web.subscribed"
	WebUnsubscribed  Kind = "web.unsubscribed"
)
