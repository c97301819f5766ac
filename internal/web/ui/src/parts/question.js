// The card of a question, or of equal questions of several agents.
import { html, useRef, useState } from '../core.js';
import { may } from '../api.js';
import { kindWord, waitsInQueue } from '../condition.js';
import { plural } from '../format.js';
import { blocksOf, inputBlocks } from '../question.js';
import { href } from '../route.js';
import { allowAlways, prompts, respond } from '../store.js';
import { Age, Until } from './age.js';
import { notify } from './dialog.js';
import { Icon } from './icon.js';

/** @param {{group: import('../question.js').Group, alone?: boolean, line?: boolean}} p alone: on the page of its agent; line: as one line, which keeps what a person began to answer */
export function QuestionCard({ group, alone = false, line = false }) {
	const q = group.first;
	const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
	const [text, setText] = useState('');
	const [left, setLeft] = useState(/** @type {string[]} */ ([])); // questions that a person took out of the group
	const [known, setKnown] = useState(/** @type {string[]} */ ([])); // those of the group when the person began to answer; later ones are not answered
	const [sending, setSending] = useState(false);
	const [error, setError] = useState('');
	const card = useRef(null);
	const options = q.options ?? [];
	const begun = chosen !== null || text !== '';
	const selected = group.questions.filter((x) => !left.includes(x.id) && (!begun || known.includes(x.id)));
	const several = group.questions.length > 1;
	const answerable = may('answer') && (options.length > 0 || !q.no_text);
	const tool = inputBlocks(q.input);
	const blocks = blocksOf(q.prompt);
	const title = `question-${q.id}`;

	const rules = may('manage') && selected.length > 0 && selected.every((x) => x.guard?.always) ? selected.map((x) => x.guard.always) : [];
	const submit = async (answer) => {
		if (sending || selected.length === 0) return;
		setSending(true);
		setError('');
		const neighbor = nextCard(card.current);
		const errors = answer.always ? await allowAlways(selected) : await respond(selected, answer);
		setSending(false);
		const names = selected.filter((x) => !errors.has(x.id)).map((x) => x.agent);
		if (names.length > 0) notify(`Answered ${names.join(', ')}: ${answer.always ? 'always allowed from now on' : answer.option === undefined ? 'your text' : answer.option}`);
		if (errors.size > 0) {
			setError([...errors.values()].join(' '));
			if (!card.current?.isConnected) notify([...errors.values()][0], 'fail');
		}
		requestAnimationFrame(() => document.activeElement === document.body && neighbor?.isConnected && neighbor.focus({ preventScroll: true }));
	};
	const begin = () => begun || setKnown(group.questions.map((x) => x.id));
	const choose = (option) => {
		begin();
		setChosen(option);
	};
	const write = (value) => {
		begin();
		setText(value);
	};
	const toggle = (id) => {
		if (selected.some((x) => x.id === id)) return setLeft([...left, id]);
		setLeft(left.filter((x) => x !== id));
		setKnown([...known, id]);
	};
	const onKey = (e) => {
		if (e.target.tagName === 'TEXTAREA' || e.ctrlKey || e.metaKey || e.altKey) return;
		const n = Number(e.key);
		if (answerable && n >= 1 && n <= options.length) {
			choose(options[n - 1]);
			card.current.querySelectorAll('.option')[n - 1]?.focus();
			e.preventDefault();
			e.stopPropagation();
		} else if (e.key === 'Enter' && chosen !== null && e.target.getAttribute('aria-pressed') === 'true') {
			submit({ option: chosen });
			e.preventDefault();
			e.stopPropagation();
		} else if (e.key === 'Escape' && chosen !== null) {
			choose(null);
			card.current.focus();
			e.stopPropagation();
		}
	};
	const sendChosen = () => chosen !== null && submit({ option: chosen });

	if (line) return html`<div class="banner tone-need"><${Icon} name="need"/><span>${kindWord(q.kind)}: ${blocks.at(-1)?.text.split('\n')[0]}</span><a class="button" href=${href('agent', q.agent)}>Answer</a></div>`;
	return html`
		<article class="card question" ref=${card} tabindex="0" data-item data-question=${q.id} data-agent=${q.agent} aria-labelledby=${title} onKeyDown=${onKey}>
			<header>
				<h2 class="kind" id=${title}><${Icon} name="need"/> <span>${kindWord(q.kind)}</span>${q.tool ? html` <span class="tool">${q.tool}</span>` : null}
					<span class="hidden"> of ${group.questions.map((x) => x.agent).join(', ')}</span></h2>
				<span class="age"><${Age} at=${q.since} suffix=" ago"/></span>
			</header>
			${!alone && html`<${Askers} group=${group} selected=${selected} toggle=${toggle}/>`}
			<div class="question-text">
				${tool.map((b) => html`<${BlockView} block=${b}/>`)}
				${blocks.map((b) => tool.some((t) => t.text === b.text) ? null : html`<${BlockView} block=${b}/>`)}
			</div>
			${q.guard && html`<${Reading} reading=${q.guard}/>`}
			${answerable ? html`
				${options.length > 0 && html`
					<div class="options ${options.every((o) => o.length < 18) ? 'short' : ''}" role="group" aria-label="Answers">
						${options.map((o, i) => html`
							<button class="option" key=${i} aria-pressed=${chosen === o} disabled=${sending} onClick=${() => choose(chosen === o ? null : o)}>
								<kbd aria-hidden="true">${i + 1}</kbd><span>${o}</span>
							</button>`)}
					</div>`}
				${!q.no_text && chosen === null && html`
					<div class="free">
						<label class="hidden" for=${title + '-text'}>Your answer as text</label>
						<textarea id=${title + '-text'} rows=${options.length ? 1 : 2} placeholder=${options.length ? 'Or write an answer' : 'Write an answer'} value=${text} onInput=${(e) => write(e.target.value)}
							onKeyDown=${(e) => e.key === 'Enter' && (e.ctrlKey || e.metaKey) && text.trim() && submit({ text })}></textarea>
						${text.trim() && html`<button class="primary" disabled=${sending} onClick=${() => submit({ text })}>Send text${several ? ` to ${plural(selected.length, 'agent')}` : ''}</button>`}
					</div>`}
				${chosen !== null && html`
					<div class="send">
						<button class="primary" disabled=${sending || selected.length === 0} onClick=${sendChosen}>
							${sending ? 'Sending' : html`Send <strong>${shorten(chosen)}</strong>${several ? ` to ${plural(selected.length, 'agent')}` : ''}`}
						</button>
						<button class="plain" onClick=${() => choose(null)}>Cancel</button>
					</div>`}` : html`
				<p class="question-note">${may('answer') ? 'Only a person at the terminal can answer this.' : 'This device may not answer.'} <a href=${href('agent', q.agent)}>Open the terminal</a></p>`}
			${answerable && chosen === null && rules.length > 0 && html`<${Always} rules=${rules} sending=${sending} begin=${begin} submit=${() => submit({ always: true })}/>`}
			${error && html`<p class="error" role="alert"><${Icon} name="fail" size=${14}/> ${error}</p>`}
			<${Facts} q=${q}/>
		</article>`;
}

/** Returns the card after or before this one. @param {HTMLElement | null} card */
function nextCard(card) {
	const cards = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-question]')]);
	const at = card ? cards.indexOf(card) : -1;
	return cards[at + 1] ?? cards[at - 1] ?? document.getElementById('page-title');
}

/** @param {string} text */
function shorten(text) {
	return text.length > 40 ? text.slice(0, 38) + '…' : text;
}

/** Shows who asks, and what each was asked to do. */
function Askers({ group, selected, toggle }) {
	const several = group.questions.length > 1;
	return html`
		<ul class="askers">
			${group.questions.map((x) => {
				const p = prompts.value.get(x.agent);
				const task = p && !waitsInQueue(p.state) ? p.text ?? '' : ''; // a prompt that waits is not what it asks about
				return html`
					<li key=${x.id}>
						${several && html`<label class="asker-mark"><input type="checkbox" checked=${selected.includes(x)} onChange=${() => toggle(x.id)} aria-label=${'Answer ' + x.agent}/></label>`}
						<a class="agent-name" href=${href('agent', x.agent)}>${x.agent}</a>
						${task && html`<span class="task" title=${task}>${task.split('\n')[0]}</span>`}
					</li>`;
			})}
		</ul>`;
}

/** @param {{block: import('../question.js').Block}} p */
function BlockView({ block }) {
	const text = block.text;
	if (block.kind === 'code') return html`<pre class="code" tabindex="0" role="region" aria-label="Command or input"><code>${text}</code></pre>`;
	if (block.kind === 'diff') {
		return html`<pre class="code diff" tabindex="0" role="region" aria-label="Change"><code>${text.split('\n').map((l) => html`<span class=${/^\s*(\d+\s+)?\+/.test(l) ? 'added' : /^\s*(\d+\s+)?-/.test(l) ? 'removed' : ''}>${l + '\n'}</span>`)}</code></pre>`;
	}
	return html`<p class=${block.kind}>${text}</p>`;
}

const verdicts = { allow: ['ok', 'Allowed'], ask: ['need', 'Asks a person'], deny: ['fail', 'Denied'] };

/** Shows how the guard reads a call: what the call would do, and what the rules say.
 * @param {{reading: import('../types').GuardReading}} p */
function Reading({ reading: g }) {
	const parts = g.parts.length > 0 ? g.parts : g.does.map((text) => ({ text, action: '', rule: '' }));
	return html`
		<section class="reading" aria-label="The guard's reading">
			<p class="muted">What it would do:</p>
			<ul>${parts.map((p) => {
				const verdict = verdicts[p.action];
				return html`<li><span>${p.text}</span>${verdict && (p.action !== 'allow' || p.rule) ? html` <span class="verdict tone-${verdict[0]}"><${Icon} name=${verdict[0]} size=${12}/> ${verdict[1]}${p.rule ? html` <span class="rule">${p.rule}</span>` : null}</span>` : null}</li>`;
			})}</ul>
			<p>${g.reason}</p>
		</section>`;
}

/** Shows the rule that would allow the call always, and writes it after a confirmation.
 * @param {{rules: import('../types').GuardRule[], sending: boolean, begin: () => void, submit: () => void}} p */
function Always({ rules, sending, begin, submit }) {
	const [open, setOpen] = useState(false);
	const show = () => {
		begin();
		setOpen(true);
	};
	if (!open) return html`<p class="always"><button onClick=${show}>Allow always…</button></p>`;
	return html`
		<section class="always preview" aria-label="Rule to be written">
			<p>${rules.length === 1 ? 'This rule is' : 'These rules are'} added to ${rules[0].file}. From then on gc allows exactly this call without asking; rules that deny stay stronger.</p>
			${rules.map((r) => html`
				<dl>
					<div><dt>Agent</dt><dd>${r.agent}</dd></div>
					<div><dt>Tool</dt><dd>${r.tool}</dd></div>
					<div><dt>Exactly</dt><dd><code>${r.exact}</code></dd></div>
					<div><dt>Action</dt><dd>${r.action}</dd></div>
				</dl>
				<pre class="code" tabindex="0" role="region" aria-label=${'Rule for ' + r.agent}><code>${r.text}</code></pre>`)}
			<div class="send">
				<button class="primary" disabled=${sending} onClick=${submit}>${sending ? 'Writing' : `Write ${rules.length === 1 ? 'the rule' : `${rules.length} rules`} and allow`}</button>
				<button class="plain" onClick=${() => setOpen(false)}>Cancel</button>
			</div>
		</section>`;
}

/** @param {{q: import('../types').Pending}} p */
function Facts({ q }) {
	const policy = { deny: 'denied', answer: `answered with “${q.default ?? ''}”`, escalate: 'next reminder' }[q.policy];
	if (!q.why && !policy && !q.until) return null;
	return html`
		<footer class="facts">
			${q.why && html`<span>${q.why}</span>`}
			${policy && q.deadline && Date.parse(q.deadline) > Date.now() && html`<span>${policy} <${Until} at=${q.deadline}/></span>`}
			${q.until && html`<span class="last-call">the agent stops waiting <${Until} at=${q.until}/></span>`}
		</footer>`;
}
