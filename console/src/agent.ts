// Names of programs from their user agents.

/** Products in the order in which they are recognized: the agents of most browsers also name Chrome and Safari. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg(?:e|A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/SamsungBrowser\//, "Samsung Internet"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrom(?:e|ium)\/|CriOS\//, "Chrome"],
  [/Safari\//, "Safari"],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/Windows/, "Windows"],
  [/iPhone|iPad|iPod/, "iOS"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/Android/, "Android"],
  [/CrOS/, "ChromeOS"],
  [/Linux|X11/, "Linux"],
];

/** A user agent as "Firefox on Linux"; that of a program that is no browser as it is. */
export function programName(agent: string): string {
  const find = (names: typeof BROWSERS) => names.find(([pattern]) => pattern.test(agent))?.[1];
  const browser = find(BROWSERS);
  if (!agent.startsWith("Mozilla/") || !browser) return agent;
  const system = find(SYSTEMS);
  return system ? `${browser} on ${system}` : browser;
}
