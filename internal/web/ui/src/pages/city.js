// The city: its controller, plan, usage, devices and configuration.
import { html, signal, useState } from '../core.js';
import { call, device, may, post, signOut } from '../api.js';
import { count, money, plural, tokensOf } from '../format.js';
import { BudgetList } from '../parts/budget.js';
import { href } from '../route.js';
import { status, useLoaded } from '../store.js';
import { Age, Until } from '../parts/age.js';
import { attempt, confirm, notify } from '../parts/dialog.js';
import { Doctor } from '../parts/doctor.js';
import { ConfigEditor } from '../parts/editor.js';
import { Icon } from '../parts/icon.js';
import { Notifications } from '../parts/notifications.js';
import { pushState, unsubscribe } from '../push.js';
import { Loading } from './needs.js';

/** Loads a document that an older controller may not have. @param {string} path @param {any} [again] a value whose change loads again */
function useDocument(path, again) {
	const { value, problem } = useLoaded(path, again);
	return { value, error: problem?.status === 404 || problem?.status === 501 ? 'Not available in this version.' : problem?.message };
}

export function CityPage() {
	const s = status.value;
	if (!s) return html`<${Loading}/>`;
	return html`
		<div class="page city">
			<div class="page-head"><h1 id="page-title" tabindex="-1">${s.city}</h1><p class="sub"><code>${s.root}</code></p></div>
			${s.plan.error && html`<div class="banner tone-fail"><${Icon} name="fail"/><span><strong>city.toml has errors; the previous configuration is active.</strong><br/>${s.plan.error}</span></div>`}
			${[s.controller.degraded, ...(s.controller.notices ?? [])].filter(Boolean).map((n) => html`<div class="banner tone-warn"><${Icon} name="warn"/><span>${n}</span></div>`)}
			<div class="columns">
				<div>
					<${Controller} s=${s}/>
					<${Plan}/>
					<${Notifications}/>
					<${Devices}/>
				</div>
				<div>
					<${Spending}/>
					<${Budgets}/>
					<${Doctor}/>
				</div>
			</div>
			<${ConfigEditor}/>
			<${Configuration}/>
		</div>`;
}

function Controller({ s }) {
	return html`
		<section class="card"><h2>Controller</h2>
			<dl class="facts-list">
				<div><dt>Version</dt><dd>${s.controller.version}</dd></div>
				<div><dt>Running for</dt><dd><${Age} at=${s.controller.started_at}/></dd></div>
				<div><dt>Process</dt><dd>${s.controller.pid}</dd></div>
				<div><dt>Agents</dt><dd><a href=${href('fleet')}>${s.agents.length}</a></dd></div>
				<div><dt>Configuration read</dt><dd><${Age} at=${s.plan.loaded_at} suffix=" ago"/></dd></div>
			</dl>
			${may('manage') && html`<div class="card-buttons"><button onClick=${reload}>Read city.toml again</button></div>`}
		</section>`;
}

const reload = () => attempt(async () => {
	const done = await post('/api/v1/reload');
	notify(done.detail || 'The configuration was read again');
});

function Plan() {
	const { value, error } = useDocument('/api/v1/plan', status.value?.plan.loaded_at);
	const actions = (value?.actions ?? []).filter((a) => a.verb !== 'none');
	return html`
		<section class="card"><h2>Plan</h2>
			${error ? html`<p class="muted">${error}</p>` : !value ? html`<p class="loading">Loading</p>` : actions.length === 0 ? html`<p class="muted">Nothing to do. All agents run as configured.</p>` : html`
				<ul class="plan">${actions.map((a) => html`<li><span class="verb">${a.verb}</span> <a href=${href('agent', a.agent || a.session)}>${a.agent || a.session}</a><p class="muted">${a.reason}${a.after && html` · <${Until} at=${a.after}/>`}</p></li>`)}</ul>`}
		</section>`;
}

const by = signal('agent');

function Spending() {
	const { value, error } = useDocument(`/api/v1/usage?by=${by.value}`);
	const groups = value?.groups ?? [];
	const priced = groups.some((g) => g.cost_usd != null);
	const size = (g) => (priced ? g.cost_usd ?? 0 : tokensOf(g));
	const most = Math.max(1e-9, ...groups.map(size));
	return html`
		<section class="card"><h2>Usage</h2>
			<div class="chips" role="group" aria-label="Group by">${[['agent', 'Agent'], ['model', 'Model'], ['day', 'Day'], ['tool', 'Tool']].map(([id, word]) => html`<button class="chip" key=${id} aria-pressed=${by.value === id} onClick=${() => (by.value = id)}>${word}</button>`)}</div>
			${error ? html`<p class="muted">${error}</p>` : !value ? html`<p class="loading">Loading</p>` : groups.length === 0 ? html`<p class="muted">No usage was reported yet.</p>` : html`
				<ul class="bars">${groups.slice(0, 14).map((g) => html`
					<li><span class="bar-name" title=${g.group}>${g.group || 'unknown'}</span><span class="bar"><span style=${{ width: Math.max(1, (100 * size(g)) / most) + '%' }}></span></span><span class="bar-value">${g.cost_usd != null ? money(g.cost_usd) : ''} <span class="muted">${by.value === 'tool' ? plural(g.calls ?? 0, 'call') : count(tokensOf(g))}</span></span></li>`)}</ul>
				<p class="muted">Total: ${value.total.cost_usd != null ? money(value.total.cost_usd) + ', ' : ''}${count(tokensOf(value.total))} tokens, ${plural(value.total.turns, 'turn')}</p>`}
		</section>`;
}

const allBudgets = signal(false);

function Budgets() {
	const { value, error } = useDocument('/api/v1/budgets', status.value?.budgets);
	const used = (value ?? []).filter((b) => b.used > 0 || b.over);
	const shown = allBudgets.value || (value ?? []).length <= 4 ? value ?? [] : used;
	return html`
		<section class="card"><h2>Budgets</h2>
			${error ? html`<p class="muted">${error}</p>` : !value ? html`<p class="loading">Loading</p>` : value.length === 0 ? html`<p class="muted">No budget is configured.</p>` : html`
				<${BudgetList} list=${shown}/>${shown.length < value.length && html`<div class="card-buttons"><button onClick=${() => (allBudgets.value = true)}>Show ${plural(value.length - shown.length, 'budget')} without usage</button></div>`}`}
		</section>`;
}

function Devices() {
	const [again, setAgain] = useState(0);
	const { value, error } = useDocument('/api/v1/web/devices', `${again} ${pushState.value}`);
	const list = Array.isArray(value) ? value : value?.devices ?? [];
	const revoke = async (d) => {
		if (!await confirm({ title: `Revoke ${d.name}?`, body: 'The device is signed out at once and needs a new code.', yes: 'Revoke', danger: true })) return;
		await attempt(async () => {
			await call('DELETE', `/api/v1/web/devices/${encodeURIComponent(d.id)}`);
			setAgain(again + 1);
		});
	};
	return html`
		<section class="card"><h2>Devices</h2>
			${error ? html`<p class="muted">${error}</p>` : html`
				<ul class="devices">${list.map((d) => html`
					<li key=${d.id}><div><p><strong>${d.name}</strong>${d.id === device.value?.id ? html` <span class="badge">this device</span>` : null}</p>
						<p class="muted">${(d.scopes ?? []).join(', ')}${d.last_seen ? html` · seen <${Age} at=${d.last_seen} suffix=" ago"/>` : null}${d.notified ? ' · gets notifications' : ''}</p></div>
						${d.id !== device.value?.id && may('manage') && html`<button onClick=${() => revoke(d)}>Revoke</button>`}</li>`)}</ul>`}
			<div class="card-buttons"><button onClick=${() => signOut().then(unsubscribe).catch((problem) => notify(`This device is signed out here, but not at the city: ${problem.message}`, 'fail'))}><${Icon} name="out"/> Sign out</button></div>
		</section>`;
}

const key = signal('');
const changed = signal(true);

function Configuration() {
	const { value, error } = useDocument('/api/v1/config', status.value?.plan.loaded_at);
	const words = key.value.toLowerCase().split(/\s+/).filter(Boolean);
	const list = (value?.values ?? []).filter((v) => (!changed.value || v.origin !== 'default') && words.every((w) => `${v.key} ${v.value} ${v.origin}`.toLowerCase().includes(w)));
	const root = status.value?.root ?? '';
	return html`
		<section class="card configuration"><h2>Configuration in force</h2>
			<div class="toolbar">
				<label class="search"><${Icon} name="search"/><span class="hidden">Search the configuration</span><input type="search" placeholder="Search keys and values" value=${key.value} onInput=${(e) => (key.value = e.target.value)}/></label>
				<button class="chip" aria-pressed=${!changed.value} onClick=${() => (changed.value = !changed.value)}>With defaults</button>
			</div>
			${error ? html`<p class="muted">${error}</p>` : !value ? html`<p class="loading">Loading</p>` : html`
				<div class="table-box" tabindex="0" role="region" aria-label="Configuration values"><table class="values">
					<thead><tr><th scope="col">Key</th><th scope="col">Value</th><th scope="col">Origin</th></tr></thead>
					<tbody>${list.slice(0, 400).map((v) => html`<tr key=${v.key}><td><code>${v.key}</code></td><td><code class="value">${v.value}</code></td><td class="muted">${v.origin.replace(root + '/', '')}</td></tr>`)}</tbody>
				</table></div>
				${list.length === 0 && html`<p class="empty">No value matches.</p>`}`}
		</section>`;
}
