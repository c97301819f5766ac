// What the guard decides about the tools of an agent.
import { computed, html, useEffect, useRef, useState } from '../core.js';
import { get, post } from '../api.js';
import { clock } from '../format.js';
import { events, reloads } from '../store.js';
import { Icon } from './icon.js';

const pauseOfLoads = 1000; // ms between two loads of the same page: an agent may use many tools in a second

const words = { allow: 'Allowed', ask: 'Asked a person', deny: 'Denied' };
const tones = { allow: 'ok', ask: 'need', deny: 'fail' };

/** The decisions that are shown, and the request for them.
 * @typedef {{guarded: boolean, decisions: import('../types').GuardDecision[], next?: string, path: string}} Page */

/** The id of the newest decision that the event stream has reported. */
const newest = computed(() => events.value.find((e) => e.kind === 'worker.authorize')?.id ?? 0);

/** Returns the text of a tool call: its command, its file, or its input.
 * @param {import('../types').GuardDecision} d */
function callText(d) {
	if (d.cut) return 'The input was too long to be recorded.';
	if (!d.input) return '';
	try {
		const input = JSON.parse(d.input);
		const text = input.command ?? input.file_path ?? input.path ?? input.url;
		return typeof text === 'string' ? text : d.input;
	} catch {
		return d.input;
	}
}

/** Returns a newer first page together with the older decisions that were loaded before. If decisions between the two are missing,
 * it returns the first page alone: a person loads the older ones again.
 * @param {import('../types').GuardDecisions} first @param {Page} old */
function join(first, old) {
	const key = (d) => [d.at, d.session, d.tool, d.input].join();
	const known = new Set(first.decisions.map(key));
	if (!known.has(key(old.decisions[0]))) return first;
	const oldest = first.decisions.at(-1)?.at ?? '';
	return { ...first, decisions: [...first.decisions, ...old.decisions.filter((d) => d.at <= oldest && !known.has(key(d)))], next: old.next };
}

/** The recorded decisions, newest first, and a check of a command that nobody runs.
 * @param {{agent: import('../types').Agent}} p */
export function GuardPanel({ agent: a }) {
	const [page, setPage] = useState(/** @type {Page | null} */ (null));
	const [error, setError] = useState('');
	const [action, setAction] = useState('');
	const path = `/api/v1/guard/decisions?limit=50&agent=${encodeURIComponent(a.name)}${action && '&action=' + action}`;
	const loaded = useRef({ path: '', at: 0 });
	useEffect(() => {
		let active = true;
		const pause = loaded.current.path === path ? Math.max(0, loaded.current.at + pauseOfLoads - Date.now()) : 0;
		const timer = setTimeout(() => {
			loaded.current = { path, at: Date.now() };
			get(path).then((p) => {
				if (!active) return;
				setPage((old) => (old?.path === path && old.decisions.length > p.decisions.length ? { ...join(p, old), path } : { ...p, path }));
				setError('');
			}).catch((e) => active && setError(e.message));
		}, pause);
		return () => {
			active = false;
			clearTimeout(timer);
		};
	}, [path, newest.value, reloads.value]);
	const more = async () => {
		try {
			const next = await get(`${path}&before=${encodeURIComponent(page?.next ?? '')}`);
			setPage((old) => (old?.path === path ? { ...next, decisions: [...old.decisions, ...next.decisions], path } : old));
		} catch (problem) {
			setError(problem.message);
		}
	};
	return html`
		<div class="guard">
			<${Check} agent=${a}/>
			${error && html`<p class="error" role="alert">${error}</p>`}
			<div class="chips" role="group" aria-label="Decisions">${[['', 'All'], ['deny', 'Denied'], ['ask', 'Asked'], ['allow', 'Allowed']].map(([id, word]) => html`<button class="chip" key=${id} aria-pressed=${action === id} onClick=${() => setAction(id)}>${word}</button>`)}</div>
			${!page ? !error && html`<p class="loading">Loading</p>`
				: page.decisions.length === 0 ? html`<p class="empty">${page.guarded ? 'No decision was recorded.' : html`City.toml has no <code>[guard]</code>: everything is allowed and nothing is recorded.`}</p>`
					: html`<ol class="timeline decisions">${page.decisions.map((d) => html`
						<li class="event decision">
							<time dateTime=${d.at}>${clock(d.at)}</time>
							<div><p><span class="tone-${tones[d.action]}"><${Icon} name=${tones[d.action]} size=${13}/> <strong>${words[d.action]}</strong></span> ${d.tool} <span class="muted">${d.rule ? `rule ${d.rule}` : 'default'}</span></p>
								${callText(d) && html`<pre class="call">${callText(d)}</pre>`}
								${d.reason && html`<p class="muted">${d.reason}${d.part && d.part !== callText(d) ? html` · <code>${d.part}</code>` : ''}</p>`}
								${d.dir && html`<p class="muted">in <code>${d.dir}</code></p>`}</div>
						</li>`)}</ol>
						${page.next && html`<p class="more"><button onClick=${more}>Show older decisions</button></p>`}`}
		</div>`;
}

/** Asks the guard about a command. Nothing is run. @param {{agent: import('../types').Agent}} p */
function Check({ agent: a }) {
	const [text, setText] = useState('');
	const [found, setFound] = useState(/** @type {import('../types').GuardCheck | null} */ (null));
	const [error, setError] = useState('');
	const submit = async () => {
		if (!text.trim()) return;
		setError('');
		try {
			setFound(await post('/api/v1/guard/check', { command: text, agent: a.name }));
		} catch (problem) {
			setFound(null);
			setError(problem.message);
		}
	};
	return html`
		<form class="card check" onSubmit=${(e) => { e.preventDefault(); submit(); }}>
			<label class="check-label" for="check">Check what the guard would decide about a command. Nothing is run.</label>
			<div class="prompt-line"><input id="check" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="git push --force" value=${text} onInput=${(e) => { setText(e.target.value); setFound(null); }}/><button disabled=${!text.trim()}>Check</button></div>
			<div role="status">${error ? html`<p class="tone-fail"><${Icon} name="fail" size=${13}/> ${error}</p>` : found && html`
				<p><span class="tone-${tones[found.action]}"><${Icon} name=${tones[found.action]} size=${13}/> <strong>${{ allow: 'Allow', ask: 'Ask a person', deny: 'Deny' }[found.action]}</strong></span> <span class="muted">${found.rule ? `rule ${found.rule}` : 'default'}${found.reason && `: ${found.reason}`}</span></p>
				${found.parts.length > 1 && html`<ul class="check-parts">${found.parts.map((p) => html`<li><code>${[...(p.via ?? []), p.part ?? ''].join(': ')}</code> <span class="muted">${p.incidental || !p.action ? '' : `${p.action}${p.rule ? ` by ${p.rule}` : ''}`}</span></li>`)}</ul>`}`}</div>
		</form>`;
}
