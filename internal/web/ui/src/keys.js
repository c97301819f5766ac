// The keyboard: the same keys as in the terminal dashboard.
import { html, signal } from './core.js';
import { may } from './api.js';
import { interrupt, prompt, stop } from './actions.js';
import { dialogOpen } from './parts/dialog.js';
import { nextAsker } from './pages/agent.js';
import { marked, restartOrStart, setView, targets, toggleMark, view } from './pages/fleet.js';
import { open, route } from './route.js';

export const helpOpen = signal(false);

const help = [
	['j k', 'next, previous'], ['g G', 'first, last'], ['Enter', 'open'], ['n', 'next that needs you'], ['a', 'answer'],
	['1 … 9', 'choose an option; Enter sends it'], ['p', 'send a prompt'], ['i', 'interrupt (asks)'], ['r', 'restart (asks)'], ['x', 'stop (asks)'],
	['Space', 'select'], ['/', 'search'], ['e', 'explain'], ['l', 'conversation'], ['d', 'changed files'], ['f', 'fleet'], ['w', 'fleet: screens or table'], ['c', 'city'], ['Esc', 'back'], ['?', 'this help'],
];

/** Starts to listen for keys. */
export function startKeys() {
	addEventListener('keydown', onKey);
}

/** @returns {HTMLElement[]} */
const items = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-item]')]).filter((e) => e.offsetParent !== null);

/** @param {HTMLElement | undefined} item */
function focusItem(item) {
	item?.focus();
	item?.scrollIntoView({ block: 'nearest' });
}

/** @param {number} step */
function move(step) {
	const list = items();
	const at = list.findIndex((e) => e.contains(document.activeElement));
	focusItem(list[Math.max(0, Math.min(list.length - 1, at < 0 ? (step > 0 ? 0 : list.length - 1) : at + step))]);
}

/** Returns the agent at which the focus is. */
function current() {
	const at = document.activeElement?.closest('[data-agent]');
	return at?.getAttribute('data-agent') ?? (route.value.page === 'agent' ? route.value.name : '');
}

/** Moves the focus to the next question; on the page of an agent, shows the next agent that asks. */
function nextQuestion() {
	if (route.value.page === 'agent') {
		const name = nextAsker(route.value.name);
		if (name && (name !== route.value.name || route.value.tab)) return open('agent', name); // other tabs do not show the card
	}
	if (route.value.page !== 'needs' && route.value.page !== 'agent') {
		open('needs');
		return requestAnimationFrame(() => requestAnimationFrame(nextQuestion));
	}
	const cards = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-question]')]);
	const at = cards.findIndex((e) => e.contains(document.activeElement));
	focusItem(cards[(at + 1) % cards.length]);
}

/** Moves the focus to the answers of the question at which the focus is, or of the first one. */
function answer() {
	const name = current();
	let card = document.activeElement?.closest('[data-question]') ?? (name && document.querySelector(`[data-question][data-agent="${CSS.escape(name)}"]`)) ?? document.querySelector('[data-question]');
	if (!card) {
		if (route.value.page === 'needs') return;
		open('needs');
		requestAnimationFrame(() => requestAnimationFrame(() => {
			card = document.querySelector(`[data-question][data-agent="${CSS.escape(name)}"]`) ?? document.querySelector('[data-question]');
			focusAnswer(card);
		}));
		return;
	}
	focusAnswer(card);
}

/** @param {Element | null} card */
function focusAnswer(card) {
	const first = card?.querySelector('.option, textarea, a');
	if (first instanceof HTMLElement) focusItem(first);
}

function back() {
	if (helpOpen.value) helpOpen.value = false;
	else if (marked.value.size > 0) marked.value = new Set();
	else if (route.value.page === 'agent') open('fleet');
	else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

/** @param {KeyboardEvent} e */
function onKey(e) {
	const at = /** @type {HTMLElement} */ (e.target);
	if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || dialogOpen()) return;
	if (at.closest?.('input:not([type=checkbox]), textarea, select, .xterm, [contenteditable]')) return;
	const name = current();
	const chosen = () => (route.value.page === 'fleet' ? targets(name) : name ? [name] : []);
	const act = (scope, f) => may(scope) && chosen().length > 0 && f(chosen());
	switch (e.key) {
	case 'j': case 'ArrowDown':
		if (e.key === 'ArrowDown' && !at.matches('[data-item]')) return;
		move(1); break;
	case 'k': case 'ArrowUp':
		if (e.key === 'ArrowUp' && !at.matches('[data-item]')) return;
		move(-1); break;
	case 'g': focusItem(items()[0]); break;
	case 'G': focusItem(items().at(-1)); break;
	case 'n': nextQuestion(); break;
	case 'a': answer(); break;
	case 'p':
		if (route.value.page !== 'agent') act('type', prompt);
		else if (document.getElementById('prompt')) document.getElementById('prompt')?.focus();
		else open('agent', route.value.name);
		break;
	case 'i': act('manage', interrupt); break;
	case 'r': act('manage', restartOrStart); break;
	case 'x': act('manage', stop); break;
	case 'e': if (name) open('agent', name, 'explain'); break;
	case 'd': if (name) open('agent', name, 'files'); break;
	case 'l': if (name) open('agent', name, 'conversation'); break;
	case 'f': open('fleet'); break;
	case 'w':
		if (route.value.page === 'fleet') setView(view.value === 'wall' ? 'table' : 'wall');
		else {
			setView('wall');
			open('fleet');
		}
		break;
	case 'c': open('city'); break;
	case '?': helpOpen.value = !helpOpen.value; break;
	case '/': {
		const box = document.querySelector('input[type=search]');
		if (!(box instanceof HTMLElement)) return;
		box.focus();
		break;
	}
	case ' ':
		if (!at.matches('.agent-row, .thumb-link') || !name) return;
		toggleMark(name);
		break;
	case 'Enter':
		if (!at.matches('[data-item]') || !name || at.matches('a, button, [data-question]') || at.closest('.talk')) return;
		open('agent', name);
		break;
	case 'Escape': back(); break;
	default: return;
	}
	e.preventDefault();
}

/** Shows the keys. */
export function Help() {
	if (!helpOpen.value) return null;
	return html`
		<div class="help" role="dialog" aria-label="Keys" aria-modal="false">
			<h2>Keys</h2>
			<dl>${help.map(([k, text]) => html`<div><dt>${k.split(' ').map((x) => (x === '…' ? ' … ' : html`<kbd>${x}</kbd>`))}</dt><dd>${text}</dd></div>`)}</dl>
			<button onClick=${() => (helpOpen.value = false)}>Close</button>
		</div>`;
}
