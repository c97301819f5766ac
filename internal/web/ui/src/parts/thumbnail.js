// A small picture of the screen of an agent.
import { html, useEffect, useRef, useState } from '../core.js';
import { cssColor, themes } from '../palette.js';
import { watchScreen } from '../screens.js';
import { theme } from '../theme.js';

const font = 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const leastCell = 3.4; // px of a column: a wider screen is cut at its right side
const leastCols = 56; // columns that are visible at least, also if the agent has used fewer
const lineHeight = 1.22; // of the size of the font

/** @type {Map<Element, (visible: boolean) => void>} */
const placed = new Map();
/** @type {IntersectionObserver | undefined} */
let observer;

/** Calls f when an element comes to the screen and when it leaves it. @param {Element} element @param {(visible: boolean) => void} f */
function whenVisible(element, f) {
	observer ??= new IntersectionObserver((entries) => {
		for (const e of entries) placed.get(e.target)?.(e.isIntersecting);
	}, { rootMargin: '80px 0px' });
	placed.set(element, f);
	observer.observe(element);
	return () => {
		placed.delete(element);
		observer?.unobserve(element);
	};
}

/** Shows the screen of an agent that runs while it is visible. @param {{name: string, instance: string}} p */
export function Thumbnail({ name, instance }) {
	const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
	const [note, setNote] = useState('Loading');
	useEffect(() => {
		const element = canvas.current;
		if (!element) return;
		/** @type {import('../screens.js').ScreenModel} */
		const model = { cols: 0, rows: 0, lines: [], reach: 0, plain: false, ended: '' };
		let stop = () => {};
		let frame = 0;
		const show = () => {
			frame ||= requestAnimationFrame(() => {
				frame = 0;
				setNote(model.ended ? model.ended : model.plain ? 'Text only' : '');
				if (model.cols > 0) draw(element, model, theme.value);
			});
		};
		const resize = new ResizeObserver(() => model.cols > 0 && show());
		resize.observe(element);
		const seen = theme.subscribe(() => model.cols > 0 && show());
		const unplace = whenVisible(element, (visible) => {
			stop();
			stop = visible ? watchScreen(name, model, show) : () => {};
		});
		return () => {
			unplace();
			stop();
			seen();
			resize.disconnect();
			cancelAnimationFrame(frame);
		};
	}, [name, instance]);
	return html`<span class="thumb-screen"><canvas ref=${canvas} role="img" aria-label=${'Screen of ' + name}></canvas>${note && html`<span class="thumb-note ${note === 'Text only' ? 'corner' : ''}">${note}</span>`}</span>`;
}

/** Draws the end of a screen: the rows above do not fit if the screen is higher than the picture.
 * @param {HTMLCanvasElement} canvas @param {import('../screens.js').ScreenModel} model @param {'dark' | 'light'} mode */
function draw(canvas, model, mode) {
	const width = canvas.clientWidth, height = canvas.clientHeight, scale = devicePixelRatio || 1;
	const g = canvas.getContext('2d');
	if (!g || width === 0) return;
	if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
	}
	const { background, foreground } = themes[mode];
	g.setTransform(scale, 0, 0, scale, 0, 0);
	g.fillStyle = background;
	g.fillRect(0, 0, width, height);
	g.font = `100px ${font}`;
	const advance = g.measureText('0').width / 100;
	for (const spans of model.lines) model.reach = Math.max(model.reach, (spans ?? []).reduce((n, span) => n + span.cols, 0));
	const cols = Math.min(model.cols, Math.max(leastCols, model.reach));
	const cell = Math.max(leastCell, (width - 8) / cols), size = cell / advance, line = size * lineHeight;
	const fits = Math.max(1, Math.floor((height - 6) / line));
	const used = Math.max(model.lines.length, 1);
	const first = used > fits ? used - fits : 0;
	g.textBaseline = 'alphabetic';
	for (let y = first; y < used; y++) {
		let x = 4;
		const top = 3 + (y - first) * line;
		for (const span of model.lines[y] ?? []) {
			let ink = cssColor(span.fg, mode, foreground), paper = cssColor(span.bg, mode, '');
			if (span.reverse) [ink, paper] = [paper || background, ink];
			const wide = span.cols * cell;
			if (paper) {
				g.fillStyle = paper;
				g.fillRect(x, top, wide + 0.3, line + 0.3);
			}
			if (span.text.trim()) {
				g.fillStyle = ink;
				g.globalAlpha = span.dim ? 0.6 : 1;
				g.font = `${span.italic ? 'italic ' : ''}${span.bold ? '700 ' : ''}${size}px ${font}`;
				g.fillText(span.text, x, top + size, wide);
				g.globalAlpha = 1;
			}
			if (span.underline && span.text.trim()) g.fillRect(x, top + size * 1.1, wide, Math.max(0.5, size / 14));
			x += wide;
			if (x > width) break;
		}
	}
}
