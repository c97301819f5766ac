// The screens of agents that are visible on the page, over one stream. It is open only while a screen is watched and the page is
// visible; the server sends what has changed and nothing else.
import { Problem } from './api.js';
import { readEvents } from './stream.js';

/** @typedef {{target: string, ended?: string, all?: boolean, plain?: boolean, cols?: number, rows?: number, lines?: import('./types').ScreenLine[]}} ScreenUpdate */

/**
 * @typedef {object} ScreenModel
 * @property {number} cols
 * @property {number} rows
 * @property {(import('./types').ScreenSpan[] | undefined)[]} lines
 * @property {number} reach the largest number of columns that was used so far
 * @property {boolean} plain the text has no colors
 * @property {string} ended why there is no screen; empty: there is one
 */

const most = 64; // targets of one stream; the server allows no more
const gather = 120; // ms until the stream follows a change of what is visible
const firstPause = 500, longPause = 8_000; // ms before the next attempt after a lost connection

/** @type {Map<string, {model: ScreenModel, show: () => void}>} */
const watched = new Map();
const stale = '?'; // no list of targets
let asked = ''; // the targets of the present stream
/** @type {AbortController | undefined} */
let open;
let timer = 0;
let pause = firstPause;

/** Watches the screen of an agent: show is called after each change of the model. Returns a function that ends it.
 * @param {string} name @param {ScreenModel} model @param {() => void} show */
export function watchScreen(name, model, show) {
	const entry = { model, show };
	watched.set(name, entry);
	asked = stale; // also if the same agent was watched a moment ago: its next instance has a new screen
	soon(gather);
	return () => {
		if (watched.get(name) !== entry) return;
		watched.delete(name);
		soon(gather);
	};
}

/** @param {number} ms */
function soon(ms) {
	clearTimeout(timer);
	timer = setTimeout(update, ms);
}

document.addEventListener('visibilitychange', () => soon(0));
addEventListener('online', () => soon(0));

/** Opens the stream for what is watched now, if it is not open already. */
async function update() {
	const targets = document.visibilityState === 'visible' ? [...watched.keys()].slice(0, most).sort() : [];
	const key = targets.map(encodeURIComponent).join('&target=');
	if (key === asked) return;
	const old = open;
	asked = key;
	open = undefined;
	if (targets.length === 0) return old?.abort();
	const mine = (open = new AbortController());
	let left = new Set(targets);
	try {
		await readEvents('/api/v1/screens?target=' + key, mine.signal, {
			open: () => old?.abort(), // only now: the server goes on with the screens that both have
			event: (kind, data) => {
				if (kind !== 'screen' || open !== mine) return;
				const u = JSON.parse(data);
				if (u.ended) left.delete(u.target);
				apply(u);
			},
			piece: () => {
				pause = firstPause;
			},
		});
	} catch (error) {
		if (error instanceof Problem && (error.status === 401 || error.status === 403 || error.status === 501)) left = new Set();
	} finally {
		old?.abort();
	}
	if (open !== mine) return; // another stream has replaced this one
	open = undefined;
	if (left.size === 0) return; // no target has a screen; a page watches again when an agent starts
	asked = stale;
	soon(pause);
	pause = Math.min(2 * pause, longPause);
}

/** @param {ScreenUpdate} u */
function apply(u) {
	const entry = watched.get(u.target);
	if (!entry) return;
	const { model } = entry;
	model.ended = u.ended ?? '';
	if (!u.ended) {
		if (u.all) model.lines = [];
		if (model.cols !== u.cols) model.reach = 0;
		model.cols = u.cols ?? 0;
		model.rows = u.rows ?? 0;
		model.plain = !!u.plain;
		for (const line of u.lines ?? []) model.lines[line.y] = line.spans?.length ? line.spans : undefined;
	}
	entry.show();
}
