// Times, amounts and names as text for people.
import { signal } from '@preact/signals';

/** The present time in ms; it moves each second while the page is visible. */
export const now = signal(Date.now());

/** Starts the clock of the page. */
export function startClock() {
	setInterval(() => {
		if (document.visibilityState === 'visible') now.value = Date.now();
	}, 1000);
	document.addEventListener('visibilitychange', () => (now.value = Date.now()));
}

/** Returns a duration as text: "42s", "3m", "2h", "5d". @param {number} ms */
export function duration(ms) {
	const s = Math.max(0, Math.round(ms / 1000));
	if (s < 60) return `${s}s`;
	if (s < 3600) return `${Math.floor(s / 60)}m`;
	if (s < 36 * 3600) {
		const m = Math.floor((s % 3600) / 60);
		return s < 10 * 3600 && m > 0 ? `${Math.floor(s / 3600)}h ${m}m` : `${Math.floor(s / 3600)}h`;
	}
	return `${Math.floor(s / 86400)}d`;
}

/** Returns an amount of money. @param {number | null | undefined} usd */
export function money(usd) {
	if (usd == null) return '';
	return usd < 10 ? `$${usd.toFixed(2)}` : `$${Math.round(usd)}`;
}

/** Returns a large number in a short form. @param {number | null | undefined} n */
export function count(n) {
	if (n == null) return '';
	if (n < 1000) return String(n);
	if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)}k`;
	return `${(n / 1e6).toFixed(1)}M`;
}

/** Returns all tokens of a sum of usage. @param {{tokens?: Partial<import('./types').UsageTokens>}} sum */
export function tokensOf({ tokens: t = {} }) {
	return (t.input ?? 0) + (t.cache_read ?? 0) + (t.cache_write ?? 0) + (t.output ?? 0) + (t.reasoning ?? 0);
}

/** @param {number} n @param {string} one @param {string} [many] */
export function plural(n, one, many = one + 's') {
	return `${n} ${n === 1 ? one : many}`;
}

/** Returns the rig and the short name of an agent. @param {string} name */
export function splitName(name) {
	const slash = name.lastIndexOf('/');
	return { rig: slash < 0 ? '' : name.slice(0, slash), short: name.slice(slash + 1) };
}

/** Returns the clock time of a date, with the day if it is not today. @param {string} at */
export function clock(at) {
	const d = new Date(at);
	const time = d.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
	return d.toDateString() === new Date().toDateString() ? time : `${d.toLocaleDateString([], { month: 'short', day: 'numeric' })}, ${time}`;
}

const plain = /^[\x20-\x7e\n]*$/;
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}]/gu;
const joinsEmoji = /\p{So}|\p{Sk}|\ufe0f/u;
const joinsLetters = /[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gujarati}\p{Script=Gurmukhi}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Oriya}\p{Script=Sinhala}\p{Script=Tamil}\p{Script=Telugu}]/u;

/** Returns a text in which characters that cannot be seen, or that change the order of others, are
 * escapes such as \u202e: a command must not look like another one. Parts of an emoji or of a joined
 * letter stay, as in the texts of the command line. @param {string} text */
export function visible(text) {
	if (plain.test(text)) return text;
	return text.replace(hidden, (c, at) => {
		if (c === '\n' || c === '\t' || c === '\r') return c;
		const joiner = c === '\u200d' || c === '\u200c';
		if (joiner || /[\ufe00-\ufe0f]/.test(c)) {
			const before = text.slice(/[\udc00-\udfff]/.test(text.charAt(at - 1)) ? at - 2 : at - 1, at);
			if (c !== '\u200c' && joinsEmoji.test(before) || joiner && joinsLetters.test(before)) return c;
		}
		return '\\u' + /** @type {number} */ (c.codePointAt(0)).toString(16).padStart(4, '0');
	});
}

const invisible = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]|(?<=[\u0000-\u007f])[\u200c\u200d]/gu;

/** Splits a text at characters that are not visible: control characters, joiners in plain text, and those
 * that change the order of others. Every second part is such a character as an escape, such as \u202e.
 * @param {string} text @returns {string[]} */
export function splitInvisible(text) {
	const parts = [];
	let end = 0;
	for (const m of text.matchAll(invisible)) {
		parts.push(text.slice(end, m.index), '\\u' + /** @type {number} */ (m[0].codePointAt(0)).toString(16).padStart(4, '0'));
		end = m.index + m[0].length;
	}
	return [...parts, text.slice(end)];
}
