// Questions: their groups and the parts of their text.

/** @typedef {import('./types').Pending} Pending */
/** @typedef {{id: string, questions: Pending[], first: Pending}} Group */

/** Returns all that decides whether two questions are equal. Two questions with the same text and
 * other options are not equal. A question that is only known from its event may be cut off, so it is
 * equal to none. @param {Pending & {partial?: boolean}} q */
function identity(q) {
	if (q.partial) return q.id;
	return JSON.stringify([q.kind, q.prompt, q.options ?? [], q.tool ?? '', q.input ?? '', !!q.no_text, q.suggested ?? '', q.guard?.action ?? '', q.guard?.reason ?? '', q.guard?.parts ?? []]);
}

/** Groups equal questions of several agents, the oldest first. @param {Pending[]} questions @returns {Group[]} */
export function groupQuestions(questions) {
	/** @type {Map<string, Group>} */
	const groups = new Map();
	for (const q of [...questions].sort((a, b) => a.since.localeCompare(b.since) || a.id.localeCompare(b.id))) {
		const key = identity(q);
		const group = groups.get(key);
		if (group) group.questions.push(q);
		else groups.set(key, { id: q.id, questions: [q], first: q });
	}
	return [...groups.values()];
}

/** @typedef {{kind: 'text' | 'code' | 'diff' | 'ask', text: string}} Block */

/** Splits the text of a question into paragraphs, code and the question itself. @param {string} prompt @returns {Block[]} */
export function blocksOf(prompt) {
	/** @type {Block[]} */
	const blocks = [];
	let lines = [];
	let code = false;
	const flush = () => {
		while (lines.length && !lines[0].trim()) lines.shift();
		while (lines.length && !lines[lines.length - 1].trim()) lines.pop();
		if (lines.length) {
			const text = code ? outdent(lines) : lines.join('\n').trim();
			blocks.push({ kind: code ? (isDiff(lines) ? 'diff' : 'code') : 'text', text });
		}
		lines = [];
	};
	for (const line of prompt.replace(/\t/g, '    ').split('\n')) {
		const indented = /^ {2,}\S/.test(line);
		if (line.trim() && indented !== code) {
			flush();
			code = indented;
		} else if (!line.trim() && !code) {
			flush();
		}
		lines.push(line);
	}
	flush();
	const last = blocks[blocks.length - 1];
	if (last && last.kind === 'text') last.kind = 'ask';
	return blocks;
}

/** @param {string[]} lines */
function outdent(lines) {
	const depth = Math.min(...lines.filter((l) => l.trim()).map((l) => l.search(/\S/)));
	return lines.map((l) => l.slice(depth)).join('\n');
}

/** @param {string[]} lines */
function isDiff(lines) {
	const changed = lines.filter((l) => /^\s*(\d+\s+)?[+-](\s|\S)/.test(l)).length;
	return changed > 1 && changed * 3 >= lines.length;
}

/** Returns what a tool is to do: a command, a change of a file, or its input as text.
 * @param {string | undefined} input @returns {Block[]} */
export function inputBlocks(input) {
	if (!input) return [];
	let value;
	try {
		value = JSON.parse(input);
	} catch {
		return [{ kind: 'code', text: input }];
	}
	if (!value || typeof value !== 'object') return [{ kind: 'code', text: String(value) }];
	if (typeof value.command === 'string') return [{ kind: 'code', text: value.command }];
	/** @type {Block[]} */
	const blocks = [];
	const file = value.file_path ?? value.path;
	if (file) blocks.push({ kind: 'text', text: String(file) });
	if (typeof value.old_string === 'string' && typeof value.new_string === 'string') {
		const lines = [...value.old_string.split('\n').map((l) => '- ' + l), ...value.new_string.split('\n').map((l) => '+ ' + l)];
		return [...blocks, { kind: 'diff', text: lines.join('\n') }];
	}
	if (typeof value.content === 'string') return [...blocks, { kind: 'code', text: value.content }];
	return [{ kind: 'code', text: JSON.stringify(value, null, 2) }];
}
