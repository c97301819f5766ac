// The page that is shown. It is in the fragment of the address: "#/agent/shop%2Fcart/queue".
import { signal } from './core.js';

/** @typedef {{page: string, name: string, tab: string}} Route */

/** Returns the page in the address, or the start page if the address is malformed. @returns {Route} */
function parse() {
	let parts = [''];
	try {
		parts = location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
	} catch {
		// such as "#/%"
	}
	return { page: parts[0] || 'needs', name: parts[1] || '', tab: parts[2] || '' };
}

export const route = signal(parse());
addEventListener('hashchange', () => (route.value = parse()));

/** Returns the address of a page. @param {string} page @param {string} [name] @param {string} [tab] */
export function href(page, name, tab) {
	return '#/' + [page, name, tab].filter(Boolean).map((p) => encodeURIComponent(/** @type {string} */ (p))).join('/');
}

/** Shows a page. @param {string} page @param {string} [name] @param {string} [tab] */
export function open(page, name, tab) {
	location.hash = href(page, name, tab);
}

/** Returns the one-time code in the address and removes it from the address and the history. */
export function readCode() {
	const found = location.hash.match(/^#(?:code=)?([A-Za-z0-9_-]{16,})$/);
	if (!found) return '';
	history.replaceState(null, '', location.pathname + location.search + '#/');
	route.value = parse();
	return found[1];
}
