// The service worker of the web console. It shows notifications, opens the page of the one that is chosen, and sends the answer of
// a button. It handles no requests and stores nothing.
const icon = '{{icon-192.png}}';

/** The tag of the one notification that says which question was closed last. A message must show something. */
const closedTag = 'gc-closed';

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('push', (event) => event.waitUntil(show(event.data)));
self.addEventListener('notificationclick', (event) => {
	event.notification.close();
	const { page = '#/needs', tokens } = event.notification.data ?? {};
	const token = event.action ? tokens?.[event.action] : undefined;
	event.waitUntil(token ? answer(event.notification, token) : open(page));
});

/** Shows a message. A browser requires that each message shows something, so one that cannot be read does too. */
async function show(data) {
	let message = {};
	try {
		message = data?.json() ?? {};
	} catch {
		// not JSON: another program has the key of the city
	}
	await close(message.over ? message.id : closedTag);
	const buttons = message.over || !Array.isArray(message.actions) ? [] : message.actions;
	await self.registration.showNotification(message.title || 'An agent needs you', {
		body: message.body ?? '',
		actions: buttons.map((b, i) => ({ action: String(i + 1), title: b.label })),
		tag: message.over ? closedTag : message.id || 'gc', // a repeated message replaces the first one
		data: { page: pageOf(message), questions: Array.isArray(message.questions) ? message.questions : [], tokens: [null, ...buttons.map((b) => b.token)] },
		timestamp: message.at || Date.now(),
		requireInteraction: !!message.urgent,
		silent: !message.urgent,
		icon,
		badge: icon,
		lang: 'en',
	});
	if (message.over && (await windows()).some((w) => w.visibilityState === 'visible')) await close(closedTag); // the page shows it
	if (typeof message.badge === 'number' && navigator.setAppBadge) await navigator.setAppBadge(message.badge).catch(() => {});
}

/** Answers the question of a notification with the token of a button. If that fails, a notification without buttons says why. */
async function answer(notification, token) {
	let why = 'The web console did not answer. Open the question to see whether it is answered.';
	try {
		const response = await fetch('/answer', {
			method: 'POST',
			headers: { 'Content-Type': 'application/json' },
			body: JSON.stringify({ token }),
			redirect: 'error',
		});
		if (response.ok) return;
		why = (await response.json()).detail || why;
	} catch {
		// not reached, or not JSON: why says it
	}
	const { title, tag, data } = notification;
	await self.registration.showNotification('Not answered: ' + title, { body: why, tag, data: { ...data, tokens: [] }, icon, badge: icon, lang: 'en' });
}

/** Closes the notifications with a tag. */
async function close(tag) {
	for (const shown of await self.registration.getNotifications({ tag })) shown.close();
}

/** Returns the fragment of a page of the web console. No message leads to another site. */
function pageOf(message) {
	return typeof message.page === 'string' && message.page.startsWith('#/') ? message.page : '#/needs';
}

/** Returns the windows of the web console. */
const windows = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true });

/** Shows a page: in a window of the web console that is open, or in a new one. */
async function open(page) {
	const all = await windows();
	const window = all.find((w) => w.visibilityState === 'visible') ?? all[0];
	if (!window) return self.clients.openWindow('/' + page);
	window.postMessage({ open: page });
	return window.focus();
}
