// What a person does with agents. What stops work asks first, and names the agents.
import { html } from './core.js';
import { agentPath, post } from './api.js';
import { ask, confirm, notify } from './parts/dialog.js';
import { plural } from './format.js';
import { findAgent, newKey, sendPrompt } from './store.js';

/** @param {string[]} names */
function listOf(names) {
	return html`<ul class="names">${names.map((n) => html`<li>${n}</li>`)}</ul>`;
}

/** @param {string[]} names */
function who(names) {
	return names.length === 1 ? names[0] : plural(names.length, 'agent');
}

/** Calls an operation for each agent and reports the results in one message.
 * @param {string[]} names @param {string} done @param {(name: string) => Promise<any>} act */
async function each(names, done, act) {
	/** @type {string[]} */
	const errors = [];
	await Promise.all(names.map((name) => act(name).catch((error) => errors.push(`${name}: ${error.message}`))));
	if (errors.length < names.length) notify(`${done} ${who(names.length === 1 ? names : names.slice(errors.length))}`);
	if (errors.length > 0) notify(errors.slice(0, 3).join(' '), 'fail');
}

/** Returns a request for the instance that the person saw. @param {string} name */
function present(name) {
	const instance = findAgent(name)?.instance;
	return instance ? { instance } : {};
}

/** Asks for a prompt and sends it. @param {string[]} names */
export async function prompt(names) {
	const text = await ask({
		title: `Send a prompt to ${who(names)}`, body: names.length > 1 ? listOf(names) : undefined, yes: 'Send',
		input: { label: 'Prompt' },
	});
	if (text) await each(names, 'Prompt stored for', (name) => sendPrompt(name, text, newKey()));
}

/** @param {string[]} names */
export async function interrupt(names) {
	const yes = await confirm({
		title: `Interrupt ${who(names)}?`, body: html`${names.length > 1 && listOf(names)}<p>The turn in progress ends. The agent keeps running and waits for a prompt.</p>`, yes: 'Interrupt',
	});
	if (yes) await each(names, 'Interrupted', (name) => post(agentPath(name, 'interrupt'), { ...present(name), in_turn: true }));
}

/** @param {string[]} names */
export async function restart(names) {
	const yes = await confirm({
		title: `Restart ${who(names)}?`, body: html`${names.length > 1 && listOf(names)}<p>The turn in progress ends. The agent starts again at once.</p>`, yes: names.length > 1 ? `Restart ${who(names)}` : 'Restart', danger: true,
	});
	if (yes) await each(names, 'Restarted', (name) => post('/api/v1/restart', { targets: [name] }));
}

/** @param {string[]} names */
export async function stop(names) {
	const yes = await confirm({
		title: `Stop ${who(names)}?`, body: html`${names.length > 1 && listOf(names)}<p>The processes end now. An agent stays stopped until you start it.</p>`, yes: names.length > 1 ? `Stop ${who(names)}` : 'Stop', danger: true,
	});
	if (yes) await each(names, 'Stopped', (name) => post(agentPath(name, 'suspend'), { ...present(name), reason: 'stopped in the web console' }));
}

/** Starts agents that do not run, whatever the reason is. @param {string[]} names */
export async function start(names) {
	await each(names, 'Started', (name) => {
		switch (findAgent(name)?.state) {
		case 'suspended': return post(agentPath(name, 'resume'));
		case 'asleep': return post(agentPath(name, 'wake'));
		}
		return post('/api/v1/restart', { targets: [name], not_running: true });
	});
}

/** Tries the next prompt of an agent at once although an obstacle delays it. @param {string} name */
export const resume = (name) => each([name], 'Resumed', () => post(agentPath(name, 'resume')));
