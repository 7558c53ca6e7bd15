// Light and dark: the system's choice until the user makes one; and the colours for the canvases.

const KEY = "projected_control.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = [];
const known = new Map();

function chosen() {
  return localStorage.getItem(KEY) || (dark.matches ? "dark" : "light");
}

function apply() {
  document.documentElement.dataset.theme = chosen();
  known.clear();
  for (const listener of listeners) listener();
}

export function onTheme(listener) {
  listeners.push(listener);
  listener();
}

export function toggleTheme() {
  localStorage.setItem(KEY, chosen() === "dark" ? "light" : "dark");
  apply();
}

export function colour(name) {
  if (!known.has(name)) {
    known.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  }
  return known.get(name);
}

// A colour of the theme as red, green, blue between 0 and 1.
export function rgb(name) {
  const hex = colour(name).replace("#", "");
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
}

dark.addEventListener("change", apply);
apply();
