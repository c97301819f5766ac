// A terminal over a WebSocket. The server draws frames; this side confirms what it has parsed, so
// the server never has much on its way.
import { Terminal } from '@xterm/xterm';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes';
import { post } from './api.js';
import { themes } from './palette.js';

const confirmEvery = 32 << 10; // bytes
const sizes = { least: 5, most: 22, usual: 13, readable: 9, desk: 12 }; // of the font, in px; desk: the least that is chosen to show the whole height
const around = 392; // px of a desk's screen that are not rows of the terminal: the head of the page, its tabs and the prompt box
const handPause = 4000; // ms without a move to the cursor after a person scrolled
const ratio = { width: 0.602, height: 1.18 }; // of a cell to the font

/**
 * @typedef {object} Options
 * @property {HTMLElement} place
 * @property {string} session
 * @property {boolean} dark
 * @property {boolean} reader whether a screen reader gets the text
 * @property {(state: object) => void} onState
 * @property {() => void} onCtrlUsed
 * @property {(text: string) => Promise<boolean>} confirmPaste
 * @property {(url: string) => Promise<boolean>} confirmLink
 */

/** Opens a terminal in a place of the page. @param {Options} o */
export function openTerminal(o) {
	const openLink = async (event, url) => {
		event.preventDefault();
		if (/^https?:/i.test(url) && await o.confirmLink(url)) window.open(url, '_blank', 'noopener,noreferrer');
	};
	const term = new Terminal({
		cols: 80, rows: 24, scrollback: 0, // frames draw the screen; what scrolled away is at the server
		 disableStdin: true, allowProposedApi: true, cursorBlink: false, cursorInactiveStyle: 'outline',
		fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace', fontSize: sizes.usual,
		theme: o.dark ? themes.dark : themes.light, minimumContrastRatio: 4.5, linkHandler: { activate: (event, url) => openLink(event, url), allowNonHttpProtocols: false },
		screenReaderMode: o.reader,
	});
	term.loadAddon(new WebLinksAddon(openLink));
	term.loadAddon(new UnicodeGraphemesAddon());
	term.open(o.place);
	term.textarea?.setAttribute('aria-label', 'Terminal input');
	const view = new View(term, o);
	return {
		close: () => view.close(),
		focus: () => term.focus(),
		drive: (yes) => view.drive(yes),
		key: (bytes) => view.input(bytes),
		reopen: () => view.reopen(),
		zoom: (step) => view.zoom(step),
		setCtrl: (on) => (view.ctrl = on),
		setReader: (on) => (term.options.screenReaderMode = on),
		setTheme: (dark) => (term.options.theme = dark ? themes.dark : themes.light),
	};
}

class View {
	/** @param {Terminal} term @param {Options} o */
	constructor(term, o) {
		this.term = term;
		this.o = o;
		this.closed = false;
		this.driver = false;
		this.typing = false; // the ticket is to permit typing
		this.wanted = false; // take over when the connection is open
		this.ctrl = false;
		this.chosenSize = 0; // of the font; 0: as large as fits
		this.pause = 250;
		this.handAt = 0; // when a person scrolled
		this.abort = new AbortController();
		term.onData((data) => this.input(data));
		term.onBinary((data) => this.sendInput(Uint8Array.from(data, (c) => c.charCodeAt(0))));
		const options = { signal: this.abort.signal };
		o.place.addEventListener('paste', (e) => this.paste(e), { ...options, capture: true });
		o.place.addEventListener('touchmove', (e) => this.pinch(e), { ...options, passive: false });
		o.place.addEventListener('touchstart', () => (this.spread = 0), { ...options, passive: true });
		for (const kind of ['touchmove', 'wheel']) o.place.addEventListener(kind, () => (this.handAt = Date.now()), { ...options, passive: true });
		term.onCursorMove(() => this.showCursor());
		this.watcher = new ResizeObserver(() => this.fit());
		this.watcher.observe(o.place.closest('.panel') ?? o.place);
		this.fit();
		this.connect();
	}

	close() {
		this.closed = true;
		clearTimeout(this.timer);
		this.abort.abort();
		this.watcher.disconnect();
		cancelAnimationFrame(this.scrolling ?? 0);
		this.socket?.close();
		this.term.dispose();
	}

	/** Takes over, or releases the terminal. A connection that may only watch is replaced first.
	 * @param {boolean} yes */
	drive(yes) {
		this.wanted = yes;
		if (yes && !this.typing) {
			this.typing = true;
			this.o.onState({ phase: 'lost', text: '' });
			const old = this.socket;
			this.socket = undefined;
			old?.close();
			this.connect();
		} else {
			this.send(new Uint8Array([(yes ? 't' : 'r').charCodeAt(0)]));
		}
	}

	async connect() {
		if (this.closed) return;
		try {
			const { ticket } = await post('/auth/tickets', { session: this.o.session, type: this.typing });
			if (this.closed) return;
			const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
			const socket = new WebSocket(`${scheme}//${location.host}/terminal`, ['gc-terminal.v1', 'ticket.' + ticket]);
			socket.binaryType = 'arraybuffer';
			this.socket = socket;
			this.parsed = 0;
			this.confirmed = 0;
			this.writing = 0;
			socket.onmessage = (e) => this.socket === socket && this.receive(new Uint8Array(e.data), socket);
			socket.onopen = () => {
				this.pause = 250;
				if (this.wanted) this.drive(true);
			};
			socket.onclose = () => this.socket === socket && this.lost('');
		} catch (error) {
			this.lost(error.code === 'offline' ? '' : error.message, error.status === 403 || error.status === 404 || error.status === 501);
		}
	}

	/** Connects to the next instance of the agent if the last one has ended. */
	reopen() {
		if (!this.ended) return;
		this.ended = false;
		this.o.onState({ phase: 'lost', text: '' });
		this.connect();
	}

	/** Connects again after a pause, or reports why that is useless. Without a text, the last one that the server sent stays.
	 * @param {string} text @param {boolean} [final] */
	lost(text, final) {
		if (this.closed || this.ended) return;
		this.setDriver(false, '');
		this.o.onState({ phase: final ? 'failed' : 'lost', ...(text && { text }) });
		if (final) return;
		this.timer = setTimeout(() => this.connect(), this.pause);
		this.pause = Math.min(2 * this.pause, 5000);
	}

	/** @param {Uint8Array} message @param {WebSocket} socket */
	receive(message, socket) {
		const body = message.subarray(1);
		switch (String.fromCharCode(message[0])) {
		case 'g': {
			const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
			const cols = view.getUint16(0), rows = view.getUint16(2);
			if (cols > 0 && rows > 0) this.term.resize(cols, rows);
			this.fit();
			this.o.onState({ phase: 'open', text: '' });
			break;
		}
		case 'o':
			this.writing++;
			this.term.write(body, () => {
				this.writing--;
				if (this.socket !== socket) return;
				this.parsed += body.length;
				if (this.parsed - this.confirmed >= confirmEvery || this.writing === 0) this.confirm();
			});
			break;
		case 't': {
			const { driver, you, plain } = JSON.parse(new TextDecoder().decode(body));
			this.o.onState({ plain: Boolean(plain) });
			this.setDriver(you, driver);
			break;
		}
		case 'x': // reopen connects to the next instance
			this.ended = true;
			this.setDriver(false, '');
			this.o.onState({ phase: 'ended', text: '' });
			break;
		case 'e':
			this.o.onState({ text: JSON.parse(new TextDecoder().decode(body)).detail ?? '' });
			break;
		}
	}

	/** Scrolls to the line of the cursor if the screen of the session is larger than its place. */
	showCursor() {
		if (this.scrolling || Date.now() - this.handAt < handPause) return;
		this.scrolling = requestAnimationFrame(() => {
			this.scrolling = 0;
			const { place } = this.o;
			const lines = place.querySelector('.xterm-screen');
			if (!lines || place.scrollHeight <= place.clientHeight) return;
			const height = lines.clientHeight / this.term.rows, top = this.term.buffer.active.cursorY * height;
			if (top < place.scrollTop || top + 4 * height > place.scrollTop + place.clientHeight) place.scrollTop = top + 4 * height - place.clientHeight;
		});
	}

	/** Confirms the output that was parsed. */
	confirm() {
		const message = new DataView(new ArrayBuffer(9));
		message.setUint8(0, 'a'.charCodeAt(0));
		message.setBigUint64(1, BigInt(this.parsed));
		this.confirmed = this.parsed;
		this.send(new Uint8Array(message.buffer));
	}

	/** @param {boolean} you @param {string} driver */
	setDriver(you, driver) {
		this.driver = you;
		if (you) this.wanted = false; // after a lost connection a person takes over again
		this.term.options.disableStdin = !you;
		this.o.onState({ you, driver: you ? '' : driver });
	}

	/** Sends what was typed. @param {string} data */
	input(data) {
		if (this.ctrl && data.length === 1) {
			const code = data.toUpperCase().charCodeAt(0);
			if (code >= 0x40 && code < 0x60) data = String.fromCharCode(code & 0x1f);
			this.ctrl = false;
			this.o.onCtrlUsed();
		}
		this.sendInput(new TextEncoder().encode(data));
	}

	/** @param {Uint8Array} bytes */
	sendInput(bytes) {
		if (!this.driver) return;
		const message = new Uint8Array(bytes.length + 1);
		message[0] = 'i'.charCodeAt(0);
		message.set(bytes, 1);
		this.send(message);
	}

	/** @param {Uint8Array} message */
	send(message) {
		if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(message);
	}

	/** Asks before it pastes several lines. @param {ClipboardEvent} e */
	async paste(e) {
		const text = e.clipboardData?.getData('text/plain') ?? '';
		if (!this.driver || !/[\r\n]/.test(text.trimEnd())) return;
		e.preventDefault();
		e.stopPropagation();
		if (await this.o.confirmPaste(text)) this.term.paste(text);
		this.term.focus();
	}

	/** Changes the size of the text with two fingers. @param {TouchEvent} e */
	pinch(e) {
		if (e.touches.length !== 2) return;
		e.preventDefault();
		const [a, b] = e.touches;
		const spread = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
		if (!this.spread) {
			this.spread = spread;
			this.from = this.term.options.fontSize ?? sizes.usual;
		} else if (this.from) {
			this.chosenSize = clamp(this.from * spread / this.spread);
			this.fit();
		}
	}

	/** @param {number} step */
	zoom(step) {
		this.chosenSize = clamp((this.term.options.fontSize ?? sizes.usual) + step);
		this.fit();
	}

	/** Sets the size of the text so that the whole width is visible, if it can be read then, and also the whole height with the prompt
	 * box if the screen is large enough. The size of the grid is that of the session and never changes. */
	fit() {
		const width = (this.o.place.closest('.panel') ?? this.o.place).clientWidth - 22;
		if (width <= 0) return;
		const whole = half((innerHeight - around) / (this.term.rows * ratio.height));
		const high = whole >= sizes.desk ? whole : sizes.most; // smaller text would be harder to read than to scroll
		const size = this.chosenSize || Math.min(sizes.usual + 2, high, Math.max(sizes.readable, half(width / (this.term.cols * ratio.width))));
		if (size !== this.term.options.fontSize) this.term.options.fontSize = size;
	}
}

/** Returns the next half below. @param {number} size */
const half = (size) => Math.floor(2 * size) / 2;

/** @param {number} size */
function clamp(size) {
	return Math.max(sizes.least, Math.min(sizes.most, Math.round(2 * size) / 2));
}
