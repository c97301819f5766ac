// The page of a person without a city: it makes one, starts it and continues as its web console.
import { html, useEffect, useState } from '../core.js';
import { get, post } from '../api.js';
import { Icon } from '../parts/icon.js';

/** @typedef {{home: string, folder: string, clis: {name: string, version?: string, tested?: string, state: string}[]}} Start */

export function StartPage() {
	const [start, setStart] = useState(/** @type {Start | null} */ (null));
	const [folder, setFolder] = useState('');
	const [found, setFound] = useState(/** @type {{path: string, city?: boolean}[]} */ ([]));
	const [provider, setProvider] = useState('');
	const [prompt, setPrompt] = useState('');
	const [error, setError] = useState('');
	const [busy, setBusy] = useState(false);
	useEffect(() => {
		get('/api/v1/start').then((s) => {
			setStart(s);
			setFolder(s.folder);
			setProvider(s.clis.find((c) => c.state === 'found')?.name ?? s.clis.find((c) => c.state !== 'not installed')?.name ?? '');
		}).catch((problem) => setError(problem.message));
	}, []);
	useEffect(() => {
		if (!start) return;
		const stop = new AbortController();
		const timer = setTimeout(() => get(`/api/v1/start/folders?path=${encodeURIComponent(folder)}`, { signal: stop.signal }).then(setFound).catch(() => {}), 120);
		return () => {
			clearTimeout(timer);
			stop.abort();
		};
	}, [folder, start]);
	const submit = async () => {
		setBusy(true);
		setError('');
		try {
			const made = await post('/api/v1/start', { folder, provider, prompt });
			location.replace(made.link);
		} catch (problem) {
			setError(problem.message);
			setBusy(false);
		}
	};
	if (!start) return html`<main class="signin">${error ? html`<p class="error" role="alert">${error}</p>` : html`<p class="loading" role="status">Looking for agent CLIs</p>`}</main>`;
	const installed = start.clis.filter((c) => c.state !== 'not installed');
	const missing = start.clis.filter((c) => c.state === 'not installed').map((c) => c.name);
	const exists = found.some((f) => f.city && f.path === folder.replace(/\/+$/, ''));
	return html`
		<main class="signin start-page">
			<form onSubmit=${(e) => { e.preventDefault(); if (!busy && folder.trim()) submit(); }}>
				<img src=${document.getElementById('favicon')?.getAttribute('href') ?? ''} width="56" height="56" alt=""/>
				<h1>Start a city</h1>
				<p>A city is a folder with a <code>city.toml</code> that lists your agents. gc writes the file and starts the first agent.</p>
				<label class="field"><span>Folder</span><input name="folder" list="folders" autocomplete="off" autocapitalize="off" spellcheck="false" required value=${folder} onInput=${(e) => setFolder(e.target.value)}/></label>
				<datalist id="folders">${found.map((f) => html`<option key=${f.path} value=${f.path}>${f.city ? 'a city already' : ''}</option>`)}</datalist>
				<p class="muted start-hint">${exists ? html`<span class="tone-warn">This folder has a city already. Choose another one, or run <code>gc web</code> there.</span>` : `A path below ${start.home} is completed while you type. A missing folder is created.`}</p>
				<fieldset class="choices"><legend>Agent</legend>
					${installed.map((c) => html`<label class="choice" key=${c.name}><input type="radio" name="provider" value=${c.name} checked=${provider === c.name} onChange=${() => setProvider(c.name)}/><span><strong>${c.name}</strong> <span class="muted">${c.version ?? ''}${c.state === 'untested' ? ` · gc was not tested with this version${c.tested ? ` (tested: ${c.tested})` : ''}` : ''}</span></span></label>`)}
					<label class="choice"><input type="radio" name="provider" value="" checked=${provider === ''} onChange=${() => setProvider('')}/><span><strong>A shell</strong> <span class="muted">to try gc without a model</span></span></label>
				</fieldset>
				${missing.length > 0 && html`<p class="muted start-hint">Not found in PATH: ${missing.join(', ')}</p>`}
				<label class="field"><span>First prompt (optional)</span><textarea name="prompt" rows="3" value=${prompt} onInput=${(e) => setPrompt(e.target.value)}></textarea></label>
				${error && html`<p class="error" role="alert"><${Icon} name="fail" size=${14}/> ${error}</p>`}
				<button class="primary" aria-disabled=${busy} disabled=${!folder.trim()}>${busy ? 'Starting the city' : 'Start the city'}</button>
				<p class="muted" role="status">${busy ? 'The controller starts, which takes some seconds. Then this page becomes the web console of the city.' : ''}</p>
			</form>
		</main>`;
}
