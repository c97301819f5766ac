// The library functions that the pages use, from one place.
import { h, render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { signal, computed, effect, batch, useSignal, useComputed } from '@preact/signals';
import htm from 'htm';
import { visible } from './format.js';

const spoken = ['title', 'aria-label', 'placeholder', 'alt']; // attributes that people read or hear

/** Returns a child in which all text is visible. @param {any} child @returns {any} */
function shown(child) {
	if (typeof child === 'string') return visible(child);
	return Array.isArray(child) ? child.map(shown) : child;
}

/** Makes a virtual node. All texts of all pages go through it, so none has invisible characters. */
function create(type, props, ...children) {
	for (const name of spoken) if (typeof props?.[name] === 'string') props[name] = visible(props[name]);
	return h(type, props, ...children.map(shown));
}

/** Returns virtual nodes from a template. @type {(parts: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(create);

export { render, useEffect, useLayoutEffect, useMemo, useRef, useState, signal, computed, effect, batch, useSignal, useComputed };
