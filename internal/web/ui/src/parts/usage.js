// Tokens and cost of an agent over time: two charts, and the same numbers as a table.
import { html, useEffect, useState } from '../core.js';
import { get } from '../api.js';
import { count, money, plural, tokensOf } from '../format.js';
import { budgets, reloads } from '../store.js';
import { BudgetList } from './budget.js';

const hour = 3600_000;
const periods = [
	{ id: 'hour', word: '24 hours', by: 'hour', span: 24 * hour },
	{ id: 'day', word: '30 days', by: 'day', span: 30 * 24 * hour },
];

/** Returns the beginning of each hour or day of a period, oldest first, as dates. @param {typeof periods[0]} period @param {Date} at */
function slots(period, at) {
	const list = [];
	if (period.by === 'hour') {
		const last = Math.floor(at.getTime() / hour) * hour;
		for (let i = 23; i >= 0; i--) list.push(new Date(last - i * hour));
	} else {
		for (let i = 29; i >= 0; i--) list.push(new Date(at.getFullYear(), at.getMonth(), at.getDate() - i));
	}
	return list;
}

/** Returns when a group of the API begins. @param {string} group */
function begin(group) {
	return group.includes('T') ? new Date(group) : new Date(group + 'T00:00:00');
}

/** @param {Date} at @param {string} by */
function label(at, by) {
	return by === 'hour' ? at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }) : at.toLocaleDateString([], { month: 'short', day: 'numeric' });
}

/** Shows the usage of an agent. @param {{agent: import('../types').Agent}} p */
export function AgentUsage({ agent: a }) {
	const [period, setPeriod] = useState(periods[0]);
	const [value, setValue] = useState(/** @type {import('../types').Usage | null} */ (null));
	const [error, setError] = useState('');
	useEffect(() => {
		let active = true;
		const since = new Date(slots(period, new Date())[0]).toISOString();
		get(`/api/v1/usage?by=${period.by}&target=${encodeURIComponent(a.name)}&since=${since}`)
			.then((v) => { if (active) { setValue(v); setError(''); } }).catch((e) => active && setError(e.message));
		return () => (active = false);
	}, [a.name, period, a.activity?.since, reloads.value]);
	const mine = budgets.value.filter((b) => b.who === a.name || b.who === a.session);
	return html`
		<div class="usage">
			<section class="card">
				<div class="usage-head"><h2>Usage</h2><div class="chips" role="group" aria-label="Period">${periods.map((p) => html`<button class="chip" key=${p.id} aria-pressed=${period.id === p.id} onClick=${() => { setValue(null); setPeriod(p); }}>${p.word}</button>`)}</div></div>
				${error ? html`<p class="error" role="alert">${error}</p>` : !value ? html`<p class="loading">Loading</p>` : html`<${Charts} usage=${value} period=${period}/>`}
			</section>
			${mine.length > 0 && html`<section class="card"><h2>Budgets</h2><${BudgetList} list=${mine}/></section>`}
		</div>`;
}

/** @param {{usage: import('../types').Usage, period: typeof periods[0]}} p */
function Charts({ usage, period }) {
	const groups = usage.groups ?? [];
	if (groups.length === 0) return html`<p class="muted">This agent reported no usage in the last ${period.word}.</p>`;
	const known = groups.map((g) => ({ g, at: begin(g.group).getTime() }));
	const list = slots(period, new Date(usage.at)).map((at, i, all) => {
		const next = all[i + 1]?.getTime() ?? Infinity;
		const found = known.filter((k) => k.at >= at.getTime() && k.at < next).map((k) => k.g); // the controller may be in another time zone
		const costs = found.filter((g) => g.cost_usd != null);
		return { at, found, tokens: found.reduce((n, g) => n + tokensOf(g), 0), cost: costs.length > 0 ? costs.reduce((n, g) => n + (g.cost_usd ?? 0), 0) : null };
	});
	const total = usage.total;
	const partial = total.untold || total.unpriced;
	return html`
		<p class="usage-total"><strong>${count(tokensOf(total))} tokens</strong>${total.cost_usd != null ? html` · <strong>${total.unpriced ? '≥ ' : ''}${money(total.cost_usd)}</strong>` : null} <span class="muted">in ${plural(total.turns, 'turn')}</span></p>
		<${Chart} title="Tokens" list=${list} size=${(s) => s.tokens} text=${count} by=${period.by}/>
		${total.cost_usd != null && html`<${Chart} title="Cost" list=${list} size=${(s) => s.cost ?? 0} text=${money} by=${period.by}/>`}
		<div class="table-box" tabindex="0" role="region" aria-label="Usage as a table"><table>
			<caption class="hidden">Usage by ${period.by}, the newest first</caption>
			<thead><tr><th scope="col">${period.by === 'hour' ? 'Hour' : 'Day'}</th><th scope="col">Turns</th><th scope="col">Input</th><th scope="col">Cache</th><th scope="col">Output</th><th scope="col">Cost</th></tr></thead>
			<tbody>${[...groups].reverse().map((g) => html`<tr key=${g.group}><th scope="row">${period.by === 'hour' && begin(g.group).toDateString() !== new Date().toDateString() ? html`<span class="muted">${label(begin(g.group), 'day')}</span> ` : ''}${label(begin(g.group), period.by)}</th><td>${g.turns}</td><td>${number(g.tokens.input)}</td><td>${number(sum(g.tokens.cache_read, g.tokens.cache_write))}</td><td>${number(sum(g.tokens.output, g.tokens.reasoning))}</td><td>${g.cost_usd == null ? html`<span class="muted">unknown</span>` : `${g.unpriced ? '≥ ' : ''}${money(g.cost_usd)}`}</td></tr>`)}</tbody>
		</table></div>
		${partial ? html`<p class="muted">${[total.untold && `${plural(total.untold, 'response')} without a number of tokens`, total.unpriced && `${plural(total.unpriced, 'response')} without a known price`].filter(Boolean).join(', ')}: the real numbers are higher.</p>` : null}`;
}

/** @param {(number | null | undefined)[]} list */
function sum(...list) {
	const known = list.filter((n) => n != null);
	return known.length > 0 ? known.reduce((a, b) => a + b, 0) : null;
}

/** @param {number | null | undefined} n */
function number(n) {
	return n == null ? html`<span class="muted">–</span>` : count(n);
}

const box = { width: 720, height: 92, top: 14, bottom: 18 };

/** Draws bars over time. @param {{title: string, list: any[], size: (s: any) => number, text: (n: number) => string, by: string}} p */
function Chart({ title, list, size, text, by }) {
	const most = Math.max(...list.map(size));
	const step = box.width / list.length, high = box.height - box.top - box.bottom;
	const last = list.length - 1;
	const ticks = by === 'hour' ? [0, 6, 12, 18, last] : [0, 7, 14, 21, last];
	return html`
		<figure class="chart"><figcaption>${title} <span class="muted">per ${by}</span><span class="chart-most">${most > 0 ? `most: ${text(most)}` : ''}</span></figcaption>
			<svg viewBox="0 0 ${box.width} ${box.height}" preserveAspectRatio="none" role="img" aria-label=${`${title} per ${by}; the numbers are in the table below`}>
				<line x1="0" x2=${box.width} y1=${box.top + high} y2=${box.top + high} class="axis"/>
				${list.map((s, i) => {
					const h = most > 0 ? (high * size(s)) / most : 0;
					return h > 0 && html`<rect key=${i} x=${i * step + 1.5} y=${box.top + high - Math.max(2, h)} width=${step - 3} height=${Math.max(2, h)} rx="2"><title>${label(s.at, by)}: ${text(size(s))}</title></rect>`;
				})}
			</svg>
			<div class="ticks" aria-hidden="true">${ticks.map((i) => html`<span style=${{ left: (100 * (i + 0.5)) / list.length + '%' }}>${label(list[i].at, by)}</span>`)}</div>
		</figure>`;
}
