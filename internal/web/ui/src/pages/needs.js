// The first page: who needs a person.
import { html } from '../core.js';
import { may } from '../api.js';
import { plural } from '../format.js';
import { href, route } from '../route.js';
import { agents, conditions, groups, needCount, status, troubled } from '../store.js';
import { resume, start } from '../actions.js';
import { Age, Until } from '../parts/age.js';
import { QuestionCard } from '../parts/question.js';
import { Icon, State } from '../parts/icon.js';

export function NeedsPage() {
	if (!status.value) return html`<${Loading}/>`;
	if (route.value.name) return html`<${OnePage} id=${route.value.name}/>`;
	const n = needCount.value;
	const askers = new Set(groups.value.flatMap((g) => g.questions.map((q) => q.agent))).size;
	return html`
		<div class="page needs">
			<div class="page-head">
				<h1 id="page-title" tabindex="-1">${n === 0 ? 'No agent needs you' : `${plural(askers, 'agent needs', 'agents need')} you`}</h1>
				${n > 0 && html`<p class="sub">Oldest first</p>`}
			</div>
			${n === 0 && html`<${Quiet}/>`}
			<div class="cards">
				${groups.value.map((g) => html`<${QuestionCard} key=${g.id} group=${g}/>`)}
			</div>
			${troubled.value.length > 0 && html`
				<section aria-labelledby="troubled-title">
					<h2 id="troubled-title" class="section-title">In trouble</h2>
					<ul class="rows">${troubled.value.map((a) => html`<${Trouble} key=${a.name} agent=${a}/>`)}</ul>
				</section>`}
		</div>`;
}

/** Shows one question: the page that a notification opens. @param {{id: string}} p */
function OnePage({ id }) {
	const found = groups.value.map((g) => g.questions.find((q) => q.id === id)).find(Boolean);
	return html`
		<div class="page needs">
			<div class="page-head">
				<h1 id="page-title" tabindex="-1">${found ? `${found.agent} needs you` : 'This question is closed'}</h1>
				<p class="sub"><a href=${href('needs')}>All questions${needCount.value > 0 ? ` (${needCount.value})` : ''}</a></p>
			</div>
			${found ? html`<div class="cards"><${QuestionCard} key=${id} group=${{ id, first: found, questions: [found] }}/></div>`
				: html`<p>It was answered, or the agent that asked it has stopped.</p>`}
		</div>`;
}

function Quiet() {
	const busy = [...conditions.value.values()].filter((c) => c.tone === 'busy').length;
	return html`
		<div class="quiet">
			<${Icon} name="ok" size=${28}/>
			<p>${busy > 0 ? `${plural(busy, 'agent works', 'agents work')}.` : agents.value.length ? 'All agents are at rest.' : 'No agent is configured.'} New questions appear here by themselves.</p>
			${agents.value.length ? html`<a class="button" href=${href('fleet')}>Show the fleet</a>` : html`<a class="button" href=${href('city')}>Edit city.toml</a>`}
		</div>`;
}

/** @param {{agent: import('../types').Agent}} p */
function Trouble({ agent: a }) {
	const c = conditions.value.get(a.name);
	if (!c) return null;
	const down = c.tone === 'fail';
	return html`
		<li class="row trouble" tabindex="0" data-item data-agent=${a.name}>
			<div class="row-main">
				<div class="row-head"><a class="agent-name" href=${href('agent', a.name)}>${a.name}</a> <${State} ...${c}/> <span class="age"><${Age} at=${c.since}/></span></div>
				${c.detail && html`<p class="detail">${c.detail}</p>`}
				${c.until && html`<p class="detail muted">${down ? 'next start' : c.tone === 'limit' ? 'ends' : 'next try'} <${Until} at=${c.until}/></p>`}
			</div>
			${may('manage') && (down ? html`<button onClick=${() => start([a.name])}>Start now</button>` : a.obstacle ? html`<button onClick=${() => resume(a.name)}>Try now</button>` : null)}
		</li>`;
}

/** Shows that the first load is in progress. */
export function Loading() {
	return html`<div class="page"><p class="loading" role="status">Loading</p></div>`;
}
