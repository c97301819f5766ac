// Requests to the server. Each request has the cookie of the device and the key of this page's own
// storage; the server requires both.
import { signal } from './core.js';

const keyName = 'gc.key';

/** Ends the requests of a device when it signs out. */
let session = new AbortController();

/** The signed-in device, null while no device is signed in, undefined while that is unknown.
 * @type {import('@preact/signals').Signal<{id: string, name: string, scopes: string[], start?: boolean} | null | undefined>} start: there is no city yet */
export const device = signal(undefined);

/** A problem document of the server, or a failed connection (code "offline"). */
export class Problem extends Error {
	/** @param {{status?: number, title?: string, detail?: string, code?: string}} doc */
	constructor(doc) {
		super(doc.detail || doc.title || 'The request failed.');
		this.status = doc.status || 0;
		this.code = doc.code || '';
	}
}

/** Reports whether the device may do what the scope allows. @param {string} scope */
export function may(scope) {
	return !!device.value && device.value.scopes.includes(scope);
}

function headers(extra) {
	const key = localStorage.getItem(keyName);
	return { ...(key ? { 'Gc-Web-Key': key } : {}), ...extra };
}

/** Sends a request and returns the response; the body is not read.
 * @param {string} method @param {string} path @param {any} [body] @param {{signal?: AbortSignal, headers?: Record<string, string>, keepalive?: boolean}} [options] keepalive: the request goes on if the page is left */
export async function send(method, path, body, options = {}) {
	let response;
	try {
		response = await fetch(path, {
			method,
			keepalive: options.keepalive,
			signal: options.signal ? AbortSignal.any([options.signal, session.signal]) : session.signal,
			cache: 'no-store',
			headers: headers({ ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...options.headers }),
			body: body === undefined ? undefined : JSON.stringify(body),
		});
	} catch (error) {
		if (options.signal?.aborted) throw error;
		throw new Problem({ code: 'offline', detail: 'The controller cannot be reached.' });
	}
	if (response.ok) return response;
	let doc = {};
	try {
		doc = await response.json();
	} catch {
		doc = { title: `The server answered ${response.status}.` };
	}
	if (response.status === 401 && path !== '/auth/sign-in') device.value = null;
	throw new Problem({ ...doc, status: response.status });
}

/** Sends a request and returns the JSON of the answer.
 * @param {string} method @param {string} path @param {any} [body] @param {{signal?: AbortSignal}} [options] @returns {Promise<any>} */
export async function call(method, path, body, options) {
	const response = await send(method, path, body, options);
	const text = await response.text();
	return text ? JSON.parse(text) : null;
}

/** @param {string} path @param {{signal?: AbortSignal}} [options] */
export const get = (path, options) => call('GET', path, undefined, options);
/** @param {string} path @param {any} [body] */
export const post = (path, body = {}) => call('POST', path, body);

const maxDownload = 64 << 20; // bytes; a file is in memory until it is saved

/** Saves the answer to a request as a file. @param {string} path @param {any} body
 * @param {{name?: string, tooLarge?: string}} [options] name of the file, else that of the answer; tooLarge: what to do with a file that is larger than a browser can hold */
export async function download(path, body, { name, tooLarge } = {}) {
	const response = await send('POST', path, body);
	const named = /filename\*=UTF-8''(\S+)/.exec(response.headers.get('Content-Disposition') ?? '');
	/** @type {Uint8Array[]} */
	const parts = [];
	let size = 0;
	const reader = response.body.getReader();
	for (;;) {
		const { value, done } = await reader.read().catch(() => {
			throw new Problem({ code: 'offline', detail: 'The file is not complete: the connection ended.' });
		});
		if (done) break;
		size += value.length;
		if (size > maxDownload) {
			reader.cancel().catch(() => {});
			throw new Problem({ code: 'refused', detail: `The file has more than ${maxDownload >> 20} MiB, which is too much for a browser. ${tooLarge ?? ''}`.trim() });
		}
		parts.push(value);
	}
	const url = URL.createObjectURL(new Blob(parts, { type: 'application/octet-stream' }));
	const link = Object.assign(document.createElement('a'), { href: url, download: name ?? (named ? decodeURIComponent(named[1]) : 'file') });
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Returns the path of an operation on an agent. @param {string} name @param {string} [verb] */
export function agentPath(name, verb) {
	return `/api/v1/sessions/${encodeURIComponent(name)}${verb ? '/' + verb : ''}`;
}

/** Finds out who is signed in. */
export async function loadDevice() {
	if (!localStorage.getItem(keyName)) {
		device.value = null;
		return;
	}
	try {
		const me = await get('/auth/me');
		device.value = me.device ?? me;
	} catch (error) {
		if (error.status === 401 || error.status === 403) device.value = null;
		else throw error;
	}
}

/** Signs this device in with a one-time code. @param {string} code @param {string} name */
export async function signIn(code, name) {
	const answer = await post('/auth/sign-in', { code, device: name });
	localStorage.setItem(keyName, answer.key);
	device.value = answer.device;
}

/** Signs this device out. */
export async function signOut() {
	session.abort();
	session = new AbortController();
	const key = localStorage.getItem(keyName) ?? '';
	localStorage.removeItem(keyName);
	device.value = null;
	await send('POST', '/auth/sign-out', {}, { headers: { 'Gc-Web-Key': key }, keepalive: true });
}
