// All agents: their states with the evidence, their last prompts, context and cost.
import { html, signal, useMemo } from '../core.js';
import { may } from '../api.js';
import { deliveryOf, evidenceOf, waitsInQueue } from '../condition.js';
import { count, money, plural, splitName } from '../format.js';
import { href, open } from '../route.js';
import { agents, budgets, conditions, groupAgents, prompts, status } from '../store.js';
import { interrupt, prompt, restart, start, stop } from '../actions.js';
import { Age } from '../parts/age.js';
import { Icon, State } from '../parts/icon.js';
import { Thumbnail } from '../parts/thumbnail.js';
import { Loading } from './needs.js';

const search = signal('');
const filter = signal('all');
const oneList = signal(false);
const viewKey = 'gc.fleet';
/** @type {import('@preact/signals').Signal<'table' | 'wall'>} whether agents are rows or pictures of their screens */
export const view = signal(localStorage.getItem(viewKey) === 'wall' ? 'wall' : 'table');

/** Shows the agents as rows or as pictures. @param {'table' | 'wall'} next */
export function setView(next) {
	view.value = next;
	localStorage.setItem(viewKey, next);
}
/** @type {import('@preact/signals').Signal<Set<string>>} */
export const marked = signal(new Set());

const filters = [
	{ id: 'all', word: 'All', tones: null },
	{ id: 'need', word: 'Needs you', tones: ['need'] },
	{ id: 'trouble', word: 'In trouble', tones: ['fail', 'warn', 'limit'] },
	{ id: 'busy', word: 'Working', tones: ['busy'] },
	{ id: 'idle', word: 'Idle', tones: ['idle'] },
	{ id: 'stop', word: 'Not running', tones: ['stop', 'start', 'unknown'] },
];

/** Marks an agent, or removes the mark. @param {string} name */
export function toggleMark(name) {
	const next = new Set(marked.value);
	if (!next.delete(name)) next.add(name);
	marked.value = next;
}

/** Returns the marked agents that exist, or the given one if there is no mark. @param {string} [name] */
export function targets(name) {
	const found = agents.value.map((a) => a.name).filter((n) => marked.value.has(n));
	return found.length > 0 ? found : name ? [name] : [];
}

export function FleetPage() {
	const list = agents.value;
	const states = conditions.value;
	const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
	const tones = filters.find((f) => f.id === filter.value)?.tones;
	const shown = list.filter((a) => {
		const c = states.get(a.name);
		const text = `${a.name} ${c?.word} ${c?.detail} ${prompts.value.get(a.name)?.text ?? ''}`.toLowerCase();
		return (!tones || tones.includes(c?.tone ?? '')) && words.every((w) => text.includes(w));
	});
	const groups = useMemo(() => groupAgents(shown, oneList.value), [shown, states, oneList.value]);
	if (!status.value) return html`<${Loading}/>`;
	const chosen = targets();
	return html`
		<div class="page fleet">
			<div class="page-head"><h1 id="page-title" tabindex="-1">Fleet</h1><p class="sub">${plural(list.length, 'agent')}</p></div>
			<div class="toolbar">
				<label class="search"><${Icon} name="search"/><span class="hidden">Search agents</span>
					<input type="search" id="search" placeholder="Search" autocomplete="off" value=${search.value} onInput=${(e) => (search.value = e.target.value)} onKeyDown=${(e) => e.key === 'Escape' && e.target.blur()}/></label>
				<div class="views" role="group" aria-label="View">
					${[['table', 'Table', 'grid'], ['wall', 'Screens', 'wall']].map(([id, word, icon]) => html`<button class="chip" key=${id} aria-pressed=${view.value === id} onClick=${() => setView(/** @type {any} */ (id))}><${Icon} name=${icon} size=${14}/> <span>${word}</span></button>`)}
				</div>
				${list.some((a) => splitName(a.name).rig) && html`<button class="chip order" aria-pressed=${oneList.value} onClick=${() => (oneList.value = !oneList.value)}>One list</button>`}
				<div class="chips" role="group" aria-label="Show only">
					${filters.map((f) => {
						const n = f.tones ? list.filter((a) => f.tones.includes(states.get(a.name)?.tone ?? '')).length : list.length;
						return (n > 0 || f.id === 'all' || filter.value === f.id) && html`<button class="chip" key=${f.id} aria-pressed=${filter.value === f.id} onClick=${() => (filter.value = f.id)}>${f.word} <span class="n">${n}</span></button>`;
					})}
				</div>
			</div>
			${shown.length === 0 ? null : view.value === 'wall' ? html`<${Wall} groups=${groups}/>` : html`<${Table} list=${list} groups=${groups}/>`}
			${list.length === 0 ? html`<p class="empty">No agent is configured. <a href=${href('city')}>Edit city.toml</a></p>` : shown.length === 0 && html`<p class="empty">No agent matches. <button class="link" onClick=${() => { search.value = ''; filter.value = 'all'; }}>Show all</button></p>`}
			${chosen.length > 0 && html`
				<div class="bulk" role="region" aria-label="Selected agents">
					<strong>${plural(chosen.length, 'agent')}<span class="wide"> selected</span></strong>
					<button class="plain clear" aria-label="Clear the selection" onClick=${() => (marked.value = new Set())}><${Icon} name="close"/></button>
					<span class="bulk-buttons">
						${may('type') && html`<button onClick=${() => prompt(chosen)}>Send</button>`}
						${may('manage') && html`<button onClick=${() => interrupt(chosen)}>Interrupt</button><button onClick=${() => restart(chosen)}>Restart</button><button class="danger-text" onClick=${() => stop(chosen)}>Stop</button>`}
					</span>
				</div>`}
		</div>`;
}

/** @param {{list: import('../types').Agent[], groups: ReturnType<typeof groupAgents>}} p */
function Table({ list, groups }) {
	return html`
		<div class="agents ${list.some((a) => a.worker?.context_usage != null) ? 'with-context' : ''} ${list.some((a) => hasCost(a)) ? 'with-cost' : ''}" role="table" aria-label="Agents">
			<div role="rowgroup" class="agents-head"><div role="row" class="agent-row">
				<span role="columnheader"><span class="hidden">Select</span></span><span role="columnheader">Agent</span><span role="columnheader">State</span><span role="columnheader">Last prompt</span><span role="columnheader">Context</span><span role="columnheader">Cost, budget</span>
			</div></div>
			${groups.map((g) => html`
				<div role="rowgroup" key=${g.rig} class="agent-group">
					${g.rig && html`<div role="row" class="group-row"><span role="cell" aria-colspan="6"><h2>${g.rig}</h2></span></div>`}
					${g.agents.map((a) => html`<${AgentRow} key=${a.name} agent=${a} condition=${conditions.value.get(a.name)} full=${oneList.value}/>`)}
				</div>`)}
		</div>`;
}

/** Shows a live picture of the screen of each agent. @param {{groups: ReturnType<typeof groupAgents>}} p */
function Wall({ groups }) {
	return html`<div class="wall">${groups.map((g) => html`
		<section key=${g.rig} aria-label=${g.rig || 'Agents'}>
			${g.rig && html`<h2>${g.rig}</h2>`}
			<ul>${g.agents.map((a) => html`<${Card} key=${a.name} agent=${a} condition=${conditions.value.get(a.name)} full=${oneList.value}/>`)}</ul>
		</section>`)}</div>`;
}

/** @param {{agent: import('../types').Agent, condition?: import('../condition.js').Condition, full: boolean}} p */
function Card({ agent: a, condition: c, full }) {
	const runs = a.state === 'running' || a.state === 'draining';
	return html`
		<li class="thumb tone-card-${c?.tone}" data-agent=${a.name}>
			<a class="thumb-link" data-item href=${href('agent', a.name)}>
				<span class="thumb-head"><span class="thumb-name">${full ? a.name : splitName(a.name).short}</span><${State} tone=${c?.tone} word=${c?.word} title=${evidenceOf(a)}/> <span class="age"><${Age} at=${c?.since}/></span></span>
				${runs ? html`<${Thumbnail} name=${a.name} instance=${a.instance ?? ''}/>` : html`<span class="thumb-screen"><span class="thumb-note">${c?.detail || 'No screen: the agent is not running'}</span></span>`}
			</a>
			<label class="thumb-mark"><input type="checkbox" checked=${marked.value.has(a.name)} onChange=${() => toggleMark(a.name)} aria-label=${'Select ' + a.name}/></label>
		</li>`;
}

/** @param {{agent: import('../types').Agent, condition?: import('../condition.js').Condition, full: boolean}} p */
function AgentRow({ agent: a, condition: c, full }) {
	const p = prompts.value.get(a.name);
	const delivery = p && deliveryOf(p.state);
	const context = a.worker?.context_usage;
	const cost = costOf(a);
	const budget = budgetOf(a);
	const name = full ? a.name : splitName(a.name).short;
	const follow = (e) => {
		if (!e.target.closest('a, button, input, label') && !getSelection()?.toString()) open('agent', a.name);
	};
	return html`
		<div role="row" class="agent-row tone-row-${c?.tone}" tabindex="0" data-item data-agent=${a.name} aria-label=${`${a.name}, ${c?.word}`} onClick=${follow}>
			<span role="cell" class="c-mark"><label><input type="checkbox" checked=${marked.value.has(a.name)} onChange=${() => toggleMark(a.name)} aria-label=${'Select ' + a.name}/></label></span>
			<span role="cell" class="c-name"><a class="agent-name" href=${href('agent', a.name)}>${name}</a>${a.attached > 0 && html`<span class="badge attached" title="Attached terminals">${a.attached} attached</span>`}${a.restarts > 0 && html`<span class="muted small restarts">${plural(a.restarts, 'restart')}</span>`}</span>
			<span role="cell" class="c-state"><${State} tone=${c?.tone} word=${c?.word} title=${evidenceOf(a)}/> <span class="age"><${Age} at=${c?.since}/></span>
				<span class="evidence">${c?.detail || evidenceOf(a)}</span></span>
			<span role="cell" class="c-prompt">${p ? html`<span class="prompt-text" title=${p.text}>${p.text?.split('\n')[0]}</span><span class="delivery tone-${delivery?.tone}"><${Icon} name=${delivery?.tone} size=${12}/> ${!a.queued ? delivery?.word : waitsInQueue(p.state) ? `${a.queued} waiting` : html`${delivery?.word}<span class="muted"> · ${a.queued} waiting</span>`}</span>` : html`<span class="muted none">no prompt yet</span>`}</span>
			<span role="cell" class="c-context">${context == null ? html`<span class="muted none">–</span>` : html`<${Meter} value=${context} label="Context used"/>`}</span>
			<span role="cell" class="c-cost">${cost ? html`<span>${cost}</span>` : !budget && html`<span class="muted none">–</span>`}${budget && html`<${Meter} value=${budget.limit > 0 ? budget.used / budget.limit : 1} label=${`Budget ${budget.name}`}/>`}</span>
		</div>`;
}

/** Returns the cost or the tokens that an agent uses now, as text; empty if nothing is known. @param {import('../types').Agent} a */
export function costOf(a) {
	const b = a.burn;
	if (b?.usd_per_hour != null) return `${b.unpriced ? '≥ ' : ''}${money(b.usd_per_hour)}/h`;
	if (b?.tokens_per_minute != null) return `${b.partial ? '≥ ' : ''}${count(Math.round(b.tokens_per_minute))} tok/min`;
	return '';
}

/** Returns the budget of an agent of which the greatest part is used. @param {import('../types').Agent} a */
function budgetOf(a) {
	const part = (b) => (b.over ? 2 : b.limit > 0 ? b.used / b.limit : 1);
	return budgets.value.filter((b) => b.who === a.name || b.who === a.session).sort((x, y) => part(y) - part(x))[0];
}

/** @param {import('../types').Agent} a */
const hasCost = (a) => !!costOf(a) || !!budgetOf(a);

/** Shows a part of a whole as a bar and a number. @param {{value: number, label: string}} p */
export function Meter({ value, label }) {
	const percent = Math.round(Math.min(1, Math.max(0, value)) * 100);
	return html`<span class="meter ${value >= 0.85 ? 'high' : ''}" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${percent}><span class="bar"><span style=${{ width: percent + '%' }}></span></span><span class="percent">${Math.round(value * 100)}%</span></span>`;
}

/** Starts what does not run, restarts the rest. @param {string[]} names */
export function restartOrStart(names) {
	const down = names.every((n) => ['fail', 'stop'].includes(conditions.value.get(n)?.tone ?? ''));
	return down ? start(names) : restart(names);
}
