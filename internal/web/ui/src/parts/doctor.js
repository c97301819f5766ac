// The checks of the city and its machine, and the support bundle.
import { html, signal } from '../core.js';
import { call, download, may } from '../api.js';
import { plural } from '../format.js';
import { status } from '../store.js';
import { Age } from './age.js';
import { attempt, notify } from './dialog.js';
import { Icon } from './icon.js';

/** The last examination; it stays while the page is open.
 * @type {import('@preact/signals').Signal<{busy?: boolean, error?: string, at?: string, findings?: import('../types').Finding[]}>} */
const last = signal({});
const packing = signal(false);
const all = signal(false);

async function examine() {
	if (last.value.busy) return;
	last.value = { ...last.value, busy: true, error: '' };
	try {
		const { findings } = await call('POST', '/api/v1/doctor');
		last.value = { findings, at: new Date().toISOString() };
	} catch (problem) {
		last.value = { ...last.value, busy: false, error: problem.message };
	}
}

async function pack() {
	if (packing.value || last.value.busy) return;
	packing.value = true;
	await attempt(async () => {
		await download('/api/v1/bundle', undefined, { name: `gc-${status.value?.city || 'city'}-${new Date().toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}.tar.gz` });
		notify('Review the support bundle before you share it');
	});
	packing.value = false;
}

const tones = { problem: 'fail', warning: 'warn', ok: 'ok' };

export function Doctor() {
	const { busy, error, findings, at } = last.value;
	const bad = (findings ?? []).filter((f) => f.level !== 'ok');
	const passed = (findings ?? []).filter((f) => f.level === 'ok');
	const shown = [...bad.filter((f) => f.level === 'problem'), ...bad.filter((f) => f.level !== 'problem'), ...(all.value ? passed : [])];
	return html`
		<section class="card doctor" aria-busy=${!!busy}><h2>Doctor</h2>
			<p class="muted" role="status">${busy ? 'Checking. A test agent gets a prompt on each runtime provider, which takes some seconds.'
				: findings ? html`<span class=${bad.some((f) => f.level === 'problem') ? 'tone-fail' : ''}>${plural(bad.filter((f) => f.level === 'problem').length, 'problem')}, ${plural(bad.filter((f) => f.level === 'warning').length, 'warning')}, ${passed.length} passed</span> · <${Age} at=${at} suffix=" ago"/>`
					: 'Checks this machine, the configuration, the sockets, the runtime providers and the sessions, from inside the controller.'}</p>
			${error && html`<p class="error" role="alert"><${Icon} name="fail" size=${14}/> ${error}</p>`}
			${shown.length > 0 && html`<ul class="findings">${shown.map((f) => html`
				<li class="tone-${tones[f.level]}"><${Icon} name=${tones[f.level]} size=${14}/><div><p><strong>${f.check}</strong> <span class="finding-level">${f.level}</span></p><p class="finding-text">${f.message}</p>${f.remedy && html`<p class="muted">Fix: <code>${f.remedy}</code></p>`}</div></li>`)}</ul>`}
			<div class="card-buttons">
				${may('manage') && html`<button onClick=${examine} aria-disabled=${!!busy}>${busy ? 'Checking' : findings ? 'Check again' : 'Run the checks'}</button>`}
				${findings && passed.length > 0 && html`<button aria-pressed=${all.value} onClick=${() => (all.value = !all.value)}>${all.value ? 'Hide' : 'Show'} passed checks</button>`}
				${may('manage') && html`<button onClick=${pack} aria-disabled=${packing.value || !!busy}>${packing.value ? 'Collecting' : 'Download support bundle'}</button>`}
			</div>
			${!may('manage') && html`<p class="muted">This device does not have the scope manage, which the checks need.</p>`}
		</section>`;
}
