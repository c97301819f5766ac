// The number that needs a person, in the title, the icon of the tab and the badge of the app.
import one from './icons/1.svg';
import two from './icons/2.svg';
import three from './icons/3.svg';
import four from './icons/4.svg';
import five from './icons/5.svg';
import six from './icons/6.svg';
import seven from './icons/7.svg';
import eight from './icons/8.svg';
import nine from './icons/9.svg';
import many from './icons/many.svg';
import { visible } from './format.js';

const icons = [one, two, three, four, five, six, seven, eight, nine];

/** Shows the number. @param {number} n @param {string} title */
export function showCount(n, title) {
	document.title = visible(n > 0 ? `(${n}) ${title}` : title);
	const link = /** @type {HTMLLinkElement | null} */ (document.getElementById('favicon'));
	if (link) {
		plain ??= link.getAttribute('href') ?? '';
		const icon = n === 0 ? plain : icons[n - 1] ?? many;
		if (link.getAttribute('href') !== icon) link.setAttribute('href', icon);
	}
	if (navigator.setAppBadge) navigator.setAppBadge(n).catch(() => {});
}

/** @type {string | undefined} */
let plain;
