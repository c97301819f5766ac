// Generated from docs/reference/openapi.json by make web; do not edit.

export interface Action {
	after?: string;
	agent?: string;
	fields?: string[] | null;
	reason: string;
	session: string;
	verb: string;
}

export interface Activity {
	confidence?: string;
	detail?: string;
	kind?: string;
	since?: string;
	source?: string;
	state: string;
	until?: string;
}

export interface Agent {
	active_at?: string;
	activity: Activity;
	attached: number;
	burn?: Burn;
	desired: string;
	drift?: string[] | null;
	epoch?: number;
	exit?: string;
	guard?: string;
	guard_detail?: string;
	held?: string;
	input_blocked?: string;
	input_blocked_since?: string;
	instance?: string;
	last_sign?: string;
	name: string;
	next_at?: string;
	obstacle?: AgentObstacle;
	pending?: number;
	pid?: number;
	provider: string;
	queued?: number;
	read_at?: string;
	reason?: string;
	restarts: number;
	session: string;
	stalled_since?: string;
	started_at?: string;
	state: string;
	warning?: string;
	worker?: Worker;
}

export interface AgentObstacle {
	attempt?: number;
	detail?: string;
	kind: string;
	next_try?: string;
	of?: number;
	probe_at?: string;
	probes?: number;
	reset_at?: string;
	since?: string;
	source?: string;
}

export interface AlwaysRequest {
	by?: string;
	rule: string;
}

export interface ApplyRequest {
	targets: string[] | null;
}

export interface Budget {
	act: string;
	limit: number;
	measure: string;
	name: string;
	over: boolean;
	scope: string;
	text: string;
	unknown?: string;
	until?: string;
	used: number;
	who?: string;
	window_seconds?: number;
}

export interface Burn {
	partial?: boolean;
	tokens_per_minute: number | null;
	unpriced?: boolean;
	usd_per_hour: number | null;
}

export interface Census {
	clean: boolean;
	sessions: StopResult[] | null;
}

export interface ChangedFile {
	added: number;
	binary?: boolean;
	cut?: string;
	diff?: string;
	kind?: string;
	old_path?: string;
	path: string;
	removed: number;
	staged?: boolean;
	status: string;
	uncounted?: boolean;
	unstaged?: boolean;
	untracked?: boolean;
}

export interface Changes {
	added: number;
	agent: string;
	base?: string;
	branch?: string;
	commits?: number;
	cut?: string[] | null;
	files: ChangedFile[] | null;
	head?: string;
	main?: string;
	operation?: string;
	removed: number;
	root: string;
	session: string;
	since: string;
	work_dir: string;
}

export interface Channel {
	by?: string;
	reason?: string;
	way: "native" | "worker" | "acp" | "typed";
}

export interface Config {
	path: string;
	values: ConfigValue[] | null;
}

export interface ConfigEdit {
	hash?: string;
	text: string;
}

export interface ConfigFault {
	alone?: boolean;
	column?: number;
	excerpt?: string;
	file: string;
	hint?: string;
	line?: number;
	message: string;
	warning?: boolean;
}

export interface ConfigFile {
	hash: string;
	hidden: number;
	path: string;
	text: string;
}

export interface ConfigPreview {
	faults: ConfigFault[] | null;
	hash: string;
	plan?: Plan;
}

export interface ConfigValue {
	key: string;
	origin: string;
	value: string;
}

export interface Controller {
	degraded?: string;
	notices?: string[] | null;
	pid: number;
	search_path?: string;
	started_at: string;
	stopping?: boolean;
	stuck?: boolean;
	version: string;
}

export interface Conversation {
	agent: string;
	entries: ConversationEntry[] | null;
	id?: string;
	more: boolean;
	note?: string;
	session: string;
	skipped: number;
	source: "transcript" | "record" | "receipts";
	turns: number;
}

export interface ConversationEntry {
	bytes?: number;
	from?: "receipt" | "start" | "terminal";
	id: number;
	kind: "prompt" | "answer" | "thinking" | "tool" | "error" | "compaction" | "notice";
	receipt?: string;
	sender?: string;
	state?: string;
	text?: string;
	time?: string;
	tool?: ConversationTool;
	turn: number;
}

export interface ConversationTool {
	argument?: string;
	bytes?: number;
	name: string;
	result?: string;
	status: "running" | "done" | "failed";
}

export interface CopyOutRequest {
	instance?: string;
	path?: string;
	plain?: boolean;
}

export interface CopyRequest {
	instance?: string;
	rel_dst?: string;
	src: string;
}

export interface Done {
	changed: boolean;
	detail?: string;
	session?: string;
}

export interface Drain {
	acked?: boolean;
	deadline?: string;
	draining: boolean;
	instance?: string;
	reason?: string;
	since?: string;
}

export interface EditRequest {
	by?: string;
	priority?: "system" | "urgent" | "normal";
	text?: string;
	ttl_ns?: number;
}

export interface Event {
	agent?: string;
	data?: Record<string, string>;
	id: number;
	kind: string;
	session?: string;
	text?: string;
	time: string;
}

export interface EventPage {
	events: Event[] | null;
	gap: boolean;
	last: number;
}

export interface Evidence {
	activity: string;
	confidence: string;
	detail?: string;
	kind?: string;
	read_at: string;
	since?: string;
	source: string;
	until?: string;
	used: boolean;
}

export interface Explanation {
	agent: Agent;
	budgets?: Budget[] | null;
	channel?: Channel;
	decision: string;
	evidence: Evidence[] | null;
	exit?: string;
	facts: Fact[] | null;
	failures?: string[] | null;
	last_screen?: string;
	next: string;
	next_at?: string;
	output?: string;
	pending?: Pending[] | null;
	queue?: Receipt[] | null;
	reason: string;
	recent?: Event[] | null;
	warnings?: string[] | null;
}

export interface Fact {
	read_at?: string;
	value: string;
	what: string;
}

export interface Finding {
	check: string;
	level: string;
	message: string;
	remedy?: string;
}

export interface Findings {
	findings: Finding[] | null;
}

export interface GuardCheck {
	action: string;
	agent?: string;
	guarded: boolean;
	part?: string;
	parts: GuardPart[] | null;
	reason?: string;
	role?: string;
	rule?: string;
}

export interface GuardCheckRequest {
	agent?: string;
	command?: string;
	dir?: string;
	input?: string;
	role?: string;
	tool?: string;
}

export interface GuardDecision {
	action: string;
	agent: string;
	at: string;
	cut?: boolean;
	dir?: string;
	input?: string;
	part?: string;
	reason?: string;
	role?: string;
	rule?: string;
	session?: string;
	tool: string;
}

export interface GuardDecisions {
	decisions: GuardDecision[] | null;
	guarded: boolean;
	next?: string;
}

export interface GuardEffect {
	action: string;
	rule?: string;
	text: string;
}

export interface GuardPart {
	action: string;
	incidental?: boolean;
	part?: string;
	reason?: string;
	rule?: string;
	via?: string[] | null;
}

export interface GuardReading {
	action: string;
	always?: GuardRule;
	does: string[] | null;
	no_always?: string;
	parts: GuardEffect[] | null;
	reason: string;
	rule?: string;
}

export interface GuardRule {
	action: string;
	agent: string;
	exact: string;
	file: string;
	id: string;
	text: string;
	tool: string;
}

export interface KeysRequest {
	instance?: string;
	keys: string[] | null;
}

export interface LifecycleRequest {
	force?: boolean;
	hand_over?: boolean;
	in_turn?: boolean;
	instance?: string;
	reason?: string;
	timeout_ns?: number;
}

export interface LiftRequest {
	who?: string;
}

export interface MoveRequest {
	before?: string;
	by?: string;
	first?: boolean;
	last?: boolean;
}

export interface Notification {
	agent?: string;
	created: string;
	device?: string;
	error?: string;
	id: string;
	kind: string;
	message: string;
	question?: string;
	session?: string;
	sink: string;
	state: string;
	text: string;
	tries: number;
	updated: string;
}

export interface Notifications {
	notifications: Notification[] | null;
	present?: number;
	sinks: NotifySink[] | null;
}

export interface NotifyResult {
	device?: string;
	error?: string;
	seconds: number;
	sink: string;
	type: string;
}

export interface NotifySink {
	answer_error?: string;
	devices?: number;
	error?: string;
	name: string;
	retry?: string;
	type: string;
	waiting: number;
}

export interface NotifyTestRequest {
	sink?: string;
}

export interface NudgeRequest {
	allow_changes?: boolean;
	files?: string[] | null;
	instance?: string;
	key?: string;
	literal?: boolean;
	metadata?: Record<string, string>;
	priority?: "system" | "urgent" | "normal";
	source?: string;
	successor?: boolean;
	text?: string;
	ttl_ns?: number;
	wait?: "submitted" | "consumed";
}

export interface Output {
	ended_at?: string;
	session: string;
	text: string;
}

export interface Pending {
	agent: string;
	answer?: string;
	answered_by?: string;
	deadline?: string;
	default?: string;
	ended_at?: string;
	escalated?: string;
	guard?: GuardReading;
	id: string;
	input?: string;
	instance: string;
	kind: string;
	no_text?: boolean;
	options?: string[] | null;
	policy: string;
	prompt: string;
	session: string;
	since: string;
	source: string;
	state: string;
	suggested?: string;
	tool?: string;
	until?: string;
	why?: string;
}

export interface Plan {
	actions: Action[] | null;
	at: string;
}

export interface PlanState {
	error?: string;
	loaded_at: string;
}

export interface PreviewRequest {
	config: string;
	path?: string;
}

export interface Problem {
	code: string;
	detail: string;
	status: number;
	title: string;
	type: string;
}

export interface Process {
	command: string;
	pid: number;
	ppid: number;
	state: string;
}

export interface PromptText {
	id: string;
	text: string;
}

export interface Provider {
	capabilities: string[] | null;
	default?: boolean;
	extensions: string[] | null;
	name: string;
	problem?: string;
	summary: string;
	version?: string;
}

export interface ProviderList {
	providers: Provider[] | null;
}

export interface Receipt {
	agent: string;
	allow_changes?: boolean;
	attempts: number;
	by_file?: string;
	bytes: number;
	changes?: string[] | null;
	closed?: boolean;
	created_at: string;
	deadline?: string;
	evidence?: string;
	expires_at: string;
	files?: string[] | null;
	id: string;
	instance?: string;
	key?: string;
	literal?: boolean;
	metadata?: Record<string, string>;
	position?: number;
	priority: string;
	reason?: string;
	retry_of?: string;
	sent_back?: number;
	session: string;
	source?: string;
	state: string;
	steps?: ReceiptStep[] | null;
	text?: string;
	updated_at: string;
}

export interface ReceiptStep {
	at: string;
	detail?: string;
	state: string;
}

export interface RespondRequest {
	by?: string;
	option?: string;
	text?: string;
}

export interface RestartRequest {
	instance?: string;
	not_running?: boolean;
	targets: string[] | null;
}

export interface RetryRequest {
	allow_changes?: boolean;
	force?: boolean;
	key?: string;
	source?: string;
}

export interface Screen {
	cols: number;
	lines?: ScreenLine[] | null;
	output?: string;
	plain?: boolean;
	rows: number;
	session: string;
}

export interface ScreenLine {
	spans: ScreenSpan[] | null;
	y: number;
}

export interface ScreenSpan {
	bg?: string;
	bold?: boolean;
	cols: number;
	dim?: boolean;
	fg?: string;
	italic?: boolean;
	reverse?: boolean;
	strike?: boolean;
	text: string;
	underline?: boolean;
}

export interface Session {
	active_at?: string;
	activity: Activity;
	attached: number;
	burn?: Burn;
	command?: string;
	desired: string;
	drift?: string[] | null;
	epoch?: number;
	exit?: string;
	fingerprints?: Record<string, string>;
	guard?: string;
	guard_detail?: string;
	held?: string;
	input_blocked?: string;
	input_blocked_since?: string;
	instance?: string;
	last_screen?: string;
	last_sign?: string;
	meta?: Record<string, string>;
	name: string;
	next_at?: string;
	obstacle?: AgentObstacle;
	pending?: number;
	pid?: number;
	processes?: Process[] | null;
	provider: string;
	queued?: number;
	read_at?: string;
	reason?: string;
	restarts: number;
	session: string;
	stalled_since?: string;
	started_at?: string;
	state: string;
	title?: string;
	warning?: string;
	work_dir?: string;
	worker?: Worker;
}

export interface Status {
	agents: Agent[] | null;
	at: string;
	budgets?: Budget[] | null;
	burn?: Burn;
	city: string;
	controller: Controller;
	plan: PlanState;
	root: string;
}

export interface StopResult {
	agent?: string;
	error?: string;
	processes: number;
	seconds: number;
	session: string;
	survivors?: number[] | null;
	uncounted?: boolean;
}

export interface Usage {
	at: string;
	by: string;
	groups: UsageSum[] | null;
	prices: string;
	since?: string;
	target?: string;
	total: UsageSum;
}

export interface UsageSum {
	calls?: number;
	cost_usd: number | null;
	failed?: number;
	first?: string;
	group: string;
	last?: string;
	responses: number;
	tokens: UsageTokens;
	tool_seconds?: number;
	turns: number;
	unpriced?: number;
	untold?: number;
}

export interface UsageTokens {
	cache_read: number | null;
	cache_write: number | null;
	input: number | null;
	output: number | null;
	reasoning: number | null;
}

export interface Wait {
	arg?: string;
	created_at: string;
	deadline?: string;
	ended_at?: string;
	for: string;
	id?: string;
	owner?: string;
	reason?: string;
	receipt?: string;
	state: string;
	target?: string;
	text?: string;
}

export interface WaitRequest {
	arg?: string;
	for: string;
	owner?: string;
	target?: string;
	text?: string;
	timeout_ns?: number;
}

export interface Web {
	dev?: string;
	error?: string;
	running: boolean;
	url?: string;
	urls?: string[] | null;
}

export interface WebCode {
	code: string;
	expires: string;
	link: string;
	scope: string;
}

export interface WebCodeRequest {
	host?: string;
	scope?: string;
}

export interface WebDevice {
	created: string;
	id: string;
	last_seen: string;
	name: string;
	notified?: boolean;
	open: number;
	scopes: string[] | null;
}

export interface WebRequest {
	dev?: string;
	listen?: string;
}

export interface Worker {
	context_usage?: number;
	detail?: string;
	heard_at?: string;
	run_id: string;
	state: string;
	status: "healthy" | "degraded" | "unhealthy";
	uptime_seconds: number;
}
