// An editor of city.toml: a preview shows the mistakes and the plan, and only "Apply" writes.
import { html, signal, useRef } from '../core.js';
import { call, get, may, post } from '../api.js';
import { diffLines } from '../linediff.js';
import { plural } from '../format.js';
import { href } from '../route.js';
import { confirm, notify } from './dialog.js';
import { Icon } from './icon.js';

/**
 * @typedef {object} Draft
 * @property {import('../types').ConfigFile} file as it was read
 * @property {string} text as it is edited
 * @property {import('../types').ConfigPreview} [preview] of previewed
 * @property {string} [previewed] the text of the preview
 * @property {import('../types').ConfigFile} [other] the file on disk, if it has changed
 * @property {string} [error]
 * @property {boolean} [busy]
 */

/** The draft stays while the tab is open. @type {import('@preact/signals').Signal<Draft | null>} */
const draft = signal(null);
const opening = signal('');

/** @param {Partial<Draft>} change */
const update = (change) => draft.value && (draft.value = { ...draft.value, ...change });

async function load() {
	opening.value = '';
	try {
		const file = await get('/api/v1/config/file');
		draft.value = { file, text: file.text };
		requestAnimationFrame(() => document.getElementById('city-toml')?.focus());
	} catch (problem) {
		opening.value = problem.message;
	}
}

/** @param {(d: Draft) => Promise<void>} act */
async function work(act) {
	const d = draft.value;
	if (!d || d.busy) return;
	update({ busy: true, error: '' });
	try {
		await act(d);
	} catch (problem) {
		update({ error: problem.message });
	}
	update({ busy: false });
}

const preview = () => work(async (d) => {
	const found = await post('/api/v1/config/preview', { text: d.text, hash: d.file.hash });
	update({ preview: found, previewed: d.text });
	if (found.hash !== d.file.hash) update({ other: await get('/api/v1/config/file') });
});

const apply = () => work(async (d) => {
	const actions = actionsOf(d.preview?.plan);
	const yes = await confirm({
		title: 'Write city.toml?', yes: 'Apply', danger: actions.some((a) => a.verb === 'stop' || a.verb === 'restart'),
		body: html`<p>The file is replaced, and the controller reads it at once.</p>${actions.length > 0 ? html`<${Actions} list=${actions}/>` : html`<p>No agent starts or stops.</p>`}`,
	});
	if (!yes) return;
	try {
		await call('PUT', '/api/v1/config/file', { text: d.text, hash: d.file.hash });
	} catch (problem) {
		if (problem.status !== 409) throw problem;
		update({ other: await get('/api/v1/config/file') });
		return;
	}
	draft.value = null;
	notify('city.toml was written, and the controller has read it');
});

/** Closes the editor. */
async function close() {
	const d = draft.value;
	if (d && d.text !== d.file.text && !await confirm({ title: 'Discard your edit?', body: 'city.toml stays as it is on disk.', yes: 'Discard', danger: true })) return;
	draft.value = null;
}

/** Shows a line of the text. @param {number} line from 1 @param {number} [column] */
function showLine(line, column = 1) {
	const box = document.getElementById('city-toml');
	if (!(box instanceof HTMLTextAreaElement)) return;
	const lines = box.value.split('\n');
	const at = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0) + Math.max(0, column - 1);
	box.focus();
	box.setSelectionRange(at, at + Math.max(0, (lines[line - 1] ?? '').length - column + 1));
	box.scrollTop = Math.max(0, (line - 4) * (box.scrollHeight / Math.max(1, lines.length)));
}

/** @param {import('../types').Plan | undefined | null} plan */
/** Reports whether a mistake is in city.toml itself, and not in a file that it names. @param {{file?: string}} f */
const inCity = (f) => !f.file || /(^|\/)city\.toml$/.test(f.file);

const actionsOf = (plan) => (plan?.actions ?? []).filter((a) => a.verb !== 'none');

export function ConfigEditor() {
	const d = draft.value;
	if (!may('manage')) return null;
	if (!d) {
		return html`
			<section class="card"><h2>Edit city.toml</h2>
				<p class="muted">A preview shows what would start, stop and restart. Nothing is written without Apply.</p>
				${opening.value && html`<p class="error" role="alert">${opening.value}</p>`}
				<div class="card-buttons"><button onClick=${load}>Edit city.toml</button></div>
			</section>`;
	}
	const fresh = d.preview && d.previewed === d.text;
	const faults = (fresh && d.preview?.faults) || [];
	const mistakes = faults.filter((f) => !f.warning);
	return html`
		<section class="card editor" aria-busy=${!!d.busy}><h2>Edit city.toml</h2>
			${d.file.hidden > 0 && html`<p class="muted">${plural(d.file.hidden, 'credential is', 'credentials are')} hidden: a text such as <code>"********4f2a91"</code> stands for the value and keeps it.</p>`}
			${d.other && html`<${Conflict} draft=${d}/>`}
			<${Text} draft=${d} marked=${new Set(mistakes.filter(inCity).map((f) => f.line))}/>
			<div class="card-buttons">
				<button class=${fresh && d.preview?.plan ? '' : 'primary'} onClick=${preview} aria-disabled=${!!d.busy}>Preview</button>
				<button class=${fresh && d.preview?.plan ? 'primary' : ''} onClick=${apply} aria-disabled=${!!d.busy} disabled=${!fresh || !d.preview?.plan || !!d.other || d.text === d.file.text}>Apply</button>
				<button onClick=${close}>Close</button>
			</div>
			<div role="status">
				${d.error && html`<p class="tone-fail"><${Icon} name="fail" size=${13}/> ${d.error}</p>`}
				${fresh && html`<${Result} preview=${d.preview} faults=${faults}/>`}
				${d.preview && !fresh && html`<p class="muted">The text has changed since the preview.</p>`}
			</div>
		</section>`;
}

/** The text with the numbers of its lines. @param {{draft: Draft, marked: Set<number | undefined>}} p */
function Text({ draft: d, marked }) {
	const numbers = useRef(null);
	const lines = d.text.split('\n').length;
	return html`
		<div class="editor-text">
			<div class="line-numbers" ref=${numbers} aria-hidden="true">${Array.from({ length: lines }, (_, i) => html`<span class=${marked.has(i + 1) ? 'bad' : ''}>${i + 1}</span>`)}</div>
			<textarea id="city-toml" aria-label="Text of city.toml" wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off" rows=${Math.min(24, Math.max(8, lines + 1))} value=${d.text}
				onInput=${(e) => update({ text: e.target.value })} onScroll=${(e) => (numbers.current.scrollTop = e.target.scrollTop)}></textarea>
		</div>`;
}

/** @param {{preview: import('../types').ConfigPreview | undefined, faults: import('../types').ConfigFault[]}} p */
function Result({ preview: p, faults }) {
	const actions = actionsOf(p?.plan);
	return html`
		${faults.length > 0 && html`<ul class="findings">${faults.map((f) => html`
			<li class="tone-${f.warning ? 'warn' : 'fail'}"><${Icon} name=${f.warning ? 'warn' : 'fail'} size=${14}/><div>
				<p>${!inCity(f) ? html`<code>${f.file}${f.line ? `:${f.line}` : ''}</code> ` : f.line ? html`<button class="link" onClick=${() => showLine(f.line ?? 1, f.column)}>Line ${f.line}</button> ` : ''}${f.message}</p>
				${f.excerpt && html`<pre class="call">${f.excerpt}</pre>`}${f.hint && html`<p class="muted">${f.hint}</p>`}${f.alone && html`<p class="muted">Only this agent is affected.</p>`}</div></li>`)}</ul>`}
		${p?.plan ? html`<div class="plan-preview"><h3>What Apply would do</h3>${actions.length > 0 ? html`<${Actions} list=${actions}/>` : html`<p class="muted">No agent starts or stops.</p>`}</div>`
			: html`<p class="tone-fail"><${Icon} name="fail" size=${13}/> The text has mistakes and cannot be applied.</p>`}`;
}

/** @param {{list: import('../types').Action[]}} p */
function Actions({ list }) {
	return html`<ul class="plan">${list.map((a) => html`<li><span class="verb">${a.verb}</span> <a href=${href('agent', a.agent || a.session)}>${a.agent || a.session}</a><p class="muted">${a.reason}${(a.fields ?? []).length > 0 ? ` (${(a.fields ?? []).join(', ')})` : ''}</p></li>`)}</ul>`;
}

/** The file on disk is not the one that is edited. @param {{draft: Draft}} p */
function Conflict({ draft: d }) {
	const other = /** @type {import('../types').ConfigFile} */ (d.other);
	const rows = diffLines(d.file.text, other.text);
	return html`
		<div class="conflict"><p role="alert" class="tone-warn"><${Icon} name="warn" size=${14}/> <strong>city.toml has changed on disk since you opened it.</strong> Nothing was written. The difference on disk:</p>
			<pre class="diff" tabindex="0" role="region" aria-label="Difference on disk">${rows.length === 0 ? 'Only a hidden value.' : rows.map((r) => html`<span class=${r.sign === '+' ? 'added' : r.sign === '-' ? 'removed' : ''}>${r.sign + ' ' + r.text + '\n'}</span>`)}</pre>
			<div class="card-buttons">
				<button onClick=${() => (draft.value = { file: other, text: other.text })}>Use the file on disk</button>
				<button onClick=${() => update({ file: other, other: undefined, preview: undefined, error: '' })}>Keep my text</button>
			</div></div>`;
}
