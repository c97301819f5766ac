// A reader of server-sent events. It uses fetch, because EventSource cannot send the key.
import { Problem, send } from './api.js';

const silence = 40_000; // ms; the server sends a comment every 15 s
const firstPause = 250; // ms before the first attempt to connect again
const longPause = 5_000;

/** Splits a stream of text into server-sent events. */
class EventParser {
	/** @param {(kind: string, data: string) => void} emit */
	constructor(emit) {
		this.emit = emit;
		this.rest = '';
		this.clear();
	}

	clear() {
		this.kind = 'message';
		this.data = '';
	}

	/** Reads the next piece of the stream. @param {string} text */
	push(text) {
		const lines = (this.rest + text).split('\n');
		this.rest = lines.pop() ?? '';
		for (const line of lines) this.line(line.endsWith('\r') ? line.slice(0, -1) : line);
	}

	/** @param {string} line */
	line(line) {
		if (line === '') {
			if (this.data !== '') this.emit(this.kind, this.data.slice(0, -1));
			this.clear();
			return;
		}
		const colon = line.indexOf(':');
		const field = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
		if (field === 'event') this.kind = value;
		else if (field === 'data') this.data += value + '\n';
	}
}

/**
 * Reads a stream of server-sent events until it ends, the signal is aborted, or nothing arrives for too long.
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {object} on
 * @param {() => void} [on.open] the server has answered
 * @param {(kind: string, data: string) => void} on.event
 * @param {() => Promise<void> | void} [on.piece] a piece of the stream was read; the next one waits for the result
 * @param {Record<string, string>} [headers]
 */
export async function readEvents(path, signal, on, headers) {
	const abort = new AbortController();
	const stop = () => abort.abort();
	signal.addEventListener('abort', stop);
	let timer = setTimeout(stop, silence);
	try {
		const response = await send('GET', path, undefined, { signal: abort.signal, headers: { Accept: 'text/event-stream', ...headers } });
		on.open?.();
		const parser = new EventParser(on.event);
		const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
		for (;;) {
			const { value, done } = await reader.read();
			if (done) return;
			clearTimeout(timer);
			timer = setTimeout(stop, silence);
			parser.push(value);
			await on.piece?.();
		}
	} finally {
		clearTimeout(timer);
		signal.removeEventListener('abort', stop);
	}
}

/**
 * Reads the events of the city until the signal is aborted, and connects again after a failure.
 * @param {object} o
 * @param {number} o.after the id of the last event that is known
 * @param {AbortSignal} o.signal
 * @param {(event: any) => void} o.onEvent
 * @param {() => Promise<void>} o.onGap events were lost: everything must be loaded again
 * @param {(live: boolean, resumed: boolean) => void} o.onLive
 */
export async function follow(o) {
	let after = o.after;
	let pause = firstPause;
	let opened = false;
	while (!o.signal.aborted) {
		let gap = false;
		try {
			await readEvents(`/api/v1/events/stream?after=${after}`, o.signal, {
				open: () => {
					o.onLive(true, opened);
					opened = true;
					pause = firstPause;
				},
				event: (kind, data) => {
					const value = JSON.parse(data);
					if (kind === 'event') {
						after = value.id;
						o.onEvent(value);
					} else if (kind === 'gap') {
						gap = true;
						if (value.next) after = value.next - 1;
					}
				},
				piece: async () => {
					if (!gap) return;
					gap = false;
					await o.onGap();
				},
			}, { 'Last-Event-ID': String(after) });
		} catch (error) {
			if (o.signal.aborted) return;
			if (error instanceof Problem && (error.status === 401 || error.status === 403)) return;
		}
		o.onLive(false, opened);
		await waitFor(pause, o.signal);
		pause = Math.min(2 * pause, longPause);
	}
}

/** Waits for a time, until the network is back, or until the page is visible again.
 * @param {number} ms @param {AbortSignal} signal */
export function waitFor(ms, signal) {
	return new Promise((resolve) => {
		const done = () => {
			clearTimeout(timer);
			removeEventListener('online', done);
			document.removeEventListener('visibilitychange', visible);
			signal.removeEventListener('abort', done);
			resolve(undefined);
		};
		const visible = () => document.visibilityState === 'visible' && done();
		const timer = setTimeout(done, ms);
		addEventListener('online', done);
		document.addEventListener('visibilitychange', visible);
		signal.addEventListener('abort', done);
	});
}
