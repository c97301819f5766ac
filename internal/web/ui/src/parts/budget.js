// Budgets as bars.
import { html } from '../core.js';

/** @param {{list: import('../types').Budget[]}} p */
export function BudgetList({ list }) {
	return html`<ul class="budgets">${list.map((b) => html`
		<li><p><strong>${b.name}</strong>${b.who ? ` · ${b.who}` : ''} ${b.over ? html`<span class="badge fail">used up: ${b.act}</span>` : null}</p>
			<span class="bar ${b.over ? 'high' : ''}" role="meter" aria-label=${`Budget ${b.name}`} aria-valuemin="0" aria-valuemax=${b.limit} aria-valuenow=${Math.min(b.used, b.limit)}><span style=${{ width: Math.min(100, (100 * b.used) / (b.limit || 1)) + '%' }}></span></span>
			<p class="muted">${b.text.replace(/^budget [^:]*: /, '')}${b.unknown ? ` (${b.unknown})` : ''}</p>
		</li>`)}</ul>`;
}
