// The conversation of an agent: prompts, answers and tool calls. It follows a stream of its own while it is shown.
// A text of an agent is always a text node, never HTML.
import { html, useEffect, useRef, useState } from '../core.js';
import { agentPath, get, Problem } from '../api.js';
import { deliveryOf } from '../condition.js';
import { clock, plural } from '../format.js';
import { Icon } from '../parts/icon.js';
import { readEvents, waitFor } from '../stream.js';

/** @typedef {import('../types').ConversationEntry} Entry */

const pageSize = 60;
const shownLines = 400; // of one text; more is cut by the server anyway

/** @param {{agent: import('../types').Agent}} p */
export function Conversation({ agent: a }) {
	const [talk, setTalk] = useState(/** @type {any} */ (null));
	const [error, setError] = useState('');
	const [loading, setLoading] = useState(false);
	const [atEnd, setAtEnd] = useState(true);
	const end = useRef(/** @type {any} */ (null));
	const sticks = useRef(true); // whether new entries are scrolled into view
	const height = useRef(0); // of the page before earlier entries were added
	useEffect(() => {
		const abort = new AbortController();
		followConversation(a.name, abort.signal, (part, first) => {
			setError('');
			setTalk((old) => merge(old, part, first));
		}, setError);
		return () => abort.abort();
	}, []);
	useEffect(() => {
		if (!end.current) return;
		const watcher = new IntersectionObserver(([e]) => {
			sticks.current = e.isIntersecting;
			setAtEnd(e.isIntersecting);
		}, { rootMargin: '0px 0px 120px 0px' });
		watcher.observe(end.current);
		return () => watcher.disconnect();
	}, [!!talk]);
	useEffect(() => {
		if (height.current) {
			scrollBy(0, document.documentElement.scrollHeight - height.current);
			height.current = 0;
		} else if (sticks.current) {
			end.current?.scrollIntoView({ block: 'end' });
		}
	}, [talk]);
	if (error && !talk) return html`<p class="error" role="alert">${error}</p>`;
	if (!talk) return html`<p class="loading">Loading</p>`;
	const earlier = async () => {
		setLoading(true);
		try {
			const page = await get(`${agentPath(a.name, 'conversation')}?limit=${pageSize}&before=${talk.entries[0].id}`);
			height.current = document.documentElement.scrollHeight;
			sticks.current = false;
			setTalk((old) => (old.id === page.id && old.source === page.source ? { ...old, entries: [...page.entries, ...old.entries], more: page.more } : old));
		} catch (problem) {
			setError(problem.message);
		}
		setLoading(false);
	};
	const newest = () => {
		sticks.current = true;
		end.current?.scrollIntoView({ block: 'end' });
		/** @type {HTMLElement | undefined} */ ([.../** @type {any} */ (document.querySelectorAll('.talk [data-item]'))].pop())?.focus({ preventScroll: true });
	};
	return html`
		${(talk.note || talk.source === 'receipts') && html`<p class="talk-note"><${Icon} name="warn" size=${13}/> ${talk.source === 'receipts' ? `Only the prompts that gc sent and the tools that hooks reported are shown: ${talk.note}.` : `${talk.note}.`}</p>`}
		${talk.skipped > 0 && html`<p class="talk-note">${plural(talk.skipped, 'line')} of the transcript cannot be read.</p>`}
		${error && html`<p class="error" role="alert">${error}</p>`}
		${talk.more && html`<p class="talk-earlier"><button disabled=${loading} onClick=${earlier}>${loading ? 'Loading' : 'Load earlier'}</button></p>`}
		${talk.entries.length === 0 && html`<p class="empty">The conversation has no entry yet.</p>`}
		<ol class="talk">${talk.entries.map((e) => html`<${EntryItem} key=${e.id} entry=${e}/>`)}</ol>
		<div ref=${end} class="talk-end"></div>
		${!atEnd && html`<p class="talk-newest"><button class="primary" onClick=${newest}>Newest</button></p>`}`;
}

/** Adds a part of the stream to what is shown. @param {any} old @param {any} part @param {boolean} first whether it is the first part of a connection */
function merge(old, part, first) {
	const same = old && old.id === part.id && old.source === part.source;
	const known = same ? old.entries : [];
	const newest = known.length > 0 ? known[known.length - 1].id : 0;
	// After a lost connection: entries between what is known and the new part may be missing.
	if (!same || (first && part.entries.length > 0 && part.entries[0].id > newest)) return { ...part };
	/** @type {Map<number, Entry>} */
	const all = new Map(known.map((e) => [e.id, e]));
	for (const e of part.entries) all.set(e.id, e);
	return { ...old, note: part.note, skipped: part.skipped, entries: [...all.values()].sort((x, y) => x.id - y.id) };
}

/** Follows a conversation until the signal is aborted, and connects again after a failure.
 * @param {string} name @param {AbortSignal} signal @param {(part: any, first: boolean) => void} onPart @param {(text: string) => void} onError */
async function followConversation(name, signal, onPart, onError) {
	let pause = 250;
	while (!signal.aborted) {
		let first = true;
		try {
			await readEvents(`${agentPath(name, 'conversation/stream')}?limit=${pageSize}`, signal, {
				event: (kind, data) => {
					if (kind !== 'conversation') return;
					onPart(JSON.parse(data), first);
					first = false;
					pause = 250;
				},
			});
		} catch (problem) {
			if (signal.aborted) return;
			if (problem instanceof Problem && problem.status > 0 && problem.status < 500) return onError(problem.message);
		}
		await waitFor(pause, signal);
		pause = Math.min(2 * pause, 5000);
	}
}

const senders = { start: 'Start of the agent', terminal: 'Typed in the terminal' };
const toolTones = { done: 'ok', failed: 'fail', running: 'busy' };
const toolWords = { done: 'done', failed: 'failed', running: 'running' };

/** @param {{entry: Entry}} p */
function EntryItem({ entry: e }) {
	const at = e.time && html`<time dateTime=${e.time}>${clock(e.time)}</time>`;
	switch (e.kind) {
	case 'prompt': {
		const d = e.state ? deliveryOf(e.state) : null;
		return html`<li class="said prompt" tabindex="0" data-item>
			<p class="said-head"><strong>Prompt</strong> <span>${e.from === 'receipt' ? (e.sender ? `from ${e.sender}` : 'sent by gc') : senders[e.from] ?? ''}</span> ${d && html`<span class="tone-${d.tone}"><${Icon} name=${d.tone} size=${12}/> ${d.word}</span>`} ${at}</p>
			<${Text} entry=${e}/></li>`;
	}
	case 'answer':
		return html`<li class="said answer" tabindex="0" data-item><p class="said-head"><strong>Answer</strong> ${at}</p><${Text} entry=${e}/></li>`;
	case 'thinking':
		return html`<li class="said-more"><details><summary data-item><span class="said-kind">Thinking</span> <span class="arg">${firstLine(e.text)}</span></summary><${Text} entry=${e}/></details></li>`;
	case 'tool':
		return html`<${Tool} entry=${e}/>`;
	case 'error':
		return html`<li class="said-error" tabindex="0" data-item><p class="said-head tone-fail"><${Icon} name="fail" size=${13}/> <strong>Error</strong> ${at}</p><${Text} entry=${e}/></li>`;
	case 'compaction':
		return html`<li class="said-more compaction"><details><summary data-item><span class="said-kind">Conversation compacted</span> ${at}</summary>${e.text ? html`<${Text} entry=${e}/>` : html`<p class="muted">No summary is known.</p>`}</details></li>`;
	default:
		return html`<li class="said-notice" tabindex="0" data-item>${firstLine(e.text)}</li>`;
	}
}

/** A tool call: its name and argument, and its result when it is opened. @param {{entry: Entry}} p */
function Tool({ entry: e }) {
	const t = e.tool;
	if (!t) return null;
	const head = html`<span class="tone-${toolTones[t.status]}"><${Icon} name=${toolTones[t.status]} size=${13}/><span class="hidden">${toolWords[t.status]}</span></span> <code class="said-kind">${t.name}</code> <span class="arg">${t.argument ?? ''}</span>${t.status === 'done' ? null : html`<span class="tool-status tone-${toolTones[t.status]}">${toolWords[t.status]}</span>`}`;
	if (!t.result) return html`<li class="said-more" data-item tabindex="0"><p class="tool-line">${head}</p></li>`;
	return html`<li class="said-more"><details><summary data-item>${head}</summary>
		${(t.argument ?? '').length > 60 && html`<${Code} text=${t.argument} label="Argument"/>`}
		<${Code} text=${t.result} label=${'Result of ' + t.name}/>${t.bytes ? html`<p class="muted small">The first ${t.result.length} of ${t.bytes} bytes.</p>` : null}</details></li>`;
}

/** A text with its code blocks. @param {{entry: Entry}} p */
function Text({ entry: e }) {
	return html`<div class="said-text">${blocks(e.text ?? '').map((b) => (b.code ? html`<${Code} text=${b.text} label=${b.word ? `Code, ${b.word}` : 'Code'}/>` : html`<p>${b.text}</p>`))}
		${e.bytes ? html`<p class="muted small">The first part of ${e.bytes} bytes.</p>` : null}</div>`;
}

/** @param {{text: string, label: string}} p */
function Code({ text, label }) {
	const lines = text.split('\n');
	return html`<pre class="code" tabindex="0" role="region" aria-label=${label}>${lines.slice(0, shownLines).join('\n')}${lines.length > shownLines ? '\n…' : ''}</pre>`;
}

/** Splits a text at its fences into paragraphs and code. @param {string} text @returns {{code: boolean, word?: string, text: string}[]} */
export function blocks(text) {
	/** @type {{code: boolean, word?: string, text: string}[]} */
	const out = [];
	let lines = [];
	let fence = '';
	let word = '';
	const flush = (code) => {
		const body = lines.join('\n').replace(/^\n+|\n+$/g, '');
		if (code || body) out.push({ code, word, text: code ? lines.join('\n') : body });
		lines = [];
	};
	for (const line of text.split('\n')) {
		const mark = /^\s*(`{3,}|~{3,})\s*([\w+#.-]*)/.exec(line);
		if (mark && !fence) {
			flush(false);
			[, fence, word] = mark;
		} else if (mark && mark[1].startsWith(fence) && !mark[2]) {
			flush(true);
			fence = word = '';
		} else {
			lines.push(line);
		}
	}
	flush(!!fence);
	return out;
}

/** @param {string | undefined} text */
function firstLine(text) {
	return (text ?? '').trim().split('\n', 1)[0].slice(0, 200);
}
