// Small drawings. A state has a shape of its own, so that it is clear without colors.
import { html } from '../core.js';

const stroke = { fill: 'none', stroke: 'currentColor', 'stroke-width': 1.75, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' };

const shapes = {
	need: html`<path d="M8 .9 15.1 8 8 15.1.9 8Z" fill="currentColor"/><path d="M8 4.6v4" class="cut"/><path d="M8 11.2v.1" class="cut"/>`,
	fail: html`<path d="M5 1.2h6L14.8 5v6L11 14.8H5L1.2 11V5Z" fill="currentColor"/><path d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" class="cut"/>`,
	warn: html`<path d="M8 1.6 15 14H1Z" fill="currentColor"/><path d="M8 6v3.6" class="cut"/><path d="M8 12v.1" class="cut"/>`,
	limit: html`<path d="M3.5 1.5h9M3.5 14.5h9M4.5 1.5c0 4 3.5 4.5 3.5 6.5s-3.5 2.5-3.5 6.5M11.5 1.5c0 4-3.5 4.5-3.5 6.5s3.5 2.5 3.5 6.5" ...${stroke}/>`,
	busy: html`<circle cx="8" cy="8" r="6" ...${stroke} opacity=".3" stroke-width="2.2"/><path class="turn" d="M8 2a6 6 0 0 1 6 6" ...${stroke} stroke-width="2.2"/>`,
	idle: html`<circle cx="8" cy="8" r="5.6" ...${stroke}/>`,
	start: html`<circle cx="8" cy="8" r="5.6" ...${stroke} stroke-dasharray="1.6 3.27"/>`,
	stop: html`<rect x="3" y="3" width="10" height="10" rx="1.5" ...${stroke}/>`,
	ok: html`<path d="m2.8 8.4 3.4 3.4 7-7.6" ...${stroke} stroke-width="2.2"/>`,
	unknown: html`<circle cx="8" cy="8" r="6.5" ...${stroke}/><path d="M6.2 6.3a1.8 1.8 0 1 1 2.7 1.6c-.6.4-.9.7-.9 1.4M8 11.4v.1" ...${stroke}/>`,
	bell: html`<path d="M8 1.8a4 4 0 0 0-4 4c0 4-1.6 5-1.6 5h11.2S12 9.8 12 5.8a4 4 0 0 0-4-4ZM6.7 13.5a1.5 1.5 0 0 0 2.6 0" ...${stroke}/>`,
	grid: html`<path d="M2 3.5h12M2 8h12M2 12.5h12" ...${stroke}/>`,
	wall: html`<path d="M2 2.5h5v4.5H2zM9 2.5h5v4.5H9zM2 9h5v4.5H2zM9 9h5v4.5H9z" ...${stroke}/>`,
	city: html`<path d="M2 14V7.5l4-2V14m0 0V3l5-1.5V14m0 0V7l3 1.5V14M1 14h14" ...${stroke}/>`,
	sun: html`<circle cx="8" cy="8" r="2.8" ...${stroke}/><path d="M8 1v1.4M8 13.6V15M1 8h1.4M13.6 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1" ...${stroke}/>`,
	moon: html`<path d="M13.5 9.7A6 6 0 0 1 6.3 2.5a6 6 0 1 0 7.2 7.2Z" ...${stroke}/>`,
	back: html`<path d="M10 2.5 4.5 8l5.5 5.5" ...${stroke}/>`,
	up: html`<path d="m3.5 9.5 4.5-5 4.5 5" ...${stroke}/>`,
	down: html`<path d="m3.5 6.5 4.5 5 4.5-5" ...${stroke}/>`,
	close: html`<path d="m3.5 3.5 9 9m0-9-9 9" ...${stroke}/>`,
	plus: html`<path d="M8 3v10M3 8h10" ...${stroke}/>`,
	minus: html`<path d="M3 8h10" ...${stroke}/>`,
	search: html`<circle cx="7" cy="7" r="4.5" ...${stroke}/><path d="m10.5 10.5 3.5 3.5" ...${stroke}/>`,
	out: html`<path d="M6 2H2.5v12H6M10.5 4.5 14 8l-3.5 3.5M14 8H6" ...${stroke}/>`,
	speak: html`<path d="M2.5 6v4h2.7L9 13V3L5.2 6ZM11.4 5.6a3.4 3.4 0 0 1 0 4.8M13.2 3.6a6.2 6.2 0 0 1 0 8.8" ...${stroke}/>`,
	more: html`<circle cx="3" cy="8" r="1.3" fill="currentColor"/><circle cx="8" cy="8" r="1.3" fill="currentColor"/><circle cx="13" cy="8" r="1.3" fill="currentColor"/>`,
};

/** Shows a drawing that says nothing by itself. @param {{name: string, size?: number}} p */
export function Icon({ name, size = 16 }) {
	return html`<svg class="icon icon-${name}" viewBox="0 0 16 16" width=${size} height=${size} aria-hidden="true" focusable="false">${shapes[name] ?? shapes.unknown}</svg>`;
}

/** Shows a state by its shape and its word. @param {{tone: string, word: string, title?: string}} p */
export function State({ tone, word, title }) {
	return html`<span class="state tone-${tone}" title=${title}><${Icon} name=${tone} size=${14}/><span>${word}</span></span>`;
}
