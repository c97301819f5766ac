// Notifications of this device by Web Push: the subscription of the browser, and the messages of the service worker.
import { effect, signal } from './core.js';
import { call, device, get, send } from './api.js';
import { pending, reloads } from './store.js';

/** Whether this device gets notifications. "loading": that is not known yet. The other words say what a person can do.
 * @type {import('@preact/signals').Signal<'loading' | 'unsupported' | 'install' | 'insecure' | 'no-sink' | 'blocked' | 'off' | 'on' | 'failed'>} */
export const pushState = signal('loading');

/** Why pushState is "failed". */
export const pushError = signal('');

/** The first sink of city.toml that notifies devices. */
export const pushSink = signal('');

/** The public key of the city with which this browser subscribes. */
let key = '';

const supported = () => 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;

/** Reports whether this is an iPhone or iPad: there only a page on the Home Screen has push notifications. */
const onIOS = () => /iPad|iPhone|iPod/.test(navigator.userAgent) || (navigator.userAgent.includes('Macintosh') && navigator.maxTouchPoints > 1);

/** Finds out whether this device gets notifications, and reports a subscription that the browser has replaced. */
export async function loadPush() {
	try {
		if (!isSecureContext) return (pushState.value = 'insecure');
		if (!supported()) return (pushState.value = onIOS() ? 'install' : 'unsupported');
		const offer = await get('/auth/push');
		key = offer.key ?? '';
		pushSink.value = offer.sinks[0] ?? '';
		if (!key) return (pushState.value = 'no-sink');
		if (Notification.permission === 'denied') return (pushState.value = 'blocked');
		const own = await (await navigator.serviceWorker.getRegistration('/'))?.pushManager.getSubscription();
		if (!own || !offer.subscribed || Notification.permission !== 'granted' || keyOf(own) !== key) return (pushState.value = 'off');
		await save(own);
		return (pushState.value = 'on');
	} catch (error) {
		return fail(error);
	}
}

/** Turns notifications on. It must be called by a tap: browsers ask for the permission only then. */
export async function turnOn() {
	try {
		const permission = await Notification.requestPermission(); // first: iOS ends the effect of a tap at the next wait
		if (permission !== 'granted') return (pushState.value = permission === 'denied' ? 'blocked' : 'off');
		await navigator.serviceWorker.register('/worker.js');
		const { pushManager } = await navigator.serviceWorker.ready;
		let own = await pushManager.getSubscription();
		if (own && keyOf(own) !== key) {
			await own.unsubscribe();
			own = null;
		}
		own ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
		await save(own);
		return (pushState.value = 'on');
	} catch (error) {
		return fail(error);
	}
}

/** Turns notifications off: first in the city, so that nothing is sent to a subscription that has ended. */
export async function turnOff() {
	try {
		await call('DELETE', '/auth/push');
		await unsubscribe();
		return (pushState.value = 'off');
	} catch (error) {
		return fail(error);
	}
}

/** Ends the subscription of the browser. */
export async function unsubscribe() {
	if (!supported()) return;
	await (await (await navigator.serviceWorker.getRegistration('/'))?.pushManager.getSubscription())?.unsubscribe();
}

function fail(error) {
	pushError.value = error.message;
	return (pushState.value = 'failed');
}

/** Saves the subscription for this device. @param {PushSubscription} own */
async function save(own) {
	const { endpoint, keys } = own.toJSON();
	await send('POST', '/auth/push', { endpoint, p256dh: keys?.p256dh, auth: keys?.auth, key });
}

/** Returns the public key of a subscription in base64url. @param {PushSubscription} own */
function keyOf(own) {
	const bytes = new Uint8Array(own.options.applicationServerKey ?? new ArrayBuffer(0));
	return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Opens the page of a notification that a person chose, and closes notifications whose questions are not open any more. */
export function startPush() {
	if (!supported()) return;
	navigator.serviceWorker.addEventListener('message', (event) => {
		if (typeof event.data?.open === 'string' && event.data.open.startsWith('#/')) location.hash = event.data.open;
	});
	navigator.serviceWorker.startMessages();
	effect(() => {
		void reloads.value;
		void pending.value;
		if (device.value && !device.value.start) closeAnswered().catch(() => {});
	});
}

/** Closes the notifications whose questions are not open any more. The questions are loaded after the notifications are known, so
 * that none is closed whose question this page has not heard of yet. */
async function closeAnswered() {
	const registration = await navigator.serviceWorker.getRegistration('/');
	/** @param {Notification} n @param {{has: (id: string) => boolean}} open */
	const over = (n, open) => n.tag === 'gc-closed' || (n.data?.questions?.length > 0 && !n.data.questions.some((id) => open.has(id)));
	const shown = ((await registration?.getNotifications()) ?? []).filter((n) => over(n, pending.peek()));
	if (shown.length === 0) return;
	const open = new Set((await get('/api/v1/pending')).map((q) => q.id));
	for (const notification of shown) if (over(notification, open)) notification.close();
}
