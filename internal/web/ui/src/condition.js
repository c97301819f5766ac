// The condition of an agent: one word, one shape and one tone for all that the status says of it.

/**
 * @typedef {object} Condition
 * @property {string} word
 * @property {'need' | 'fail' | 'warn' | 'limit' | 'busy' | 'idle' | 'start' | 'stop' | 'unknown'} tone the tone, which is also the name of the shape
 * @property {string} detail why; may be empty
 * @property {string} [since]
 * @property {string} [until]
 */

const stopped = {
	stopped: 'Stopped', asleep: 'Asleep', suspended: 'Suspended', draining: 'Draining', stopping: 'Stopping',
};
const failed = { failed: 'Failed', quarantined: 'Quarantined', lost: 'Lost' };
const obstacles = { retrying: 'Retrying', no_network: 'No network', error: 'Turn failed' };

/** Returns the condition of an agent. @param {import('./types').Agent} a @returns {Condition} */
export function conditionOf(a) {
	const act = a.activity ?? { state: 'unknown' };
	const since = act.since || a.started_at;
	if (failed[a.state]) return { word: failed[a.state], tone: 'fail', detail: a.reason || a.exit || '', since: a.active_at, until: a.next_at };
	if (a.obstacle?.kind === 'limit') return { word: 'Usage limit', tone: 'limit', detail: a.obstacle.detail || '', since: a.obstacle.since, until: a.obstacle.reset_at || a.obstacle.probe_at };
	if (stopped[a.state]) return { word: stopped[a.state], tone: 'stop', detail: a.reason || '', until: a.next_at };
	if (a.state === 'creating' || a.state === 'starting') return { word: 'Starting', tone: 'start', detail: '', since: a.started_at };
	if (a.input_blocked) return { word: 'Input blocked', tone: 'need', detail: a.input_blocked, since: a.input_blocked_since };
	if (a.pending || act.state === 'waiting') return { word: 'Needs you', tone: 'need', detail: kindWord(act.kind), since };
	const o = a.obstacle;
	if (o) {
		if (o.kind === 'login') return { word: 'Sign-in needed', tone: 'need', detail: o.detail || '', since: o.since };
		return { word: obstacles[o.kind] || 'Turn failed', tone: 'warn', detail: o.detail || '', since: o.since, until: o.next_try };
	}
	if (a.stalled_since) return { word: 'Stalled', tone: 'warn', detail: a.last_sign ? `last progress: ${a.last_sign}` : '', since: a.stalled_since };
	if (act.state === 'limited') return { word: 'Usage limit', tone: 'limit', detail: act.detail || '', since, until: act.until };
	if (act.state === 'busy') return { word: 'Working', tone: 'busy', detail: '', since };
	if (act.state === 'background') return { word: 'In background', tone: 'busy', detail: act.detail || '', since };
	if (act.state === 'idle' || act.state === 'ready') return { word: 'Idle', tone: 'idle', detail: '', since };
	return { word: 'Unknown', tone: 'unknown', detail: a.reason || '', since };
}

const order = ['need', 'fail', 'warn', 'limit', 'busy', 'idle', 'start', 'unknown', 'stop'];

/** Returns the position of a tone in a list: what needs a person comes first. @param {string} tone */
export function rankOf(tone) {
	return order.indexOf(tone);
}

const kinds = {
	permission: 'Permission', question: 'Question', menu: 'Question', login: 'Sign-in', limit: 'Usage limit',
	input_blocked: 'Input blocked', stalled: 'Stalled',
};

/** Returns the kind of a question as a word. @param {string | undefined} kind */
export function kindWord(kind) {
	return kind ? kinds[kind] || kind.replaceAll('_', ' ') : '';
}

const sources = {
	worker: 'the worker API', acp: 'the Agent Client Protocol', osc7501: "the agent's own status", hook: 'a hook', status_file: 'the status file',
	transcript: 'the transcript', 'osc9.4': 'terminal progress', osc133: 'shell marks', screen: 'the screen', process: 'its processes',
};

/** Returns the name of a source of signals for people. @param {string | undefined} source */
export function sourceWord(source) {
	return source ? sources[source] ?? source : '';
}

/** Returns how an activity is known: "certain, from a hook". @param {import('./types').Agent} a */
export function evidenceOf(a) {
	const act = a.activity;
	if (!act?.source) return '';
	return `${act.confidence || 'guess'}, from ${sourceWord(act.source)}`;
}

/** Reports whether a prompt with the delivery status waits for its turn. @param {string} state */
export const waitsInQueue = (state) => state === 'accepted' || state === 'queued';

/** Returns the delivery status of a prompt as a word and a tone. @param {string} state */
export function deliveryOf(state) {
	switch (state) {
	case 'accepted':
	case 'queued': return { word: 'Waiting', tone: 'start', text: 'it is stored and waits for its turn' };
	case 'injected': return { word: 'Sending', tone: 'busy', text: 'the delivery has begun' };
	case 'submitted': return { word: 'Delivered', tone: 'ok', text: 'the agent accepted it' };
	case 'consumed': return { word: 'Worked on', tone: 'ok', text: 'a turn began with it' };
	case 'cancelled': return { word: 'Cancelled', tone: 'stop', text: 'it never reached the agent' };
	case 'expired': return { word: 'Expired', tone: 'fail', text: 'its time ended first; it never reached the agent' };
	case 'dead': return { word: 'Not delivered', tone: 'fail', text: 'it never reached the agent' };
	case 'unconfirmed': return { word: 'Unconfirmed', tone: 'warn', text: 'it was sent and may have reached the agent' };
	}
	return { word: state, tone: 'unknown', text: '' };
}
