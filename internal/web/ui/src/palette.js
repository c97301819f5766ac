// The colors of terminals in both themes.

export const themes = {
	dark: {
		background: '#17181c', foreground: '#e4e4e0', cursor: '#e4e4e0', cursorAccent: '#17181c', selectionBackground: '#3a4a66',
		black: '#3b3e45', red: '#ff8a80', green: '#7fd6a0', yellow: '#f2c66d', blue: '#8ab4ff', magenta: '#d3a7ff', cyan: '#7fd4de', white: '#d5d5d0',
		brightBlack: '#8b8e96', brightRed: '#ffaca4', brightGreen: '#a3e6bb', brightYellow: '#ffdd98', brightBlue: '#adcbff', brightMagenta: '#e3c6ff', brightCyan: '#a6e6ed', brightWhite: '#ffffff',
	},
	light: {
		background: '#ffffff', foreground: '#24262b', cursor: '#24262b', cursorAccent: '#ffffff', selectionBackground: '#c9dcfb',
		black: '#24262b', red: '#b3261e', green: '#1d6f42', yellow: '#7d5700', blue: '#1a56b0', magenta: '#7a3ea8', cyan: '#0b6a75', white: '#666a70',
		brightBlack: '#62666d', brightRed: '#c5362d', brightGreen: '#2a7f50', brightYellow: '#8a6200', brightBlue: '#2a66c2', brightMagenta: '#8b4fba', brightCyan: '#157a86', brightWhite: '#3c3f45',
	},
};

const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/** Returns a color of a screen as a CSS color: "#rrggbb", a number of the palette of 256 colors, or '' for the default one.
 * @param {string | undefined} color @param {'dark' | 'light'} theme @param {string} usual */
export function cssColor(color, theme, usual) {
	if (!color) return usual;
	if (color[0] === '#') return color;
	const i = Number(color);
	if (i < 8) return themes[theme][names[i]];
	if (i < 16) return themes[theme]['bright' + names[i - 8][0].toUpperCase() + names[i - 8].slice(1)];
	if (i < 232) {
		const part = (n) => (n ? 55 + 40 * n : 0);
		return `rgb(${part(Math.floor((i - 16) / 36))} ${part(Math.floor((i - 16) / 6) % 6)} ${part((i - 16) % 6)})`;
	}
	const gray = 8 + 10 * (i - 232);
	return `rgb(${gray} ${gray} ${gray})`;
}
