// The theme: that of the system, or the one that the person chose.
import { signal } from './core.js';

const key = 'gc.theme';
const query = matchMedia('(prefers-color-scheme: dark)');
const chosen = signal(localStorage.getItem(key) ?? '');

/** @type {import('@preact/signals').Signal<'dark' | 'light'>} the theme in force */
export const theme = signal('light');

function update() {
	theme.value = /** @type {'dark' | 'light'} */ (chosen.value || (query.matches ? 'dark' : 'light'));
	if (chosen.value) document.documentElement.dataset.theme = chosen.value;
	else delete document.documentElement.dataset.theme;
}

query.addEventListener('change', update);
update();

/** Changes to the other theme. A choice that equals the system's is not stored. */
export function switchTheme() {
	const next = theme.value === 'dark' ? 'light' : 'dark';
	chosen.value = next === (query.matches ? 'dark' : 'light') ? '' : next;
	if (chosen.value) localStorage.setItem(key, chosen.value);
	else localStorage.removeItem(key);
	update();
}
