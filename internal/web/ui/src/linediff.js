// The difference between two texts, by lines.

const maxCells = 4e6; // of the table; a larger difference is shown as one removed and one added block
const around = 3; // equal lines that are shown beside a difference

/** Returns the changed lines of two texts with some equal lines around them, in order.
 * @param {string} before @param {string} after @returns {{sign: '+' | '-' | ' ', text: string}[]} */
export function diffLines(before, after) {
	const a = before.split('\n'), b = after.split('\n');
	let start = 0;
	while (start < a.length && start < b.length && a[start] === b[start]) start++;
	let end = 0;
	while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
	if (start + end === a.length && a.length === b.length) return [];
	const equal = (list) => list.map((text) => ({ sign: /** @type {' '} */ (' '), text }));
	return [...equal(a.slice(Math.max(0, start - around), start)),
		...compare(a.slice(start, a.length - end), b.slice(start, b.length - end)),
		...equal(a.slice(a.length - end, a.length - end + around))];
}

/** @param {string[]} a @param {string[]} b @returns {{sign: '+' | '-' | ' ', text: string}[]} */
function compare(a, b) {
	/** @type {{sign: '+' | '-' | ' ', text: string}[]} */
	const out = [];
	const n = a.length, m = b.length;
	if (n * m > maxCells) return [...a.map((text) => ({ sign: /** @type {'-'} */ ('-'), text })), ...b.map((text) => ({ sign: /** @type {'+'} */ ('+'), text }))];
	const width = m + 1;
	const common = new Uint32Array((n + 1) * width); // the longest common part of a[i:] and b[j:]
	for (let i = n - 1; i >= 0; i--) {
		for (let j = m - 1; j >= 0; j--) common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
	}
	let i = 0, j = 0;
	while (i < n || j < m) {
		if (i < n && j < m && a[i] === b[j]) {
			out.push({ sign: ' ', text: a[i] });
			i++;
			j++;
		} else if (j < m && (i === n || common[i * width + j + 1] > common[(i + 1) * width + j])) out.push({ sign: '+', text: b[j++] });
		else out.push({ sign: '-', text: a[i++] });
	}
	return out;
}
