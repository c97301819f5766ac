// The sign-in of a device with a one-time code.
import { html, useEffect, useState } from '../core.js';
import { signIn } from '../api.js';
import { readCode } from '../route.js';
import { Icon } from '../parts/icon.js';

function deviceName() {
	const agent = navigator.userAgent;
	const system = [['iPhone', /iPhone/], ['iPad', /iPad/], ['Android', /Android/], ['Mac', /Mac OS X/], ['Windows', /Windows/], ['Linux', /Linux/]].find(([, p]) => /** @type {RegExp} */ (p).test(agent));
	const browser = [['Firefox', /Firefox/], ['Edge', /Edg/], ['Chrome', /Chrome/], ['Safari', /Safari/]].find(([, p]) => /** @type {RegExp} */ (p).test(agent));
	return `${browser?.[0] ?? 'Browser'} on ${system?.[0] ?? 'a device'}`;
}

export function SignInPage() {
	const [code, setCode] = useState('');
	const [name, setName] = useState(deviceName);
	const [error, setError] = useState('');
	const [busy, setBusy] = useState(false);
	const submit = async (value) => {
		setBusy(true);
		setError('');
		try {
			await signIn(value, name.trim() || deviceName());
		} catch (problem) {
			setError(problem.code === 'offline' ? problem.message : `The code was not accepted: ${problem.message.replace(/^not signed in: /, '')}`);
			setCode('');
		}
		setBusy(false);
	};
	useEffect(() => {
		const read = () => {
			const found = readCode();
			if (found) submit(found);
		};
		read();
		addEventListener('hashchange', read);
		return () => removeEventListener('hashchange', read);
	}, []);
	return html`
		<main class="signin">
			<form onSubmit=${(e) => { e.preventDefault(); if (code.trim()) submit(code.trim()); }}>
				<img src=${document.getElementById('favicon')?.getAttribute('href') ?? ''} width="56" height="56" alt=""/>
				<h1>Sign in</h1>
				<p>Run <code>gc web</code> on the machine of the city. It prints a link with a code that works once, for one minute. Open the link on this device, or enter the code here.</p>
				<label class="field"><span>Code</span><input name="code" autocomplete="one-time-code" autocapitalize="off" spellcheck="false" required autofocus value=${code} onInput=${(e) => setCode(e.target.value.replace(/^.*#(code=)?/, ''))}/></label>
				<label class="field"><span>Name of this device</span><input name="device" autocomplete="off" value=${name} onInput=${(e) => setName(e.target.value)}/></label>
				${error && html`<p class="error" role="alert"><${Icon} name="fail" size=${14}/> ${error}</p>`}
				<button class="primary" disabled=${busy}>${busy ? 'Signing in' : 'Sign in'}</button>
			</form>
		</main>`;
}
