// The changed files of an agent's working directory, with their diffs.
import { html, useEffect, useMemo, useRef, useState } from '../core.js';
import { agentPath, download, get, may } from '../api.js';
import { parseDiff } from '../diff.js';
import { clock, plural, splitInvisible, visible } from '../format.js';
import { reloads } from '../store.js';
import { Icon } from './icon.js';

/** @typedef {import('../types').ChangedFile} ChangedFile */
/** @typedef {import('../types').Changes} Changes */

const first = 256 << 10; // bytes of the diffs that are loaded with the list
const alone = 1 << 20; // bytes of the diff of one file
const maxRows = 400; // rows that are shown at once
const openRows = 300; // changed lines of the files that are open at first

const letters = { added: 'A', modified: 'M', deleted: 'D', renamed: 'R', type_changed: 'T', untracked: 'U', conflicted: 'C' };
const words = { added: 'Added', modified: 'Modified', deleted: 'Deleted', renamed: 'Renamed', type_changed: 'Type changed', untracked: 'New, not tracked', conflicted: 'Conflict' };

/** Shows text so that every character is visible. @param {{text: string}} p */
function Visible({ text }) {
	const parts = splitInvisible(text);
	return parts.map((part, i) => (i % 2 ? html`<span class="escape">${part}</span>` : visible(part)));
}

/** Returns a key that changes when a turn of the agent ends. @param {import('../types').Agent} a */
function useTurn(a) {
	const last = useRef('');
	if (a.activity?.state !== 'busy') last.current = `${a.instance} ${a.activity?.state} ${a.activity?.since}`;
	return last.current;
}

/** @param {{agent: import('../types').Agent}} p */
export function Files({ agent: a }) {
	const [since, setSince] = useState('head');
	const [changes, setChanges] = useState(/** @type {Changes | null} */ (null));
	const [error, setError] = useState(/** @type {any} */ (null));
	const [loading, setLoading] = useState(true);
	const [again, setAgain] = useState(0);
	const [loaded, setLoaded] = useState('');
	const [toggled, setToggled] = useState(/** @type {Map<string, boolean>} */ (new Map()));
	const opened = useRef(/** @type {Set<string> | null} */ (null)); // the files that are open at first
	const turn = useTurn(a);
	useEffect(() => {
		const control = new AbortController();
		setLoading(true);
		get(`${agentPath(a.name, 'changes')}?diff=true&bytes=${first}&since=${since}`, { signal: control.signal }).then((c) => {
			opened.current ??= openAtFirst(c.files);
			setChanges(c);
			setError(null);
			setLoaded(new Date().toISOString());
			setLoading(false);
		}).catch((e) => {
			if (control.signal.aborted) return;
			setError(e);
			setLoading(false);
		});
		return () => control.abort();
	}, [since, turn, again, reloads.value]);
	const refresh = () => setAgain(again + 1);
	if (error && !changes) return html`<${Failed} error=${error} retry=${refresh}/>${may('manage') && html`<${DownloadForm} agent=${a}/>`}`;
	if (!changes) return html`<p class="loading">Loading</p>`;
	const files = changes.files ?? [];
	const isOpen = (f) => toggled.get(f.path) ?? opened.current?.has(f.path) ?? false;
	const toggle = (path, on) => setToggled((old) => new Map(old).set(path, on));
	const allOpen = files.length > 0 && files.every(isOpen);
	const show = (path) => {
		toggle(path, true);
		requestAnimationFrame(() => {
			const head = document.getElementById(idOf(path));
			head?.focus({ preventScroll: true });
			head?.scrollIntoView({ block: 'start' });
		});
	};
	const select = (value) => {
		opened.current = null;
		setSince(value);
	};
	return html`
		<div class="files">
			<div class="files-head">
				<p class="files-sum"><strong>${plural(files.length, 'file')}</strong> <${Counts} added=${changes.added} removed=${changes.removed}/>
					<span class="muted"> · ${changes.branch ? html`<bdi><${Visible} text=${changes.branch}/></bdi>` : 'no branch'}${changes.operation ? `, ${changes.operation} in progress` : ''}</span></p>
				<div class="files-tools">
					${(changes.commits ?? 0) > 0 || since === 'branch' ? html`
						<div class="compare" role="group" aria-label="Compare with">
							<button class="chip" aria-pressed=${since === 'head'} onClick=${() => select('head')}>Not committed</button>
							<button class="chip" aria-pressed=${since === 'branch'} onClick=${() => select('branch')}>Since ${changes.main} · ${plural(changes.commits ?? 0, 'commit')}</button>
						</div>` : null}
					${files.length > 1 && html`<button class="plain" onClick=${() => setToggled(new Map(files.map((f) => [f.path, !allOpen])))}>${allOpen ? 'Close all' : 'Open all'}</button>`}
					<button class="plain" disabled=${loading} onClick=${refresh}>Refresh</button>
				</div>
			</div>
			${error && html`<p class="error" role="alert">Not refreshed: ${error.message}</p>`}
			${(changes.cut ?? []).map((why) => html`<p class="banner small"><${Icon} name="warn" size=${14}/><span>Not complete: ${why}.</span></p>`)}
			${files.length === 0 && html`<p class="empty">${since === 'head' ? 'No uncommitted change.' : `No change since ${changes.main}.`}
				${since === 'head' && (changes.commits ?? 0) > 0 && html` <button class="link" onClick=${() => select('branch')}>Show ${plural(changes.commits ?? 0, 'commit')} since ${changes.main}</button>`}</p>`}
			${files.length > 0 && html`
				<div class="files-body">
					<nav class="file-nav" aria-label="Changed files"><ul>${files.map((f) => html`
						<li key=${f.path}><button class="plain" onClick=${() => show(f.path)}><${Letter} file=${f}/><${Path} path=${f.path}/><${Counts} added=${f.added} removed=${f.removed}/></button></li>`)}</ul></nav>
					<ul class="file-list">${files.map((f) => html`<${File} key=${f.path} agent=${a} file=${f} since=${since} at=${loaded} inside=${inside(changes, f)} open=${isOpen(f)} toggle=${toggle}/>`)}</ul>
				</div>`}
			<p class="muted small files-end" role="status">${loading ? 'Loading' : `Read at ${clock(loaded)}. Read again when a turn ends.`}</p>
			${may('manage') && html`<${DownloadForm} agent=${a}/>`}
		</div>`;
}

/** Returns the path of a file relative to the working directory of the agent; empty if it is outside, or if its name cannot be a path here.
 * @param {Changes} c @param {ChangedFile} f */
function inside(c, f) {
	if (c.work_dir !== c.root && !c.work_dir.startsWith(c.root + '/')) return '';
	const start = c.work_dir === c.root ? '' : c.work_dir.slice(c.root.length + 1) + '/';
	return f.path.startsWith('"') || !f.path.startsWith(start) ? '' : f.path.slice(start.length);
}

/** Downloads one file and shows why that fails.
 * @param {string} agent @returns {{busy: boolean, error: string, save: (path: string) => void}} */
function useDownload(agent) {
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState('');
	const save = async (path) => {
		if (busy) return;
		setBusy(true);
		setError('');
		try {
			await download(agentPath(agent, 'copy-out'), { path, plain: true }, { tooLarge: `Copy it in a terminal: gc copy ${agent}:${path} .` });
		} catch (problem) {
			setError(problem.message);
		}
		setBusy(false);
	};
	return { busy, error, save };
}

/** Downloads any file of the working directory. @param {{agent: import('../types').Agent}} p */
function DownloadForm({ agent: a }) {
	const [path, setPath] = useState('');
	const { busy, error, save } = useDownload(a.name);
	return html`
		<form class="card file-get" onSubmit=${(e) => { e.preventDefault(); if (path.trim()) save(path.trim()); }}>
			<label class="check-label" for="file-get">Download a file of the working directory</label>
			<div class="prompt-line"><input id="file-get" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="src/main.go" value=${path} onInput=${(e) => setPath(e.target.value)}/><button disabled=${!path.trim()} aria-disabled=${busy}>${busy ? 'Downloading' : 'Download'}</button></div>
			${error && html`<p class="error" role="alert"><${Visible} text=${error}/></p>`}
		</form>`;
}

/** @param {{agent: string, path: string}} p */
function DownloadButton({ agent, path }) {
	const { busy, error, save } = useDownload(agent);
	return html`
		<p class="diff-end"><button class="plain" aria-disabled=${busy} onClick=${() => save(path)}>${busy ? 'Downloading' : 'Download this file'}</button></p>
		${error && html`<p class="diff-end error" role="alert"><${Visible} text=${error}/></p>`}`;
}

/** Returns the files that are open at first: on a phone only one alone, else those at the top with few lines.
 * @param {ChangedFile[]} files */
function openAtFirst(files) {
	const wide = matchMedia('(min-width: 700px)').matches;
	const open = new Set();
	let rows = 0;
	for (const f of files) {
		rows += f.added + f.removed;
		if (files.length > 1 && (!wide || rows > openRows)) break;
		open.add(f.path);
	}
	return open;
}

/** @param {{error: any, retry: () => void}} p */
function Failed({ error, retry }) {
	const known = error.code === 'refused' || error.code === 'unsupported';
	return html`<div class="empty" role=${known ? undefined : 'alert'}><p><${Visible} text=${error.message}/></p><p class="files-retry"><button onClick=${retry}>Try again</button></p></div>`;
}

/** The id of the head of a file. @param {string} path */
const idOf = (path) => 'file-' + encodeURIComponent(path);

/** @param {{added: number, removed: number}} p */
function Counts({ added, removed }) {
	return html`<span class="counts">${added > 0 && html`<span class="plus">+${added}</span>`} ${removed > 0 && html`<span class="less">−${removed}</span>`}</span>`;
}

/** @param {{file: ChangedFile}} p */
function Letter({ file: f }) {
	return html`<span class="letter is-${f.status}" title=${words[f.status]}><span aria-hidden="true">${letters[f.status] ?? '?'}</span><span class="hidden">${words[f.status] ?? f.status}: </span></span>`;
}

/** Shows a path with a strong file name. @param {{path: string, old?: string}} p */
function Path({ path, old }) {
	const at = path.lastIndexOf('/') + 1;
	return html`<bdi class="file-path">${old && html`<span class="muted"><${Visible} text=${old}/> → </span>`}${at > 0 && html`<span class="muted"><${Visible} text=${path.slice(0, at)}/></span>`}<span class="file-name"><${Visible} text=${path.slice(at)}/></span></bdi>`;
}

/** What is special about a file. @param {ChangedFile} f */
function notesOf(f) {
	const kinds = { link: 'symbolic link', submodule: 'submodule', repository: 'git repository', special: 'pipe, socket or device' };
	return [kinds[f.kind ?? ''], f.binary && 'binary', f.uncounted && 'large', f.staged && (f.unstaged ? 'partly staged' : 'staged'), f.untracked && f.status !== 'untracked' && 'not tracked any more'].filter(Boolean).join(', ');
}

/** @param {{agent: import('../types').Agent, file: ChangedFile, since: string, at: string, inside: string, open: boolean, toggle: (path: string, on: boolean) => void}} p inside: its path in the working directory */
function File({ agent: a, file: f, since, at, inside, open, toggle }) {
	const [full, setFull] = useState(/** @type {ChangedFile | null} */ (null)); // with a longer diff
	const [wanted, setWanted] = useState(false);
	const [error, setError] = useState('');
	const [rows, setRows] = useState(maxRows);
	const missing = open && !f.diff && !!f.cut && f.kind !== 'special';
	useEffect(() => {
		if (!missing && !wanted) return;
		const control = new AbortController();
		get(`${agentPath(a.name, 'changes')}?diff=true&bytes=${alone}&since=${since}&path=${encodeURIComponent(f.path)}`, { signal: control.signal })
			.then((c) => { setFull(c.files?.find((x) => x.path === f.path) ?? null); setError(''); })
			.catch((e) => control.signal.aborted || setError(e.message));
		return () => control.abort();
	}, [missing, wanted, at]);
	const shown = full ?? f;
	const list = useMemo(() => (open && shown.diff ? parseDiff(shown.diff, f.path) : []), [open, shown.diff]);
	const notes = notesOf(f);
	return html`
		<li class="file ${open ? 'is-open' : ''}">
			<button class="file-head" id=${idOf(f.path)} data-item aria-expanded=${open} onClick=${() => toggle(f.path, !open)}>
				<${Letter} file=${f}/><${Path} path=${f.path} old=${f.old_path}/>${notes && html`<span class="file-notes">${notes}</span>`}<${Counts} added=${f.added} removed=${f.removed}/><span class="chevron"><${Icon} name="back" size=${13}/></span>
			</button>
			${open && html`
				<div class="file-diff">
					${list.slice(0, rows).map((row, i) => html`<${Line} key=${i} row=${row}/>`)}
					${list.length > rows && html`<p class="diff-end"><button onClick=${() => setRows(rows * 5)}>Show ${plural(Math.min(list.length - rows, rows * 4), 'more line')}</button></p>`}
					${list.length === 0 && html`<p class="diff-end muted">${error ? '' : missing && !full ? 'Loading' : shown.cut || 'No text differs.'}</p>`}
					${list.length > 0 && shown.cut && html`<p class="diff-end muted">Not complete: ${shown.cut}.${!full && html` <button class="link" onClick=${() => setWanted(true)}>Load more</button>`}</p>`}
					${error && html`<p class="diff-end error" role="alert">${error}</p>`}
					${may('manage') && inside && !f.kind && f.status !== 'deleted' && html`<${DownloadButton} agent=${a.name} path=${inside}/>`}
				</div>`}
		</li>`;
}

const signs = { add: '+', del: '−' };

/** @param {{row: import('../diff.js').Row}} p */
function Line({ row: r }) {
	if (r.kind === 'hunk' || r.kind === 'note') return html`<div class="line is-${r.kind}"><${Visible} text=${r.parts[0][1]}/></div>`;
	const last = r.parts.length - 1;
	return html`
		<div class="line is-${r.kind}"><span class="number old" data-n=${r.old}></span><span class="number" data-n=${r.now ?? r.old}></span><span class="sign">${signs[r.kind] ?? ' '}</span><code>${r.parts.map(([kind, text], i) => {
			const end = i === last && text.endsWith('\r');
			const part = html`<${Visible} text=${end ? text.slice(0, -1) : text}/>`;
			return html`${kind ? html`<span class="t-${kind}">${part}</span>` : part}${end && r.kind !== 'same' ? html`<span class="escape">\\r</span>` : null}`;
		})}</code></div>`;
}
