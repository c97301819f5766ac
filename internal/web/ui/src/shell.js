// The frame of all pages: navigation, connection and messages.
import { html, useEffect, useLayoutEffect, useRef, useState } from './core.js';
import { device } from './api.js';
import { splitName } from './format.js';
import { Help, helpOpen } from './keys.js';
import { Overlays } from './parts/dialog.js';
import { Icon } from './parts/icon.js';
import { AgentPage } from './pages/agent.js';
import { CityPage } from './pages/city.js';
import { FleetPage } from './pages/fleet.js';
import { NeedsPage } from './pages/needs.js';
import { SignInPage } from './pages/signin.js';
import { StartPage } from './pages/start.js';
import { href, route } from './route.js';
import { agents, conditions, connection, groupAgents, needCount, status } from './store.js';
import { switchTheme, theme } from './theme.js';

const pages = { needs: NeedsPage, fleet: FleetPage, agent: AgentPage, city: CityPage };
const links = [['needs', 'Needs me', 'bell'], ['fleet', 'Fleet', 'grid'], ['city', 'City', 'city']];

export function App() {
	if (device.value === undefined) return html`<p class="loading start" role="status">Connecting</p>`;
	if (device.value === null) return html`<${SignInPage}/><${Overlays}/>`;
	if (device.value.start) return html`<${StartPage}/>`;
	return html`<${Shell}/><${Help}/><${Overlays}/>`;
}

function Shell() {
	const page = route.value.page;
	const Page = pages[page] ?? NeedsPage;
	const first = useRef(true);
	useLayoutEffect(() => {
		if (!first.current) {
			document.getElementById('page-title')?.focus({ preventScroll: true });
			scrollTo(0, 0);
		}
		first.current = false;
	}, [page, route.value.name]);
	return html`
		<a class="skip" href="#page-title" onClick=${(e) => { e.preventDefault(); document.getElementById('page-title')?.focus(); }}>Skip to the content</a>
		<div class="shell at-${page}">
			<header class="top">
				<a class="brand" href=${href('needs')}><span class="mark" aria-hidden="true">❯<i>_</i></span><span>${status.value?.city ?? 'gc'}</span></a>
				<nav class="nav" aria-label="Pages">${links.map(([id, word, icon]) => {
					const here = page === id || (id === 'fleet' && page === 'agent');
					return html`<a key=${id} href=${href(id)} aria-current=${here ? 'page' : undefined}><${Icon} name=${icon} size=${18}/><span>${word}</span>${id === 'needs' && needCount.value > 0 ? html`<span class="count">${needCount.value}<span class="hidden"> questions</span></span>` : null}</a>`;
				})}</nav>
				<div class="top-end">
					<${Connection}/>
					<button class="plain round wide-only" aria-label="Show the keys" aria-expanded=${helpOpen.value} onClick=${() => (helpOpen.value = !helpOpen.value)}><kbd>?</kbd></button>
					<button class="plain round" aria-label=${theme.value === 'dark' ? 'Use the light theme' : 'Use the dark theme'} onClick=${switchTheme}><${Icon} name=${theme.value === 'dark' ? 'sun' : 'moon'}/></button>
				</div>
			</header>
			<${Side}/>
			<main id="main"><${LostNote}/><${Page}/></main>
		</div>`;
}

/** The agents at the side of a wide screen. */
function Side() {
	return html`
		<nav class="side" aria-label="Agents">
			${groupAgents(agents.value).map(({ rig, agents: list }) => html`
				<div key=${rig}>${rig && html`<p class="side-rig">${rig}</p>`}
					<ul>${list.map((a) => {
						const c = conditions.value.get(a.name);
						return html`<li key=${a.name}><a href=${href('agent', a.name)} aria-current=${route.value.page === 'agent' && route.value.name === a.name ? 'page' : undefined}><span class="tone-${c?.tone}"><${Icon} name=${c?.tone} size=${13}/></span><span class="side-name">${splitName(a.name).short}</span><span class="side-word tone-${c?.tone}">${c?.tone === 'idle' || c?.tone === 'busy' ? html`<span class="hidden">${c.word}</span>` : c?.word}</span></a></li>`;
					})}</ul>
				</div>`)}
		</nav>`;
}

const lostPause = 3000; // ms: a page that comes back from the background connects again sooner

/** Says that the page may be old after the connection has been lost for a while. */
function LostNote() {
	const [late, setLate] = useState(false);
	const lost = connection.value === 'lost';
	useEffect(() => {
		setLate(false);
		if (!lost) return;
		const timer = setTimeout(() => setLate(true), lostPause);
		return () => clearTimeout(timer);
	}, [lost]);
	return lost && late && html`<p class="banner lost-note"><span class="tone-warn"><${Icon} name="warn"/></span><span>No connection to the controller. What you see may be old. The page connects again by itself.</span></p>`;
}

function Connection() {
	const words = { loading: 'Connecting', live: 'Live', lost: 'No connection' };
	return html`<span class="connection is-${connection.value}" role="status"><i aria-hidden="true"></i><span>${words[connection.value]}</span></span>`;
}
