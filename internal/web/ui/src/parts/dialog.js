// Dialogs and short messages. There is one of each at a time.
import { html, signal, useLayoutEffect, useRef, useState } from '../core.js';
import { Icon } from './icon.js';

/**
 * @typedef {object} Dialog
 * @property {string} title
 * @property {any} [body]
 * @property {string} yes the label of the button that confirms
 * @property {boolean} [danger]
 * @property {{label: string, value?: string}} [input] asks for a text
 * @property {(text: string) => void} resolve
 * @property {() => void} reject
 */

/** @type {import('@preact/signals').Signal<Dialog | null>} */
const dialog = signal(null);
/** @type {import('@preact/signals').Signal<{id: number, tone: string, text: string}[]>} */
const messages = signal([]);
let lastMessage = 0;

/** Asks for a confirmation. Resolves with true or false.
 * @param {{title: string, body?: any, yes: string, danger?: boolean}} options @returns {Promise<boolean>} */
export function confirm(options) {
	return new Promise((resolve) => {
		dialog.value = { ...options, resolve: () => resolve(true), reject: () => resolve(false) };
	});
}

/** Asks for a text. Resolves with null if the person cancels.
 * @param {{title: string, body?: any, yes: string, input: {label: string, value?: string}}} options @returns {Promise<string | null>} */
export function ask(options) {
	return new Promise((resolve) => {
		dialog.value = { ...options, resolve, reject: () => resolve(null) };
	});
}

/** Reports whether a dialog is open. */
export const dialogOpen = () => dialog.value !== null;

/** Shows a short message. @param {string} text @param {'ok' | 'fail'} [tone] */
export function notify(text, tone = 'ok') {
	const id = ++lastMessage;
	messages.value = [...messages.value.slice(-2), { id, tone, text }];
	setTimeout(() => dismiss(id), tone === 'fail' ? 9000 : 4000);
}

/** Does what a person has asked for, and shows why it failed. @param {() => Promise<any>} act */
export async function attempt(act) {
	try {
		await act();
	} catch (problem) {
		notify(problem.message, 'fail');
	}
}

/** @param {number} id */
function dismiss(id) {
	messages.value = messages.value.filter((m) => m.id !== id);
}

/** The place of the dialog and the messages. */
export function Overlays() {
	const open = dialog.value;
	return html`
		${open && html`<${DialogBox} key=${open} dialog=${open}/>`}
		<div class="messages" role="status" aria-live="polite">
			${messages.value.map((m) => html`
				<div class="message tone-${m.tone}" key=${m.id}>
					<${Icon} name=${m.tone}/><span>${m.text}</span>
					<button class="plain" aria-label="Close message" onClick=${() => dismiss(m.id)}><${Icon} name="close" size=${12}/></button>
				</div>`)}
		</div>`;
}

/** @param {{dialog: Dialog}} p */
function DialogBox({ dialog: d }) {
	const box = useRef(null);
	const [text, setText] = useState(d.input?.value ?? '');
	useLayoutEffect(() => {
		const before = document.activeElement;
		box.current?.showModal();
		return () => before instanceof HTMLElement && before.isConnected && before.focus();
	}, []);
	const end = (yes) => {
		dialog.value = null;
		if (yes) d.resolve(text);
		else d.reject();
	};
	const submit = (e) => {
		e.preventDefault();
		if (!d.input || text.trim()) end(true);
	};
	return html`
		<dialog ref=${box} aria-labelledby="dialog-title" onCancel=${(e) => { e.preventDefault(); end(false); }} onClick=${(e) => e.target === box.current && end(false)}>
			<form onSubmit=${submit}>
				<h2 id="dialog-title">${d.title}</h2>
				${d.body && html`<div class="dialog-body">${d.body}</div>`}
				${d.input && html`
					<label class="field"><span>${d.input.label}</span>
						<textarea rows="4" autofocus value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${(e) => e.key === 'Enter' && (e.ctrlKey || e.metaKey) && submit(e)}></textarea>
					</label>`}
				<div class="dialog-buttons">
					<button type="button" onClick=${() => end(false)} autofocus=${!d.input}>Cancel</button>
					<button type="submit" class=${d.danger ? 'danger' : 'primary'}>${d.yes}</button>
				</div>
			</form>
		</dialog>`;
}
