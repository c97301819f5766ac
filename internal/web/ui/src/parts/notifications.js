// Notifications of this device: whether it gets them, and what a person can do.
import { html, signal, useEffect } from '../core.js';
import { may, post } from '../api.js';
import { plural } from '../format.js';
import { loadPush, pushError, pushSink, pushState, turnOff, turnOn } from '../push.js';
import { attempt, notify } from './dialog.js';

const busy = signal(false);

/** Runs an action with the buttons off. @param {() => Promise<any>} action */
async function run(action) {
	if (busy.value) return;
	busy.value = true;
	await action();
	busy.value = false;
}

/** Sends a test message to the devices. */
const test = () => attempt(async () => {
	const results = await post('/api/v1/notifications/test', { sink: pushSink.value });
	const failed = results.filter((r) => r.error);
	if (failed.length === 0) notify(`A test message was sent to ${plural(results.length, 'device')}`);
	for (const r of failed) notify(`${r.device || r.sink}: ${r.error}`, 'fail');
});

/** What a person reads in each state. */
const words = {
	loading: 'Loading',
	unsupported: 'This browser has no push notifications.',
	install: 'On an iPhone or iPad, add this page to the Home Screen first (Share, then Add to Home Screen), and open it from there.',
	insecure: 'Notifications need an address that begins with https.',
	blocked: 'Notifications of this page are blocked. Allow them in the settings of the browser, then load the page again.',
	off: 'This device gets no notifications.',
	on: 'This device gets notifications.',
};

export function Notifications() {
	useEffect(() => {
		loadPush();
	}, []);
	const state = pushState.value;
	return html`
		<section class="card notifications"><h2>Notifications</h2>
			<p class=${state === 'failed' ? 'tone-fail' : state === 'on' ? '' : state === 'loading' ? 'loading' : 'muted'} role="status">${state === 'no-sink'
				? html`To get notifications on this device, add to city.toml: <code>[[notify]]</code> with <code>name = "phone"</code> and <code>type = "webpush"</code>.`
				: state === 'failed' ? pushError.value : words[state]}</p>
			${(state === 'off' || state === 'failed') && html`<div class="card-buttons"><button disabled=${busy.value} onClick=${() => run(turnOn)}>Notify this device</button></div>`}
			${state === 'on' && html`<div class="card-buttons">
				${may('manage') && html`<button disabled=${busy.value} onClick=${() => run(test)}>Send a test message</button>`}
				<button disabled=${busy.value} onClick=${() => run(turnOff)}>Turn off</button></div>`}
		</section>`;
}
