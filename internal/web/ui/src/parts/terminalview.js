// The frame of a terminal: who drives it, its size on the screen, and keys for phones.
import { html, useEffect, useRef, useState } from '../core.js';
import { may } from '../api.js';
import { theme } from '../theme.js';
import { confirm } from './dialog.js';
import { Icon } from './icon.js';

const keys = [['Esc', '\x1b'], ['Tab', '\t'], ['Ctrl', ''], ['←', '\x1b[D', 'Left'], ['↑', '\x1b[A', 'Up'], ['↓', '\x1b[B', 'Down'], ['→', '\x1b[C', 'Right'], ['⏎', '\r', 'Enter']];

const readerKey = 'gc.reader'; // "1": screen readers get the text of terminals

/** Shows the terminal of an agent. @param {{agent: import('../types').Agent}} p */
export function TerminalView({ agent: a }) {
	const place = useRef(null);
	const terminal = useRef(/** @type {any} */ (null));
	const [state, setState] = useState({ phase: 'loading', driver: '', you: false, plain: false, text: '' });
	const [ctrl, setCtrl] = useState(false);
	const [reader, setReader] = useState(() => localStorage.getItem(readerKey) === '1');
	useEffect(() => {
		let active = true;
		import('../terminal.js').then(({ openTerminal }) => {
			if (!active || !place.current) return;
			terminal.current = openTerminal({
				place: place.current, session: a.name, dark: theme.value === 'dark', reader,
				onState: (s) => active && setState((old) => ({ ...old, ...s })),
				onCtrlUsed: () => setCtrl(false),
				confirmPaste: (text) => confirm({ title: `Paste ${text.split('\n').length} lines?`, body: html`<p>A program may run each line at once.</p><pre class="code" tabindex="0" role="region" aria-label="Text to paste">${text.slice(0, 2000)}</pre>`, yes: 'Paste' }),
				confirmLink: (url) => confirm({ title: 'Open this link?', body: html`<p>The agent printed it.</p><p class="url">${url}</p>`, yes: 'Open' }),
			});
		}).catch(() => active && setState((old) => ({ ...old, phase: 'failed', text: 'The terminal could not be loaded.' })));
		return () => {
			active = false;
			terminal.current?.close();
		};
	}, []);
	useEffect(() => terminal.current?.setTheme(theme.value === 'dark'), [theme.value]);
	useEffect(() => terminal.current?.setCtrl(ctrl), [ctrl]);
	const switchReader = () => {
		terminal.current?.setReader(!reader);
		localStorage.setItem(readerKey, reader ? '0' : '1');
		setReader(!reader);
	};
	useEffect(() => {
		if (a.state === 'running') terminal.current?.reopen();
	}, [a.instance, a.state]);
	const drive = () => {
		terminal.current?.drive(!state.you);
		if (!state.you) terminal.current?.focus();
	};
	const down = !['running', 'draining', 'stopping', 'unknown'].includes(a.state) && state.phase !== 'open' && state.phase !== 'ended';
	const starts = a.state === 'starting' || a.state === 'creating';
	const why = !down ? (state.phase === 'lost' ? state.text : '') : starts ? 'The terminal opens when the agent runs.' : 'The agent has no terminal while it does not run. Start it to see one.';
	const words = { loading: 'Connecting', open: state.you ? 'You type' : state.driver ? `${state.driver} types` : state.plain ? 'Watching: text only, without colors' : 'Watching', lost: 'Reconnecting', ended: 'The session ended', failed: state.text };
	return html`
		<div class="terminal-frame ${state.you ? 'driving' : ''}">
			<div class="terminal-bar">
				<span class="terminal-state" role="status">${down ? (starts ? 'Starting' : 'Not running') : words[state.phase]}${state.phase === 'open' && state.text ? html`<span class="muted"> · ${state.text}</span>` : null}</span>
				${!down && html`<span class="terminal-buttons">
					<button class="plain round" aria-label="Text for screen readers" title="Text for screen readers" aria-pressed=${reader} onClick=${switchReader}><${Icon} name="speak" size=${14}/></button>
					<button class="plain round" aria-label="Smaller text" onClick=${() => terminal.current?.zoom(-1)}><${Icon} name="minus" size=${14}/></button>
					<button class="plain round" aria-label="Larger text" onClick=${() => terminal.current?.zoom(1)}><${Icon} name="plus" size=${14}/></button>
					${may('type') && !state.plain && html`<button class=${state.you ? '' : 'quiet-primary'} disabled=${state.phase !== 'open'} onClick=${drive}>${state.you ? 'Stop typing' : 'Take over'}</button>`}
				</span>`}
			</div>
			${why && html`<p class="empty">${why}</p>`}
			<div class="terminal-place ${down ? 'is-off' : ''}" ref=${place} role="region" aria-label=${'Terminal of ' + a.name}></div>
			${state.you && html`
				<div class="key-bar" role="toolbar" aria-label="Keys">
					${keys.map(([label, bytes, name]) => label === 'Ctrl'
						? html`<button aria-pressed=${ctrl} onClick=${() => { setCtrl(!ctrl); terminal.current?.focus(); }}>Ctrl</button>`
						: html`<button aria-label=${name} onClick=${() => { terminal.current?.key(bytes); terminal.current?.focus(); }}>${label}</button>`)}
				</div>`}
		</div>`;
}
