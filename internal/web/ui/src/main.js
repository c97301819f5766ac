// The start of the page.
import 'xterm.css';
import './style.css';
import { effect, html, render } from './core.js';
import { device, loadDevice } from './api.js';
import { showCount } from './favicon.js';
import { startClock } from './format.js';
import { startKeys } from './keys.js';
import { startPush } from './push.js';
import { needCount, run, status } from './store.js';
import { App } from './shell.js';

startClock();
startKeys();
startPush();

/** @type {AbortController | undefined} */
let running;
effect(() => {
	const signedIn = !!device.value && !device.value.start;
	if (signedIn && !running) {
		running = new AbortController();
		const mine = running;
		queueMicrotask(() => run(mine.signal));
	} else if (!signedIn && running) {
		running.abort();
		running = undefined;
	}
});
effect(() => showCount(device.value ? needCount.value : 0, status.value ? `${status.value.city} · gc` : 'gc'));

const app = document.getElementById('app');
if (app) render(html`<${App}/>`, app);

async function start() {
	for (;;) {
		try {
			await loadDevice();
			return;
		} catch {
			await new Promise((resolve) => setTimeout(resolve, 1000));
		}
	}
}
start();
