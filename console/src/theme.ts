// The light or dark theme: the system setting or the choice of the user. The colors are in theme.css.

import { createSignal } from "solid-js";

export type Theme = "system" | "light" | "dark";

const KEY = "tidemark-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const [chosen, setChosen] = createSignal<Theme>(read());
const [systemDark, setSystemDark] = createSignal(dark.matches);
dark.addEventListener("change", () => setSystemDark(dark.matches));

export { chosen as theme };

/** Whether the page is dark. Code that draws on a canvas depends on it. */
export const isDark = (): boolean => (chosen() === "system" ? systemDark() : chosen() === "dark");

export function setTheme(theme: Theme): void {
  setChosen(theme);
  if (theme === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  apply();
}

/** Runs before the first paint. */
export function apply(): void {
  if (chosen() === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen();
}

/** A color of theme.css in canvas format, such as `brand` or `line-3`. */
export function color(name: string): string {
  isDark();
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** The color of the nth series; there are ten colors. */
export function lineColor(place: number): string {
  return color(`line-${(place % 10) + 1}`);
}

function read(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}
