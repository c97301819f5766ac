// Unified diffs as rows.
import { languageOf, tokenize } from './syntax.js';

/**
 * @typedef {object} Row
 * @property {'hunk' | 'add' | 'del' | 'same' | 'note'} kind
 * @property {number} [old] the number of the line in the old file
 * @property {number} [now] the number of the line in the new file
 * @property {import('./syntax.js').Part[]} parts
 */

const sides = { '+': 'add', '-': 'del', ' ': 'same' };

/** Returns the rows of the diff of one file. @param {string} text @param {string} path @returns {Row[]} */
export function parseDiff(text, path) {
	/** @type {Row[]} */
	const rows = [];
	const language = languageOf(path);
	let old = 0, now = 0, inHunk = false;
	/** @type {Record<string, import('./syntax.js').Open>} what each side ends within */
	let open = {};
	for (const line of text.replace(/\n$/, '').split('\n')) {
		if (line.startsWith('diff --git ')) {
			inHunk = false;
			continue;
		}
		const hunk = line.match(/^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/);
		if (hunk) {
			[old, now, inHunk, open] = [Number(hunk[1]), Number(hunk[2]), true, {}];
			rows.push({ kind: 'hunk', parts: [['', `Line ${now || old}${hunk[3] ? `: ${hunk[3]}` : ''}`]] });
		} else if (!inHunk) {
			if (/^(old mode|new mode|new file mode 1[02]0[07][05][05]|Binary files)/.test(line) && !line.endsWith(' 100644')) rows.push({ kind: 'note', parts: [['', noteOf(line)]] });
		} else if (line.startsWith('\\')) {
			rows.push({ kind: 'note', parts: [['', line.slice(2)]] });
		} else {
			const kind = /** @type {'add' | 'del' | 'same'} */ (sides[line[0]] ?? 'same');
			const done = tokenize(line.slice(1), language, open[kind === 'del' ? 'del' : 'add'] ?? null);
			if (kind !== 'add') open.del = done.open;
			if (kind !== 'del') open.add = done.open;
			rows.push({ kind, old: kind === 'add' ? undefined : old++, now: kind === 'del' ? undefined : now++, parts: done.parts });
		}
	}
	return rows;
}

/** Returns a line of the head of a diff for people. @param {string} line */
function noteOf(line) {
	if (line.startsWith('Binary')) return 'Binary file: its content is not shown';
	const mode = line.slice(line.lastIndexOf(' ') + 1);
	const what = { 100755: 'executable', 100644: 'not executable', 120000: 'symbolic link' }[mode] ?? mode;
	return `${line.startsWith('old') ? 'Before' : 'Now'}: ${what}`;
}
