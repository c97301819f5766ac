package runtime_test

import (
	"context"
	"encoding/json"
	"time"

	"gascity/runtime"
)

// The interfaces of seeds/runtime.go.txt, copied. If any of them and ours differ
// in a name or a signature, this file does not compile.
type seedProvider interface {
	Start(ctx context.Context, name string, cfg runtime.Config) error
	Stop(name string) error
	Interrupt(name string) error
	IsRunning(name string) bool
	IsAttached(name string) bool
	Attach(name string) error
	ProcessAlive(name string, processNames []string) bool
	Nudge(name string, content []runtime.ContentBlock) error
	SetMeta(name, key, value string) error
	GetMeta(name, key string) (string, error)
	RemoveMeta(name, key string) error
	Peek(name string, lines int) (string, error)
	ListRunning(prefix string) ([]string, error)
	GetLastActivity(name string) (time.Time, error)
	ClearScrollback(name string) error
	CopyTo(name, src, relDst string) error
	SendKeys(name string, keys ...string) error
	RunLive(name string, cfg runtime.Config) error
	Capabilities() runtime.ProviderCapabilities
}
type seedInteraction interface {
	Pending(name string) (*runtime.PendingInteraction, error)
	Respond(name string, response runtime.InteractionResponse) error
}
type seedIdle interface {
	WaitForIdle(ctx context.Context, name string, timeout time.Duration) error
}
type seedExec interface {
	Exec(ctx context.Context, name string, argv []string) (output []byte, code int, err error)
}
type seedDialog interface {
	DismissKnownDialogs(ctx context.Context, name string, timeout time.Duration) error
}
type (
	seedTransport interface{ SupportsTransport(transport string) bool }
	seedImmediate interface {
		NudgeNow(name string, content []runtime.ContentBlock) error
	}
)

type seedReset interface {
	ResetInterruptedTurn(ctx context.Context, name string) error
}
type seedBoundary interface {
	WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error
}
type seedRelaunch interface {
	Relaunch(ctx context.Context, name string, cfg runtime.Config) error
}
type seedScanner interface {
	FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error)
	TerminateRuntime(r runtime.LiveRuntime) error
}
type seedServer interface {
	ConfigureServer() error
	TeardownServer() error
}

// Assignable in both directions: neither side has a method more.
var (
	_ = func(p seedProvider) runtime.Provider { return p }
	_ = func(p runtime.Provider) seedProvider { return p }
	_ = func(p seedInteraction) runtime.InteractionProvider { return p }
	_ = func(p runtime.InteractionProvider) seedInteraction { return p }
	_ = func(p seedIdle) runtime.IdleWaitProvider { return p }
	_ = func(p runtime.IdleWaitProvider) seedIdle { return p }
	_ = func(p seedExec) runtime.ExecProvider { return p }
	_ = func(p runtime.ExecProvider) seedExec { return p }
	_ = func(p seedDialog) runtime.DialogProvider { return p }
	_ = func(p runtime.DialogProvider) seedDialog { return p }
	_ = func(p seedTransport) runtime.TransportCapabilityProvider { return p }
	_ = func(p runtime.TransportCapabilityProvider) seedTransport { return p }
	_ = func(p seedImmediate) runtime.ImmediateNudgeProvider { return p }
	_ = func(p runtime.ImmediateNudgeProvider) seedImmediate { return p }
	_ = func(p seedReset) runtime.InterruptedTurnResetProvider { return p }
	_ = func(p runtime.InterruptedTurnResetProvider) seedReset { return p }
	_ = func(p seedBoundary) runtime.InterruptBoundaryWaitProvider { return p }
	_ = func(p runtime.InterruptBoundaryWaitProvider) seedBoundary { return p }
	_ = func(p seedRelaunch) runtime.RelaunchProvider { return p }
	_ = func(p runtime.RelaunchProvider) seedRelaunch { return p }
	_ = func(p seedScanner) runtime.ProcessTableScanner { return p }
	_ = func(p runtime.ProcessTableScanner) seedScanner { return p }
	_ = func(p seedServer) runtime.ServerLifecycleProvider { return p }
	_ = func(p runtime.ServerLifecycleProvider) seedServer { return p }
)

// The helpers, errors and structs of the document, by name and type.
var (
	_ func(error) bool                             = runtime.IsSessionGone
	_ func(string) []runtime.ContentBlock          = runtime.TextContent
	_ func([]runtime.ContentBlock) string          = runtime.FlattenText
	_ func(string) string                          = runtime.HashPathContent
	_ func(runtime.Config) []string                = runtime.OverlayProviderNames
	_ func(string, string, []string) []string      = runtime.OverlayProviderNamesFromParts
	_ func(runtime.Config) runtime.Config          = runtime.SyncWorkDirEnv
	_ func(runtime.Config) string                  = runtime.ConfigFingerprint
	_ func(string, string, bool) string            = runtime.FormatBeacon
	_ func(string, string, bool, time.Time) string = runtime.FormatBeaconAt

	_ = []error{
		runtime.ErrSessionExists, runtime.ErrSessionInitializing, runtime.ErrInteractionUnsupported,
		runtime.ErrSessionDiedDuringStartup, runtime.ErrSessionNotFound, runtime.ErrExecUnsupported, runtime.ErrRelaunchUnsupported,
	}
	_ = runtime.Config{
		WorkDir: "", Command: "", Lifecycle: runtime.LifecycleOneShot, Upstream: "", Env: map[string]string{},
		MCPServers: []runtime.MCPServerConfig{}, StartupEnvelope: json.RawMessage{}, ReadyPromptPrefix: "", ReadyDelayMs: 0,
		ProcessNames: []string{}, EmitsPermissionWarning: false, AcceptStartupDialogs: new(bool), MouseOn: false, Nudge: "",
		PreStart: []string{}, SessionSetup: []string{}, SessionSetupScript: "", SessionLive: []string{}, ProviderName: "",
		ProviderOverlayName: "", InstallAgentHooks: []string{}, PackOverlayDirs: []string{}, OverlayDir: "",
		CopyFiles:        []runtime.CopyEntry{{Src: "", RelDst: "", Probed: false, ContentHash: ""}},
		FingerprintExtra: map[string]string{}, PromptSuffix: "", PromptFlag: "",
	}
	_ = runtime.ContentBlock{Type: "", Text: "", Path: ""}
	_ = runtime.PendingInteraction{RequestID: "", Kind: "", Prompt: "", Options: []string{}, Metadata: map[string]string{}}
	_ = runtime.InteractionResponse{RequestID: "", Action: "", Text: "", Metadata: map[string]string{}}
	_ = runtime.LiveRuntime{SessionID: "", City: "", Epoch: 0, PID: 0, ProviderName: "", IsTracked: false}
	_ = runtime.ProviderCapabilities{CanReportAttachment: true, CanReportActivity: true}
)
