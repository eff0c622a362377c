// Patterns of names, as in the filters of notices and in mutes: `*` matches any number of characters. Pure.

/** Maximum length of a pattern in characters. */
export const PATTERN_MAX = 255;

/** The pattern that matches a name. A pattern is shorter than the longest names. */
export function patternOf(name: string): string {
  const characters = [...name];
  return characters.length > PATTERN_MAX ? `${characters.slice(0, PATTERN_MAX - 1).join("")}*` : name;
}

/** Whether a pattern matches the whole name; `*` matches any number of characters. */
export function matchesPattern(pattern: string, name: string): boolean {
  const parts = pattern.split("*");
  const first = parts.shift() ?? "";
  if (!name.startsWith(first)) return false;
  let rest = name.slice(first.length);
  const last = parts.pop();
  if (last === undefined) return rest === "";
  for (const part of parts) {
    const place = rest.indexOf(part);
    if (place < 0) return false;
    rest = rest.slice(place + part.length);
  }
  return rest.endsWith(last);
}
