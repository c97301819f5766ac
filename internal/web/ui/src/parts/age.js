import { html, useComputed, useSignal } from '../core.js';
import { duration, now } from '../format.js';

/** Shows the time since a date, as "3m" or "3m ago". @param {{at?: string, suffix?: string}} p */
export function Age({ at, suffix = '' }) {
	const from = useSignal(at);
	from.value = at;
	const text = useComputed(() => from.value ? duration(now.value - Date.parse(from.value)) + suffix : '');
	return at ? html`<time dateTime=${at} title=${new Date(at).toLocaleString()}>${text}</time>` : null;
}

/** Shows the time until a date, as "in 3m", or "now". @param {{at?: string}} p */
export function Until({ at }) {
	const to = useSignal(at);
	to.value = at;
	const text = useComputed(() => {
		const left = to.value ? Date.parse(to.value) - now.value : 0;
		return left > 0 ? 'in ' + duration(left) : 'now';
	});
	return at ? html`<time dateTime=${at} title=${new Date(at).toLocaleString()}>${text}</time>` : null;
}
