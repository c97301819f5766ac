package config

import "time"

// Session is the [session] section: how sessions run.
type Session struct {
	Keys
	Provider        string        `toml:"provider" doc:"The runtime provider of the city. The environment variable GC_SESSION overrides it."`
	StartupTimeout  time.Duration `toml:"startup_timeout" default:"60s" doc:"Maximum duration of one start."`
	SetupTimeout    time.Duration `toml:"setup_timeout" default:"10s" doc:"Maximum duration of one command of pre_start, session_setup and session_live."`
	SetupMaxTimeout time.Duration `toml:"setup_max_timeout" doc:"If set, it is the maximum duration of one such command, and setup_timeout limits only the time without output. Default: none."`
	Socket          string        `toml:"socket" doc:"Name of a multiplexer's socket. Default: the city's name."`
	RemoteMatch     string        `toml:"remote_match" doc:"Sessions whose name contains this text run remotely, if the provider routes by name. The environment variable GC_HYBRID_REMOTE_MATCH overrides it. Empty: no session runs remotely."`

	Auto   AutoSession   `toml:"auto" doc:"Runtime providers of a city that routes by transport: one for agents with session = \"acp\", one for all others."`
	Hybrid HybridSession `toml:"hybrid" doc:"Runtime providers of a city that routes by session name, see remote_match."`

	ACP ACPSession `toml:"acp" doc:"The Agent Client Protocol."`
	SSH SSHSession `toml:"ssh" doc:"Sessions on other hosts, over ssh."`
	K8s K8sSession `toml:"k8s" doc:"Sessions in pods of a Kubernetes cluster."`
}

// AutoSession is the [session.auto] section: to which runtime provider sessions are routed by their
// transport.
type AutoSession struct {
	Keys
	Default string `toml:"default" doc:"The runtime provider of agents without a transport. Default: the default runtime provider of gc."`
	ACP     string `toml:"acp" doc:"The runtime provider of agents with session = \"acp\". Default: acp."`
}

// HybridSession is the [session.hybrid] section: to which runtime provider sessions are routed by
// their name.
type HybridSession struct {
	Keys
	Local  string `toml:"local" doc:"The runtime provider of sessions whose name does not contain remote_match. Default: the default runtime provider of gc."`
	Remote string `toml:"remote" doc:"The runtime provider of sessions whose name contains remote_match. Required if remote_match is set."`
}

// ACPSession is the [session.acp] section: settings for agents that speak the Agent Client
// Protocol.
type ACPSession struct {
	Keys
	HandshakeTimeout  time.Duration `toml:"handshake_timeout" default:"30s" doc:"Maximum duration of the handshake."`
	NudgeBusyTimeout  time.Duration `toml:"nudge_busy_timeout" default:"60s" doc:"How long a prompt waits for the turn before it."`
	OutputBufferLines int           `toml:"output_buffer_lines" default:"1000" doc:"Lines kept for peek."`
}

// SSHSession is the [session.ssh] section: settings for sessions on other hosts.
type SSHSession struct {
	Keys
	Options        []string          `toml:"options" doc:"Further arguments of ssh, such as [\"-F\", \"file\"]. Your own ssh configuration also applies."`
	Programs       map[string]string `toml:"programs" doc:"gc binaries for hosts with another platform than this machine, by platform such as \"linux/arm64\". gc copies the binary to the host."`
	ConnectTimeout time.Duration     `toml:"connect_timeout" default:"60s" doc:"Maximum duration of connecting, including the copy of gc."`
}

// K8sSession is the [session.k8s] section: settings for sessions in pods. An environment variable
// that begins with GC_K8S_ replaces the key with the rest of its name. Such a variable in the env
// of an agent is only for that agent.
type K8sSession struct {
	Keys
	Namespace  string `toml:"namespace" default:"gc" doc:"Namespace of all pods of the city. It must exist. The env of an agent cannot change it."`
	Image      string `toml:"image" doc:"Image of the pods. It must contain a shell and the agent CLI."`
	Context    string `toml:"context" doc:"Context of the client configuration. Default: the current one."`
	CPURequest string `toml:"cpu_request" default:"500m" doc:"Requested processor time."`
	MemRequest string `toml:"mem_request" default:"1Gi" doc:"Requested memory."`
	CPULimit   string `toml:"cpu_limit" default:"2" doc:"Limit of processor time."`
	MemLimit   string `toml:"mem_limit" default:"4Gi" doc:"Limit of memory."`
	Prebaked   bool   `toml:"prebaked" doc:"The image has gc in its PATH. Otherwise gc copies it into each pod."`
	Template   string `toml:"template" doc:"A pod in JSON, or the path of a file with it, for volumes, secrets, security contexts and other settings of pods. The agent runs in its container named agent."`
}

// Delivery is the [delivery] section: how prompts are delivered.
type Delivery struct {
	Keys
	ProgressTimeout time.Duration `toml:"progress_timeout" default:"1m" doc:"How long the delivery of one prompt may take, from its first byte. After that the prompt has a final state or is in the queue again. A text gets 1 s more for each 8 KiB. From 5s to 1h."`
}

// Daemon is the [daemon] section: settings of the controller.
type Daemon struct {
	Keys
	PatrolInterval       time.Duration    `toml:"patrol_interval" default:"30s" doc:"Maximum time between two checks of all sessions if no event occurs."`
	MaxRestarts          int              `toml:"max_restarts" default:"5" doc:"Failures within restart_window after which an agent is quarantined."`
	RestartWindow        time.Duration    `toml:"restart_window" default:"1h" doc:"The time in which the failures of an agent are counted for max_restarts."`
	ShutdownTimeout      time.Duration    `toml:"shutdown_timeout" default:"5s" doc:"Time between the interrupt and the stop of an agent when the city stops."`
	UnknownActivityWait  time.Duration    `toml:"unknown_activity_wait" default:"10m" doc:"When a change of city.toml removes, renames or changes an agent, gc waits for the end of its turn. This is how long gc waits while the agent's activity is unknown before it asks a person (gc pending). gc does not stop the agent without an answer; gc apply --now does not wait."`
	ProgressStallTimeout OptionalDuration `toml:"progress_stall_timeout" doc:"An agent that shows no sign of progress in a turn for this long is stalled: gc status shows it and a person is asked. Signs are new text on the screen (no spinner or clock), reports of hooks and workers, the start and end of a tool, and tokens. The time during a running tool, an open question, a usage limit or a suspend of the host does not count. Default: off."`
	OnStall              OnStall          `toml:"on_stall" doc:"What gc does when an agent stalls. report: gc only reports the stall; interrupt: gc also interrupts the turn; restart: gc also restarts the agent, which continues its conversation. While a terminal is attached, gc only reports. Default: report."`
	DriftDrainTimeout    time.Duration    `toml:"drift_drain_timeout" default:"2m" doc:"How long a restart for a changed configuration waits for an agent that keeps printing to be silent. gc always waits for an attached terminal, an open question and the end of a turn."`
	ProbeConcurrency     int              `toml:"probe_concurrency" default:"8" doc:"Maximum number of concurrent observations."`
	MaxWakesPerTick      int              `toml:"max_wakes_per_tick" default:"5" doc:"Maximum number of concurrent starts."`
	StartReadyTimeout    time.Duration    `toml:"start_ready_timeout" default:"5m" doc:"How long gc start waits for the controller."`
	OnPending            string           `toml:"on_pending" doc:"Shell command that notifies a person of an agent's question; it runs once for each question."`
	WorkerHTTP           bool             `toml:"worker_http" doc:"Serve the worker API on a port of 127.0.0.1 too, for agents that cannot use a Unix socket; they get its address as GC_WORKER_URL. Read when the controller starts."`
	WorkerTokenAge       time.Duration    `toml:"worker_token_age" doc:"Age at which a worker that supports new tokens gets one for the worker API, through its stream. Programs with the old token in their environment lose access. Read when the controller starts. Default: a token is valid as long as its run."`
	TickDebounce         time.Duration    `toml:"tick_debounce" default:"200ms" doc:"How long city.toml must be unchanged after an edit before gc reads it again. If it keeps changing, gc reads it after ten times that."`
}
