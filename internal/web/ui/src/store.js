// The one store of the page: the state of the city, loaded once and then kept true by the event
// stream. Nothing is polled: a load happens only after an event, a gap or a lost connection.
import { batch, computed, signal, useEffect, useState } from './core.js';
import { agentPath, get, post } from './api.js';
import { conditionOf, rankOf } from './condition.js';
import { splitName } from './format.js';
import { groupQuestions } from './question.js';
import { follow } from './stream.js';

/** @typedef {import('./types').Agent} Agent */
/** @typedef {import('./types').Pending} Pending */
/** @typedef {import('./types').Receipt} Receipt */
/** @typedef {import('./types').Event} Event */

const maxEvents = 400; // in the timeline of the page
const statusPause = 400; // ms between two loads of the status
const hiddenPause = 10_000; // the same while the page is hidden

/** @type {import('@preact/signals').Signal<import('./types').Status | null>} */
export const status = signal(null);
/** @type {import('@preact/signals').Signal<Map<string, Pending>>} */
export const pending = signal(new Map());
/** @type {import('@preact/signals').Signal<Map<string, Receipt>>} the newest prompt of each agent */
export const prompts = signal(new Map());
/** @type {import('@preact/signals').Signal<Event[]>} newest first */
export const events = signal([]);
/** @type {import('@preact/signals').Signal<'loading' | 'live' | 'lost'>} */
export const connection = signal('loading');
/** @type {import('@preact/signals').Signal<import('./types').Budget[]>} */
export const budgets = signal([]);
/** Counts the events of prompts; who shows a queue loads it again after a change. */
export const promptChanges = signal(0);
/** Increases after a gap or a lost connection: what a page loaded by itself may be old. */
export const reloads = signal(0);

export const agents = computed(() => status.value?.agents ?? []);
export const groups = computed(() => groupQuestions([...pending.value.values()]));
export const conditions = computed(() => new Map(agents.value.map((a) => [a.name, conditionOf(a)])));

/** Groups agents by rig. In a group, who needs a person comes first. With one group, its name is empty.
 * @param {import('./types').Agent[]} list @param {boolean} [flat] whether to make one group
 * @returns {{rig: string, agents: import('./types').Agent[]}[]} */
export function groupAgents(list, flat) {
	const rank = (a) => rankOf(conditions.value.get(a.name)?.tone ?? '');
	/** @type {Map<string, import('./types').Agent[]>} */
	const rigs = new Map();
	for (const a of [...list].sort((a, b) => rank(a) - rank(b))) {
		const rig = flat ? '' : splitName(a.name).rig;
		rigs.set(rig, [...(rigs.get(rig) ?? []), a]);
	}
	return [...rigs].map(([rig, agents]) => ({ rig, agents }));
}

/** The agents that need a look although they ask nothing. */
export const troubled = computed(() => agents.value
	.filter((a) => !askers.value.has(a.name) && ['fail', 'warn', 'need', 'limit'].includes(conditions.value.get(a.name)?.tone ?? ''))
	.sort((a, b) => rankOf(conditions.value.get(a.name)?.tone ?? '') - rankOf(conditions.value.get(b.name)?.tone ?? '')));
const askers = computed(() => new Set([...pending.value.values()].map((q) => q.agent)));

/** The number of questions that wait for a person. */
export const needCount = computed(() => pending.value.size);

/** Loads a document when a page opens and after a lost connection. The value is null until it is there.
 * @param {string} path @param {...any} again values whose change loads it again */
export function useLoaded(path, ...again) {
	const [value, setValue] = useState(/** @type {any} */ (null));
	const [problem, setProblem] = useState(/** @type {any} */ (null));
	useEffect(() => {
		let active = true;
		get(path).then((v) => { if (active) { setValue(v); setProblem(null); } }).catch((e) => active && setProblem(e));
		return () => (active = false);
	}, [path, reloads.value, ...again]);
	return { value, problem };
}

/** Returns the agent of a name or of a session's name. @param {string} name */
export function findAgent(name) {
	return agents.value.find((a) => a.name === name || a.session === name);
}

/** Loads everything and follows the events until the signal is aborted. @param {AbortSignal} signal */
export async function run(signal) {
	let after = 0;
	while (!signal.aborted) {
		try {
			const since = new Date(Date.now() - 3600_000).toISOString();
			const page = await get(`/api/v1/events?since=${encodeURIComponent(since)}`, { signal });
			after = page.last;
			events.value = page.events.slice(-maxEvents).reverse();
			await load(signal);
			break;
		} catch (error) {
			if (signal.aborted || error.status === 401) return;
			connection.value = 'lost';
			await new Promise((resolve) => setTimeout(resolve, 1000));
		}
	}
	document.addEventListener('visibilitychange', () => {
		if (document.visibilityState !== 'visible' || !dirty) return;
		clearTimeout(statusTimer);
		statusTimer = 0;
		loadStatusSoon();
	}, { signal });
	await follow({
		after, signal,
		onEvent: apply,
		onGap: () => load(signal).catch(() => loadStatusSoon()),
		onLive: (live, resumed) => {
			connection.value = live ? 'live' : 'lost';
			if (live && resumed) load(signal).catch(() => loadStatusSoon());
		},
	});
}

/** Loads the state of the city. @param {AbortSignal} [signal] */
async function load(signal) {
	const [s, questions, receipts] = await Promise.all([
		get('/api/v1/status', { signal }), get('/api/v1/pending', { signal }), get('/api/v1/queue?which=ended', { signal }), loadBudgets(),
	]);
	batch(() => {
		status.value = s;
		setQuestions(questions);
		prompts.value = newest(receipts);
		reloads.value++;
	});
}

const budgetPause = 2000; // ms between two loads of the budgets
let budgetsAt = 0;
let budgetTimer = 0;
let budgetsFailed = false;

/** Loads the budgets. If that fails, such as right after the start of the controller, the last list stays, and the next status loads them again. */
async function loadBudgets() {
	clearTimeout(budgetTimer);
	budgetTimer = 0;
	budgetsAt = Date.now();
	try {
		budgets.value = await get('/api/v1/budgets');
		budgetsFailed = false;
	} catch {
		budgetsFailed = true;
	}
}

/** @param {Pending[]} questions */
function setQuestions(questions) {
	pending.value = new Map(questions.filter((q) => !closed.has(q.id)).map((q) => [q.id, q]));
}

/** Returns the newest prompt of each agent. @param {Receipt[]} receipts */
function newest(receipts) {
	/** @type {Map<string, Receipt>} */
	const found = new Map();
	for (const r of receipts) {
		const known = found.get(r.agent);
		if (!known || known.created_at < r.created_at) found.set(r.agent, r);
	}
	return found;
}

const closed = new Set(); // questions that have ended; an older answer of the server may still list them

/** Removes a question at once. @param {string} id */
function closeQuestion(id) {
	closed.add(id);
	if (closed.size > 1000) closed.delete(closed.values().next().value);
	if (!pending.value.has(id)) return;
	const rest = new Map(pending.value);
	rest.delete(id);
	pending.value = rest;
}

let dirty = false;
let statusTimer = 0;
let loadedAt = 0;

/** Loads the status after a short pause, so that many events cause one load. */
function loadStatusSoon() {
	dirty = true;
	if (statusTimer) return;
	const pause = document.visibilityState === 'visible' ? statusPause : hiddenPause;
	statusTimer = setTimeout(loadStatus, Math.max(30, pause - (Date.now() - loadedAt)));
}

async function loadStatus() {
	dirty = false;
	try {
		status.value = await get('/api/v1/status');
		if (budgetsFailed || budgets.value.length > 0) budgetTimer ||= setTimeout(loadBudgets, Math.max(0, budgetPause - (Date.now() - budgetsAt)));
	} catch {
		dirty = true; // the stream fails too, and everything is loaded when it is back
	}
	loadedAt = Date.now();
	statusTimer = 0;
	if (dirty && connection.value === 'live') loadStatusSoon();
}

/** Applies one event. What a person waits for is shown at once, before anything is loaded.
 * @param {Event} e */
function apply(e) {
	batch(() => {
		events.value = [e, ...events.value.slice(0, maxEvents - 1)];
		const [family, what] = e.kind.split('.');
		if (family === 'pending') applyQuestion(e, what);
		else if (family === 'prompt') applyPrompt(e, what);
		else if (e.kind === 'session.activity') applyActivity(e);
		if (e.kind !== 'session.status' && e.kind !== 'worker.authorize') loadStatusSoon();
	});
}

/** @param {Event} e @param {string} what */
function applyQuestion(e, what) {
	const data = e.data ?? {};
	if (what === 'raised') {
		if (closed.has(data.id)) return;
		pending.value = new Map(pending.value).set(data.id, /** @type {any} */ ({
			id: data.id, agent: e.agent, session: e.session, instance: data.instance, kind: data.kind,
			prompt: data.prompt ?? '', options: data.options ? JSON.parse(data.options) : [], tool: data.tool,
			since: e.time, deadline: data.deadline, policy: data.policy, state: 'open', source: '', partial: true,
		}));
		loadQuestions();
	} else if (['answered', 'resolved', 'expired', 'gone'].includes(what)) {
		closeQuestion(data.id);
	} else if (what === 'escalated') {
		loadQuestions();
	}
}

let questionsLoading = false;
let questionsAgain = false;

/** Loads the full text of the questions. */
async function loadQuestions() {
	questionsAgain = true;
	if (questionsLoading) return;
	questionsLoading = true;
	while (questionsAgain) {
		questionsAgain = false;
		try {
			setQuestions(await get('/api/v1/pending'));
		} catch {
			break;
		}
	}
	questionsLoading = false;
}

/** @param {Event} e @param {string} what */
function applyPrompt(e, what) {
	promptChanges.value++;
	const id = e.data?.receipt;
	if (!id || !e.agent) return;
	const known = [...prompts.value.values()].find((r) => r.id === id);
	if (what === 'moved' || what === 'edited') { // not a state
		if (known) loadPrompt(id);
	} else if (known) {
		prompts.value = new Map(prompts.value).set(known.agent, { ...known, state: what, reason: e.data?.reason });
	} else if (what === 'accepted' || loadingPrompts.has(id)) {
		loadPrompt(id);
	}
}

/** @type {Map<string, boolean>} the prompts that are being loaded, and whether one has changed meanwhile */
const loadingPrompts = new Map();

/** Loads a prompt, and again if it changes meanwhile. @param {string} id */
async function loadPrompt(id) {
	if (loadingPrompts.has(id)) {
		loadingPrompts.set(id, true);
		return;
	}
	do {
		loadingPrompts.set(id, false);
		try {
			addPrompt(await get(`/api/v1/receipts/${encodeURIComponent(id)}`));
		} catch {
			break;
		}
	} while (loadingPrompts.get(id));
	loadingPrompts.delete(id);
}

/** Adds a prompt that was just sent. @param {Receipt} r */
function addPrompt(r) {
	const known = prompts.value.get(r.agent);
	if (known && (known.created_at > r.created_at || (known.id === r.id && known.updated_at > r.updated_at))) return;
	prompts.value = new Map(prompts.value).set(r.agent, r);
}

/** @param {Event} e */
function applyActivity(e) {
	const s = status.value;
	const data = e.data ?? {};
	if (!s) return;
	status.value = {
		...s, agents: s.agents.map((a) => a.name !== e.agent ? a : {
			...a, activity: { ...a.activity, state: data.activity, kind: data.kind, source: data.source, confidence: data.confidence, since: e.time },
		}),
	};
}

/** Answers questions one by one. Returns the errors by the id of the question.
 * @param {Pending[]} questions @param {{option?: string, text?: string}} answer */
export function respond(questions, answer) {
	return answerEach(questions, (q) => post(`/api/v1/pending/${encodeURIComponent(q.id)}/respond`, answer));
}

/** Adds the rule of each question to the configuration and allows its call. Returns the errors by
 * the id of the question. @param {Pending[]} questions */
export function allowAlways(questions) {
	return answerEach(questions, (q) => post(`/api/v1/pending/${encodeURIComponent(q.id)}/always`, { rule: q.guard?.always?.id ?? '' }));
}

/** @param {Pending[]} questions @param {(q: Pending) => Promise<any>} send */
async function answerEach(questions, send) {
	/** @type {Map<string, string>} */
	const errors = new Map();
	await Promise.all(questions.map(async (q) => {
		try {
			await send(q);
			closeQuestion(q.id);
		} catch (error) {
			if (error.code === 'refused' || error.code === 'not_found') loadQuestions();
			errors.set(q.id, error.message);
		}
	}));
	return errors;
}

/** Sends a prompt to an agent and returns its receipt. The key makes a repeated call harmless.
 * @param {string} name @param {string} text @param {string} key @param {string} [priority] */
export async function sendPrompt(name, text, key, priority) {
	const receipt = await post(agentPath(name, 'nudge'), { text, key, ...(priority ? { priority } : {}) });
	addPrompt(receipt);
	return receipt;
}

/** Returns a new key for a prompt. */
export function newKey() {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	return 'web-' + [...bytes].map((b) => b.toString(16).padStart(2, '0')).join('');
}
