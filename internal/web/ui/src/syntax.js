// Simple colors for source code: comments, strings, keywords and numbers. It knows families of
// languages, not languages, so a color can be wrong; the text never is.

/** A part of a line: its class ("c" comment, "s" string, "k" keyword, "n" number, "" other) and its text.
 * @typedef {[string, string]} Part */

/** What a line ends within: the text that ends it, and its class. @typedef {{end: string, kind: string} | null} Open */

/** @typedef {{re: RegExp, words: Set<string>, blocks: Record<string, string>, line: string[]}} Language */

const words = (text) => new Set(text.split(' '));
const cWords = words('abstract as async await bool boolean break byte case catch chan char class const continue crate def default defer delete do double dyn else enum export extends extern fallthrough false final finally float fn for from func function go goto if impl implements import in instanceof int interface internal is let long loop map match mod move mut namespace new nil null object of operator override package private protected pub public range readonly ref return select self short sizeof static string struct super switch template this throw throws trait true try type typedef typeof undefined union unsafe unsigned use using val var virtual void volatile when where while yield');
const hashWords = words('and as assert async await begin break case class continue def del do done echo elif else elsif end esac except exec exit export false False fi finally for from function global if import in is lambda let local match module next nil None nonlocal not null or pass raise require rescue return self set shift source switch then True true try type unless until unset use var when where while with yield');
const dashWords = words('add all alter and as asc begin between by case cast check column commit constraint create cross default delete desc distinct do drop else elseif end exists false foreign from full function group having if in index inner insert intersect into is join key left like limit local nil not null offset on or order outer primary references repeat return right rollback select set table then true union unique until update using values view when where while with');
const none = words('');

const family = {
	c: { line: ['//'], blocks: { '/*': '*/', '`': '`' }, quotes: `"'`, words: cWords },
	rust: { line: ['//'], blocks: { '/*': '*/' }, quotes: '"', words: cWords },
	css: { line: [], blocks: { '/*': '*/' }, quotes: `"'`, words: none },
	python: { line: ['#'], blocks: { '"""': '"""', "'''": "'''" }, quotes: `"'`, words: hashWords },
	hash: { line: ['#'], blocks: {}, quotes: `"'`, words: hashWords },
	dash: { line: ['--'], blocks: { '/*': '*/', '--[[': ']]' }, quotes: `"'`, words: dashWords },
	markup: { line: [], blocks: { '<!--': '-->' }, quotes: '"', words: none },
	json: { line: [], blocks: {}, quotes: '"', words: words('true false null') },
};

const extensions = {
	c: 'c cc cpp cs cxx dart go gradle groovy h hpp java js jsx kt kts m mjs cjs mts php proto scala swift ts tsx zig v less scss',
	rust: 'rs', css: 'css', python: 'py pyi', dash: 'sql lua hs elm', markup: 'html htm xml svg vue md', json: 'json jsonc webmanifest',
	hash: 'sh bash zsh fish rb pl pm r toml yaml yml ini cfg conf env tf hcl nix ex exs mk cmake dockerfile makefile gitignore gitattributes properties jl ps1 txtar',
};

/** @type {Map<string, Language>} */
const languages = new Map();
for (const [name, list] of Object.entries(extensions)) {
	const f = family[name];
	const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
	const begins = [...Object.keys(f.blocks), ...f.line].sort((a, b) => b.length - a.length).map(escape);
	const strings = [...f.quotes].map((q) => `${q}(?:\\\\.|[^\\\\${q}])*${q}?`);
	const re = new RegExp(`(${begins.join('|') || '(?!)'})|(${strings.join('|')})|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`, 'g');
	for (const extension of list.split(' ')) languages.set(extension, { re, words: f.words, blocks: f.blocks, line: f.line });
}

/** Returns the language of a file, undefined if it is not known. @param {string} path @returns {Language | undefined} */
export function languageOf(path) {
	const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase().replace(/"$/, '');
	return languages.get(name.slice(name.lastIndexOf('.') + 1));
}

const longest = 2000; // characters of a line with colors

/** Splits a line into parts. open is what the line before ends within.
 * @param {string} text @param {Language | undefined} language @param {Open} open @returns {{parts: Part[], open: Open}} */
export function tokenize(text, language, open) {
	if (!language || text.length > longest) return { parts: [['', text]], open };
	/** @type {Part[]} */
	const parts = [];
	const push = (kind, part) => {
		if (!part) return;
		const last = parts[parts.length - 1];
		if (last && last[0] === kind) last[1] += part;
		else parts.push([kind, part]);
	};
	let at = 0;
	while (at < text.length) {
		if (open) {
			const end = text.indexOf(open.end, at);
			const after = end < 0 ? text.length : end + open.end.length;
			push(open.kind, text.slice(at, after));
			at = after;
			if (end >= 0) open = null;
			continue;
		}
		language.re.lastIndex = at;
		const m = language.re.exec(text);
		if (!m) {
			push('', text.slice(at));
			break;
		}
		push('', text.slice(at, m.index));
		at = m.index + m[0].length;
		if (m[1] && language.line.includes(m[1])) {
			push('c', text.slice(m.index));
			break;
		}
		if (m[1]) {
			open = { end: language.blocks[m[1]], kind: /["'`]/.test(m[1]) ? 's' : 'c' };
			push(open.kind, m[0]);
		} else if (m[2]) push('s', m[0]);
		else if (m[3]) push('n', m[0]);
		else push(language.words.has(m[0]) || language.words.has(m[0].toLowerCase()) && language.words === dashWords ? 'k' : '', m[0]);
	}
	return { parts, open };
}
