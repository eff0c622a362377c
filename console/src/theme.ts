// Light or dark: as the system has it, or as the reader chose. The colors are in theme.css.

import { createSignal } from "solid-js";

export type Theme = "system" | "light" | "dark";

const KEY = "tidemark-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const [chosen, setChosen] = createSignal<Theme>(read());
const [systemDark, setSystemDark] = createSignal(dark.matches);
dark.addEventListener("change", () => setSystemDark(dark.matches));

export { chosen as theme };

/** Whether the page is dark now. Whoever draws on a canvas follows this. */
export const isDark = (): boolean => (chosen() === "system" ? systemDark() : chosen() === "dark");

export function setTheme(theme: Theme): void {
  setChosen(theme);
  if (theme === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  apply();
}

/** Before the first paint. */
export function apply(): void {
  if (chosen() === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen();
}

/** A color of theme.css as a canvas takes it, such as `brand` or `line-3`. */
export function color(name: string): string {
  isDark();
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** The color of the nth series; there are ten. */
export function lineColor(place: number): string {
  return color(`line-${(place % 10) + 1}`);
}

function read(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}
