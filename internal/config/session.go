package config

import "time"

// Session is the section of how sessions run.
type Session struct {
	Keys
	Provider          string        `toml:"provider" doc:"The runtime provider of the city. The variable GC_SESSION wins over it."`
	StartupTimeout    time.Duration `toml:"startup_timeout" default:"60s" doc:"Bound of one start."`
	SetupTimeout      time.Duration `toml:"setup_timeout" default:"10s" doc:"Bound of one command of pre_start, session_setup and session_live."`
	SetupMaxTimeout   time.Duration `toml:"setup_max_timeout" doc:"With it setup_timeout bounds silence, and this the whole command. Default: none."`
	Socket            string        `toml:"socket" doc:"Name of a multiplexer's socket. Default: the city's name."`
	RemoteMatch       string        `toml:"remote_match" doc:"Part of the names of sessions that run remotely, where the provider routes by name. The variable GC_HYBRID_REMOTE_MATCH wins over it. Empty: none."`
	NudgeReadyTimeout time.Duration `toml:"nudge_ready_timeout" default:"10s" doc:"How long a prompt waits for a session that is not ready to take it." later:"not needed: a prompt waits by its receipt"`
	NudgeLockTimeout  time.Duration `toml:"nudge_lock_timeout" default:"30s" doc:"How long a prompt waits for the one before it." later:"not needed: a prompt waits by its receipt"`

	NudgeRetryInterval      time.Duration `toml:"nudge_retry_interval" default:"500ms" doc:"Pause between tries." later:"not needed: delivery waits for events"`
	NudgePollInterval       time.Duration `toml:"nudge_poll_interval" default:"2s" doc:"Pause between looks at the queue." later:"not needed: delivery waits for events"`
	DebounceMs              int           `toml:"debounce_ms" default:"500" doc:"Pause between text and Enter, in milliseconds." later:"not needed: delivery waits for the echo"`
	DisplayMs               int           `toml:"display_ms" default:"5000" doc:"How long a message shows, in milliseconds." later:"messages"`
	ProgressStallTimeout    time.Duration `toml:"progress_stall_timeout" doc:"Silence that counts as a stall." later:"stalls"`
	ClaimHolderStallTimeout time.Duration `toml:"claim_holder_stall_timeout" doc:"The same for a session that holds work." later:"stalls"`

	Auto   AutoSession   `toml:"auto" doc:"Where sessions run when they are routed by transport."`
	Hybrid HybridSession `toml:"hybrid" doc:"Where sessions run when they are routed by name."`

	ACP ACPSession `toml:"acp" doc:"The Agent Client Protocol."`
	SSH SSHSession `toml:"ssh" doc:"Hosts that are reached by ssh."`
	K8s K8sSession `toml:"k8s" doc:"Kubernetes."`
}

// AutoSession names the places of a provider that routes by transport.
type AutoSession struct {
	Keys
	Default string `toml:"default" doc:"The provider of sessions without a transport of their own. Default: that of a city that names none."`
	ACP     string `toml:"acp" doc:"The provider of agents with session = \"acp\". Default: the one of that name."`
}

// HybridSession names the places of a provider that routes by name.
type HybridSession struct {
	Keys
	Local  string `toml:"local" doc:"The provider of sessions whose name does not hold remote_match. Default: that of a city that names none."`
	Remote string `toml:"remote" doc:"The provider of those whose name does. Needed where remote_match is set."`
}

// ACPSession holds the options of sessions over the Agent Client Protocol.
type ACPSession struct {
	Keys
	HandshakeTimeout  time.Duration `toml:"handshake_timeout" default:"30s" doc:"Bound of the handshake."`
	NudgeBusyTimeout  time.Duration `toml:"nudge_busy_timeout" default:"60s" doc:"How long a prompt waits for the turn before it."`
	OutputBufferLines int           `toml:"output_buffer_lines" default:"1000" doc:"Lines kept for peek."`
}

// SSHSession holds the options of sessions on other hosts.
type SSHSession struct {
	Keys
	Options        []string          `toml:"options" doc:"Further arguments of ssh, such as [\"-F\", \"file\"]. Your own ssh configuration holds anyway."`
	Programs       map[string]string `toml:"programs" doc:"Files of gc for hosts of another kind than this machine, by \"linux/arm64\". gc copies it there."`
	ConnectTimeout time.Duration     `toml:"connect_timeout" default:"60s" doc:"Bound of making a connection, gc's way there included."`
}

// K8sSession holds the options of sessions in pods. The GC_K8S_ variables win over them, and
// those in an agent's env are its own.
type K8sSession struct {
	Keys
	Namespace  string `toml:"namespace" default:"gc" doc:"Namespace of the pods. It must be there."`
	Image      string `toml:"image" doc:"Image of the pods. It needs a shell, and the agent."`
	Context    string `toml:"context" doc:"Context of the client configuration. Default: the current one."`
	CPURequest string `toml:"cpu_request" default:"500m" doc:"Requested processor time."`
	MemRequest string `toml:"mem_request" default:"1Gi" doc:"Requested memory."`
	CPULimit   string `toml:"cpu_limit" default:"2" doc:"Limit of processor time."`
	MemLimit   string `toml:"mem_limit" default:"4Gi" doc:"Limit of memory."`
	Prebaked   bool   `toml:"prebaked" doc:"The image has gc in its PATH. Otherwise gc copies it into each pod."`
	Template   string `toml:"template" doc:"A pod in JSON, or the path of a file with it: volumes, secrets, security contexts and whatever else pods have. Its container agent is the agent's."`
}

// Delivery is the section of prompts on their way to agents.
type Delivery struct {
	Keys
	ProgressTimeout time.Duration `toml:"progress_timeout" default:"1m" doc:"How long the delivery of one prompt may take, from its first byte: then the prompt has a final state or is in the queue again. A long text has 1 s more for each 8 KiB. From 5s to 1h."`
}

// Daemon is the section of the controller.
type Daemon struct {
	Keys
	PatrolInterval       time.Duration    `toml:"patrol_interval" default:"30s" doc:"Longest time between two looks at everything, when no event comes."`
	MaxRestarts          int              `toml:"max_restarts" default:"5" doc:"Failures within restart_window after which an agent is quarantined."`
	RestartWindow        time.Duration    `toml:"restart_window" default:"1h" doc:"See max_restarts."`
	ShutdownTimeout      time.Duration    `toml:"shutdown_timeout" default:"5s" doc:"Time between the interrupt and the stop when the city ends."`
	UnknownActivityWait  time.Duration    `toml:"unknown_activity_wait" default:"10m" doc:"A save of city.toml that removes, renames or changes an agent waits for the end of its turn. This is how long it waits for an agent whose activity is unknown before it asks a person (gc pending). The agent is not stopped without an answer; gc apply --now does not wait."`
	ProgressStallTimeout OptionalDuration `toml:"progress_stall_timeout" doc:"An agent that shows no sign of progress in a turn for this long is stalled: gc status shows it and a person is asked. Signs are new text on the screen (no spinner or clock), reports of hooks and workers, the start and end of a tool, and tokens. A tool that runs, an open question, a limit and a time in which the host slept do not count. Default: off."`
	OnStall              OnStall          `toml:"on_stall" doc:"What gc does about a stalled agent besides that: report nothing else, interrupt its turn, or restart it in its conversation. Nothing is done while a terminal is attached. Default: report."`
	DriftDrainTimeout    time.Duration    `toml:"drift_drain_timeout" default:"2m" doc:"How long a restart for a changed configuration waits for an agent that keeps printing to be silent. An attached terminal, an open question and an agent seen to be in a turn are waited for without a limit."`
	ProbeConcurrency     int              `toml:"probe_concurrency" default:"8" doc:"Observations at a time."`
	MaxWakesPerTick      int              `toml:"max_wakes_per_tick" default:"5" doc:"Starts at a time."`
	StartReadyTimeout    time.Duration    `toml:"start_ready_timeout" default:"5m" doc:"How long gc start waits for the controller."`
	OnPending            string           `toml:"on_pending" doc:"Shell command that notifies a person of an agent's question, run once for each."`
	WorkerHTTP           bool             `toml:"worker_http" doc:"Serve the worker API on a port of 127.0.0.1 too, for agents that cannot use a Unix socket; they get its address as GC_WORKER_URL. Read when the controller starts."`
	WorkerTokenAge       time.Duration    `toml:"worker_token_age" doc:"Age at which a worker that applies identities gets a new token for the worker API, by its stream. Programs that have the old one in their environment are shut out. Read when the controller starts. Default: a token is good as long as its run."`
	TickDebounce         time.Duration    `toml:"tick_debounce" default:"200ms" doc:"Quiet time after an edit of city.toml before it is read again; saves that never rest are read after ten times that."`

	NudgeDispatcher NudgeDispatcher `toml:"nudge_dispatcher" doc:"Who delivers queued prompts." later:"not needed: the controller delivers"`
	ObservePaths    []string        `toml:"observe_paths" doc:"Further places of transcripts." later:"transcripts"`
	CircuitBreaker  map[string]any  `toml:"session_circuit_breaker*" doc:"Circuit breaker of named sessions." later:"named sessions"`
	Wisp            map[string]any  `toml:"wisp_*" doc:"Clean-up of work items." later:"work items"`
}
