// One agent: its terminal, its questions, its prompts, its events and the reasons of its state.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../core.js';
import { agentPath, call, device, get, may, post } from '../api.js';
import { conditionOf, deliveryOf, evidenceOf, kindWord, sourceWord } from '../condition.js';
import { clock } from '../format.js';
import { groupQuestions } from '../question.js';
import { href, open, route } from '../route.js';
import { agents, events, findAgent, newKey, pending, promptChanges, reloads, sendPrompt, status, useLoaded } from '../store.js';
import { interrupt, restart, resume, start, stop } from '../actions.js';
import { Age, Until } from '../parts/age.js';
import { ask, attempt, notify } from '../parts/dialog.js';
import { Files } from '../parts/files.js';
import { GuardPanel } from '../parts/guard.js';
import { Icon, State } from '../parts/icon.js';
import { QuestionCard } from '../parts/question.js';
import { TerminalView } from '../parts/terminalview.js';
import { Conversation } from './conversation.js';
import { AgentUsage } from '../parts/usage.js';
import { costOf, Meter } from './fleet.js';
import { Loading } from './needs.js';

const tabs = [
	['terminal', 'Terminal'], ['conversation', 'Conversation'], ['queue', 'Prompts'], ['files', 'Files'], ['timeline', 'Timeline'], ['usage', 'Usage'], ['guard', 'Guard'], ['explain', 'Explain'],
];

export function AgentPage() {
	const name = route.value.name;
	const a = findAgent(name);
	const tabList = useRef(/** @type {HTMLElement | null} */ (null));
	useEffect(() => { // on a phone not all tabs fit
		const list = tabList.current;
		const chosen = /** @type {HTMLElement | null | undefined} */ (list?.querySelector('[aria-selected=true]'));
		if (list && chosen) list.scrollLeft = chosen.offsetLeft - list.offsetLeft - (list.clientWidth - chosen.offsetWidth) / 2;
	}, [route.value.tab, name, !a]);
	if (!status.value) return html`<${Loading}/>`;
	if (!a) return html`<div class="page"><h1 id="page-title" tabindex="-1">No agent “${name}”</h1><p><a href=${href('fleet')}>Show the fleet</a></p></div>`;
	const c = conditionOf(a);
	const tab = route.value.tab || 'terminal';
	const questions = groupQuestions([...pending.value.values()].filter((q) => q.agent === a.name));
	const down = c.tone === 'fail' || c.tone === 'stop';
	return html`
		<div class="page agent" data-agent=${a.name}>
			<div class="agent-head">
				<a class="button plain back" href=${href('fleet')} aria-label="Back to the fleet"><${Icon} name="back"/></a>
				<div class="agent-title">
					<h1 id="page-title" tabindex="-1">${a.name}</h1>
					<p class="agent-state"><${State} tone=${c.tone} word=${c.word}/> <span class="age"><${Age} at=${c.since}/></span>
						<span class="evidence">${evidenceOf(a)}</span>
						${a.worker?.context_usage != null && html`<span class="context"><span class="muted small">Context</span> <${Meter} value=${a.worker.context_usage} label="Context used"/></span>`}
						${costOf(a) && html`<span class="muted">${costOf(a)}</span>`}${a.held && html`<span class="tone-limit">${a.held}</span>`}</p>
				</div>
				<div class="agent-actions">
					${may('manage') && !down && html`<button onClick=${() => interrupt([a.name])}>Interrupt</button>`}
					${may('manage') && (down ? html`<button class="primary" onClick=${() => start([a.name])}>Start</button>` : html`<button onClick=${() => restart([a.name])}>Restart</button>`)}
					${may('manage') && !down && html`<button class="danger-text" onClick=${() => stop([a.name])}>Stop</button>`}
				</div>
			</div>
			${questions.map((g) => html`<${QuestionCard} key=${g.id} group=${g} alone=${true} line=${tab !== 'terminal'}/>`)}
			${c.detail && questions.length === 0 && html`
				<div class="banner tone-${c.tone}"><${Icon} name=${c.tone}/><span>${c.detail}${c.until && html`<span class="muted"> · ${down ? 'next start' : 'next try'} <${Until} at=${c.until}/></span>`}</span>
					${a.obstacle && may('manage') && html`<button onClick=${() => resume(a.name)}>Try now</button>`}</div>`}
			<div class="tabs" ref=${tabList} role="tablist" aria-label="About the agent" onKeyDown=${moveTab}>
				${tabs.map(([id, word]) => html`<button role="tab" key=${id} id=${'tab-' + id} aria-selected=${tab === id} aria-controls="panel" tabindex=${tab === id ? 0 : -1} onClick=${() => open('agent', a.name, id === 'terminal' ? '' : id)}>${word}${id === 'queue' && a.queued ? html` <span class="n">${a.queued}</span>` : null}</button>`)}
			</div>
			<div class="panel panel-${tab}" id="panel" role="tabpanel" aria-labelledby=${'tab-' + tab} tabindex=${tab === 'terminal' ? undefined : 0}>
				${tab === 'terminal' && html`<${TerminalView} key=${a.session} agent=${a}/>`}
				${tab === 'conversation' && html`<${Conversation} key=${a.session} agent=${a}/>`}
				${tab === 'queue' && html`<${Queue} key=${a.name} agent=${a}/>`}
				${tab === 'files' && html`<${Files} key=${a.name} agent=${a}/>`}
				${tab === 'timeline' && html`<${Timeline} key=${a.name} agent=${a}/>`}
				${tab === 'usage' && html`<${AgentUsage} key=${a.name} agent=${a}/>`}
				${tab === 'guard' && html`<${GuardPanel} key=${a.name} agent=${a}/>`}
				${tab === 'explain' && html`<${Explain} key=${a.name} agent=${a}/>`}
			</div>
			${may('type') && (tab === 'terminal' || tab === 'conversation' || tab === 'queue') && html`<${PromptBox} key=${a.name} agent=${a}/>`}
		</div>`;
}

/** Moves between tabs with the arrow keys. @param {KeyboardEvent} e */
function moveTab(e) {
	const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
	if (!step) return;
	const list = /** @type {HTMLElement[]} */ ([.../** @type {HTMLElement} */ (e.currentTarget).querySelectorAll('[role=tab]')]);
	const next = list[(list.indexOf(/** @type {any} */ (document.activeElement)) + step + list.length) % list.length];
	next.focus();
	next.click();
	e.preventDefault();
}

/** A box for a prompt. It shows the delivery status of what it sent. @param {{agent: import('../types').Agent}} p */
function PromptBox({ agent: a }) {
	const draft = 'gc.draft.' + a.name;
	const [text, setText] = useState(() => sessionStorage.getItem(draft) ?? '');
	const [sent, setSent] = useState(/** @type {import('../types').Receipt | null} */ (null));
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState('');
	const key = useRef(newKey()); // stays the same until the server has the prompt
	const box = useRef(null);
	useEffect(() => {
		if (text) sessionStorage.setItem(draft, text);
		else sessionStorage.removeItem(draft);
		if (box.current) {
			box.current.style.height = 'auto';
			box.current.style.height = Math.min(box.current.scrollHeight + 2, 180) + 'px';
		}
	}, [text]);
	useEffect(() => {
		if (!sent || isFinal(sent)) return;
		let active = true;
		get(`/api/v1/receipts/${encodeURIComponent(sent.id)}`).then((r) => active && setSent(r)).catch(() => {});
		return () => (active = false);
	}, [promptChanges.value, reloads.value, sent?.id]); // the answer of a new prompt may be older than its events
	const submit = async () => {
		if (!text.trim() || busy) return;
		setBusy(true);
		setError('');
		try {
			setSent(await sendPrompt(a.name, text, key.current));
			key.current = newKey();
			setText('');
		} catch (problem) {
			setError(problem.message);
			if (problem.code === 'invalid' || problem.code === 'refused') key.current = newKey();
		}
		setBusy(false);
	};
	const onKey = (e) => {
		if (e.key === 'Enter' && (e.ctrlKey || e.metaKey || (!e.shiftKey && !matchMedia('(pointer: coarse)').matches)) && !e.isComposing) {
			e.preventDefault();
			submit();
		} else if (e.key === 'Escape') {
			box.current.blur();
		}
	};
	const d = sent && deliveryOf(sent.state);
	return html`
		<form class="prompt-box" onSubmit=${(e) => { e.preventDefault(); submit(); }}>
			<div class="prompt-line">
				<label class="hidden" for="prompt">Prompt for ${a.name}</label>
				<textarea id="prompt" ref=${box} rows="1" placeholder="Send a prompt" value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${onKey}></textarea>
				<button class="primary" disabled=${busy || !text.trim()}>Send</button>
			</div>
			<div class="receipt" role="status">
				${error ? html`<span class="tone-fail"><${Icon} name="fail" size=${13}/> Not sent: ${error}</span>`
					: sent && d ? html`<span class="tone-${d.tone}"><${Icon} name=${d.tone} size=${13}/> <strong>${d.word}</strong></span><span class="muted"> · ${reasonOf(sent) || d.text}</span>` : null}
			</div>
		</form>`;
}

/** @param {import('../types').Receipt} r */
function isFinal(r) {
	return !['accepted', 'queued', 'injected', 'submitted'].includes(r.state) || !!r.closed;
}

/** Returns the reason of a receipt without its code. @param {import('../types').Receipt} r */
function reasonOf(r) {
	return (r.reason ?? '').replace(/^[a-z_]+: /, '');
}

/** The prompts of an agent: the waiting ones in the order of delivery, then those that ended. */
function Queue({ agent: a }) {
	const { value: list, problem } = useLoaded(`/api/v1/queue?which=ended&target=${encodeURIComponent(a.name)}`, promptChanges.value, a.queued);
	const [said, setSaid] = useState('');
	const focusOn = useRef('');
	useLayoutEffect(() => { // a moved row is another place of the page: the focus stays at its button
		const [id, step] = focusOn.current.split(' ');
		if (!id) return;
		focusOn.current = '';
		const row = document.querySelector(`[data-prompt="${CSS.escape(id)}"]`);
		const button = row?.querySelector(`[data-step="${step}"]:not(:disabled)`) ?? row?.querySelector('[data-step]:not(:disabled)');
		if (button instanceof HTMLElement) button.focus();
	}, [list]);
	if (problem) return html`<p class="error" role="alert">${problem.message}</p>`;
	if (!list) return html`<p class="loading">Loading</p>`;
	if (list.length === 0) return html`<p class="empty">No prompt was sent to this agent.</p>`;
	const cancel = (id) => attempt(async () => {
		await call('DELETE', `/api/v1/receipts/${encodeURIComponent(id)}`);
		notify('Prompt cancelled');
	});
	/** Moves a prompt by one place. @param {import('../types').Receipt} r @param {number} step */
	const move = (r, step) => attempt(async () => {
		const row = sorted.filter((x) => x.position && x.priority === r.priority);
		const at = row.findIndex((x) => x.id === r.id);
		const before = row[at + (step < 0 ? -1 : 2)];
		const by = device.value?.name;
		const moved = await post(`/api/v1/receipts/${encodeURIComponent(r.id)}/move`, before ? { before: before.id, by } : { last: true, by });
		setSaid(`Moved to position ${moved.position}`);
		focusOn.current = `${r.id} ${step}`;
	});
	/** @param {import('../types').Receipt} r */
	const edit = (r) => attempt(async () => {
		const path = `/api/v1/receipts/${encodeURIComponent(r.id)}`;
		const whole = await get(path + '/text');
		const text = await ask({ title: 'Edit the prompt', yes: 'Save', input: { label: `Prompt for ${a.name}`, value: whole.text } });
		if (text === null || text === whole.text) return;
		await call('PATCH', path, { text, by: device.value?.name });
		notify('Prompt changed');
	});
	const rank = (r) => (r.position > 0 ? r.position : ['accepted', 'queued', 'injected'].includes(r.state) ? 0 : 1e6);
	const sorted = [...list].sort((x, y) => rank(x) - rank(y) || y.created_at.localeCompare(x.created_at));
	return html`<p class="hidden" role="status">${said}</p><ul class="rows">${sorted.map((r) => {
		const d = deliveryOf(r.state);
		const row = sorted.filter((x) => x.position && x.priority === r.priority);
		const at = row.indexOf(r);
		const waits = ['accepted', 'queued', 'injected'].includes(r.state);
		return html`
			<li class="row" key=${r.id} tabindex="0" data-item data-prompt=${r.id}>
				<div class="row-main">
					<p class="prompt-full">${r.text}${r.bytes > new TextEncoder().encode(r.text ?? '').length + 8 ? '…' : ''}</p>
					<p class="detail"><span class="delivery tone-${d.tone}"><${Icon} name=${d.tone} size=${12}/> ${d.word}</span> <span class="muted">· ${[reasonOf(r), r.source && `from ${r.source}`, r.priority !== 'normal' && r.priority].filter(Boolean).map((part) => part + ' · ').join('')}<${Age} at=${r.created_at} suffix=" ago"/></span></p>
				</div>
				${waits && may('type') && html`<span class="queue-buttons">
					${at >= 0 && row.length > 1 && html`<button class="plain round" data-step="-1" aria-label="Deliver earlier" disabled=${at === 0} onClick=${() => move(r, -1)}><${Icon} name="up"/></button><button class="plain round" data-step="1" aria-label="Deliver later" disabled=${at === row.length - 1} onClick=${() => move(r, 1)}><${Icon} name="down"/></button>`}
					${r.position ? html`<button onClick=${() => edit(r)}>Edit</button>` : null}<button onClick=${() => cancel(r.id)}>Cancel</button></span>`}
			</li>`;
	})}</ul>`;
}

const families = { pending: 'need', prompt: 'ok', budget: 'limit' };

/** The events of an agent, newest first. */
function Timeline({ agent: a }) {
	const [past, setPast] = useState(/** @type {import('../types').Event[] | null} */ (null));
	useEffect(() => {
		let active = true;
		get(`/api/v1/events?target=${encodeURIComponent(a.name)}`).then((p) => active && setPast(p.events.slice(-300).reverse())).catch(() => active && setPast([]));
		return () => (active = false);
	}, [reloads.value]);
	if (!past) return html`<p class="loading">Loading</p>`;
	const newest = past[0]?.id ?? 0;
	const list = [...events.value.filter((e) => e.agent === a.name && e.id > newest), ...past].filter((e) => e.kind !== 'session.status' && e.kind !== 'worker.telemetry').slice(0, 300);
	if (list.length === 0) return html`<p class="empty">No event yet.</p>`;
	return html`<ol class="timeline">${list.map((e) => html`<${EventRow} key=${e.id} event=${e}/>`)}</ol>`;
}

/** @param {{event: import('../types').Event}} p */
function EventRow({ event: e }) {
	const [family, what] = e.kind.split('.');
	const bad = /failed|lost|quarantined|exited|dead|expired|bypass|stalled$|exceeded/.test(what);
	const d = e.data ?? {};
	const extra = [d.reason, d.error, d.prompt?.replace(/\s+/g, ' '), d.answer && `“${d.answer}”`, d.by && `by ${d.by}`, d.confidence && `${d.confidence}, from ${sourceWord(d.source)}`]
		.filter((text) => text && !e.text?.includes(text));
	return html`
		<li class="event ${bad ? 'bad' : ''} ${families[family] ? 'family-' + families[family] : ''}">
			<time dateTime=${e.time}>${clock(e.time)}</time>
			<div><p>${e.text || e.kind}</p>${extra.length > 0 && html`<p class="muted">${extra.join(' · ')}</p>`}</div>
			<code class="muted">${e.kind}</code>
		</li>`;
}

/** What the controller knows, concludes and plans. */
function Explain({ agent: a }) {
	const { value: x, problem } = useLoaded(agentPath(a.name, 'explain'), a.state, a.activity?.state, a.activity?.since, a.reason, a.instance);
	if (problem) return html`<p class="error" role="alert">${problem.message}</p>`;
	if (!x) return html`<p class="loading">Loading</p>`;
	const before = a.state === 'running'; // the exit and the output are those of the run before
	const title = before ? 'Last output of the previous run' : 'Last output';
	return html`
		<div class="explain">
			<section class="card"><h2>Decision</h2>
				<p class="decision"><strong>${x.decision === 'none' ? 'Nothing to do' : x.decision}</strong>${x.reason && html`: ${x.reason}`}</p>
				${x.next && html`<p class="muted">Next: ${x.next_at ? x.next.replace(/^next /, '').replace(/ at \d{4}-\S+$/, '') : x.next} ${x.next_at && html`<${Until} at=${x.next_at}/>`}</p>`}
				${x.channel && html`<p class="muted">Prompts: ${x.channel.way}${x.channel.by ? ` by ${x.channel.by}` : ''}${x.channel.reason ? ` (${x.channel.reason})` : ''}</p>`}
				${[...(x.warnings ?? []), x.exit && (before ? `The previous run ended: ${x.exit}` : x.exit)].filter(Boolean).map((w) => html`<p class="tone-warn"><${Icon} name="warn" size=${13}/> ${w}</p>`)}
			</section>
			<section class="card"><h2>Activity signals</h2>
				${(x.evidence ?? []).length === 0 && html`<p class="muted">No signal. An agent that does not run gives none.</p>`}
				<ul class="signals">${(x.evidence ?? []).map((e) => html`
					<li class=${e.used ? 'used' : ''}><${Icon} name=${e.used ? 'ok' : 'idle'} size=${13}/><div><p><strong>${sourceWord(e.source)}</strong>${sourceWord(e.source) === e.source ? '' : html` <span class="muted">(${e.source})</span>`} reports <strong>${e.activity}${e.kind ? ` (${kindWord(e.kind).toLowerCase()})` : ''}</strong> <span class="muted">${e.confidence} · <${Age} at=${e.since}/></span>${e.used ? html`<span class="badge">used</span>` : null}</p>${e.detail && html`<p class="muted">${e.detail}</p>`}</div></li>`)}</ul>
			</section>
			<section class="card"><h2>Facts</h2>
				<dl class="facts-list">${(x.facts ?? []).map((f) => html`<div><dt>${f.what}</dt><dd>${f.value}</dd><dd class="muted"><${Age} at=${f.read_at} suffix=" ago"/></dd></div>`)}</dl>
			</section>
			${(x.output || x.last_screen) && html`<section class="card"><h2>${title}</h2><pre class="code" tabindex="0" role="region" aria-label=${title}>${x.output || x.last_screen}</pre></section>`}
		</div>`;
}

/** Returns the agent after the given one that has a question. @param {string} name */
export function nextAsker(name) {
	const asking = agents.value.filter((x) => [...pending.value.values()].some((q) => q.agent === x.name)).map((x) => x.name);
	return asking[(asking.indexOf(name) + 1) % asking.length];
}
