// Formats numbers, times and changes. Pure: no DOM; the caller passes `now`. A no-break space separates a number and its unit.

/** A formatted number and its unit: `["1.24", "ms"]`. */
export type Scaled = readonly [number: string, unit: string];

interface Step {
  readonly factor: number;
  readonly unit: string;
}

const TIMES: readonly Step[] = [
  { factor: 3600e9, unit: "h" },
  { factor: 60e9, unit: "min" },
  { factor: 1e9, unit: "s" },
  { factor: 1e6, unit: "ms" },
  { factor: 1e3, unit: "µs" },
  { factor: 1, unit: "ns" },
];

const BYTES: readonly Step[] = [
  { factor: 1e12, unit: "TB" },
  { factor: 1e9, unit: "GB" },
  { factor: 1e6, unit: "MB" },
  { factor: 1e3, unit: "kB" },
  { factor: 1, unit: "B" },
];

const COUNTS: readonly Step[] = [
  { factor: 1e12, unit: "T" },
  { factor: 1e9, unit: "G" },
  { factor: 1e6, unit: "M" },
  { factor: 1e3, unit: "k" },
  { factor: 1, unit: "" },
];

/** How to scale the units of a measure: the steps, and the factor from the unit to the smallest step. */
interface ScaleSteps {
  readonly steps: readonly Step[];
  readonly base: number;
  readonly suffix: string;
}

const NAMES: Readonly<Record<string, readonly [readonly Step[], number]>> = {
  nanoseconds: [TIMES, 1],
  nanosecond: [TIMES, 1],
  ns: [TIMES, 1],
  microseconds: [TIMES, 1e3],
  microsecond: [TIMES, 1e3],
  us: [TIMES, 1e3],
  µs: [TIMES, 1e3],
  μs: [TIMES, 1e3],
  milliseconds: [TIMES, 1e6],
  millisecond: [TIMES, 1e6],
  ms: [TIMES, 1e6],
  seconds: [TIMES, 1e9],
  second: [TIMES, 1e9],
  s: [TIMES, 1e9],
  sec: [TIMES, 1e9],
  minutes: [TIMES, 60e9],
  minute: [TIMES, 60e9],
  min: [TIMES, 60e9],
  hours: [TIMES, 3600e9],
  hour: [TIMES, 3600e9],
  h: [TIMES, 3600e9],
  bytes: [BYTES, 1],
  byte: [BYTES, 1],
  b: [BYTES, 1],
  kilobytes: [BYTES, 1e3],
  kb: [BYTES, 1e3],
  megabytes: [BYTES, 1e6],
  mb: [BYTES, 1e6],
  gigabytes: [BYTES, 1e9],
  gb: [BYTES, 1e9],
  kib: [BYTES, 1024],
  mib: [BYTES, 1048576],
  gib: [BYTES, 1073741824],
};

function scaleSteps(units: string): ScaleSteps {
  const whole = units.trim();
  // The built-in measures use the form `nanoseconds (ns)`. `bytes/s` is a rate of a known unit.
  const plain = whole.replace(/\s*\([^)]*\)\s*$/, "").toLowerCase();
  const known = NAMES[plain];
  if (known) return { steps: known[0], base: known[1], suffix: "" };
  const symbol = /\(([^)]*)\)\s*$/.exec(whole)?.[1]?.trim();
  const rate = /^(.*?)\s*(?:\/|per)\s*(\w+)$/.exec(plain);
  const of = rate?.[1] === undefined ? undefined : NAMES[rate[1]];
  if (rate && of && of[0] === BYTES) return { steps: BYTES, base: of[1], suffix: `/${short(rate[2] ?? "")}` };
  const name = symbol || (rate ? `${rate[1]}/${short(rate[2] ?? "")}`.replace(/^\/$/, "") : plain);
  return { steps: COUNTS, base: 1, suffix: name === "units" ? "" : name };
}

function short(period: string): string {
  const names: Readonly<Record<string, string>> = {
    second: "s",
    seconds: "s",
    sec: "s",
    minute: "min",
    minutes: "min",
    hour: "h",
    hours: "h",
  };
  return names[period] ?? period;
}

/** The common factor and unit of a set of values. */
export interface Scale {
  readonly factor: number;
  readonly unit: string;
}

/** The most readable scale of a value. For an axis, pass the smallest or a typical value. */
export function scaleOf(value: number, units: string): Scale {
  const { steps, base, suffix } = scaleSteps(units);
  const size = Math.abs(value) * base;
  // 999.96 would round to 1,000.
  const step = steps.find(({ factor }) => size >= factor * 0.99995) ?? (steps.at(-1) as Step);
  const scaled = size === 0 ? (steps.find(({ factor }) => factor === base) ?? step) : step;
  const unit = scaled.unit && suffix && steps === COUNTS ? `${scaled.unit}\u00a0${suffix}` : scaled.unit + suffix;
  return { factor: scaled.factor / base, unit };
}

/** Formats a value with its unit, in its own scale or a shared one: `["1.24", "ms"]`. */
export function scaled(value: number, units: string, scale: Scale = scaleOf(value, units)): Scaled {
  return [significant(value / scale.factor), scale.unit];
}

/** Formats a value with its unit as one string: `1.24 ms`. */
export function value(number: number, units: string): string {
  const [digits, unit] = scaled(number, units);
  return unit ? `${digits}\u00a0${unit}` : digits;
}

/** Formats a size in binary units: `64 MiB`, `1.5 GiB`. */
export function binarySize(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return `${significant(bytes / 1024 ** power)} ${units[power]}`;
}

/** Four significant digits, but never fewer than the whole part has: `0.001234`, `12.35`, `12,346`. */
export function significant(number: number, digits = 4): string {
  if (!Number.isFinite(number)) return number > 0 ? "∞" : number < 0 ? "−∞" : "–";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-6 || size >= 1e15)) return minus(number.toExponential(digits - 1));
  const whole = size >= 1 ? Math.floor(Math.log10(size)) + 1 : size === 0 ? 1 : Math.floor(Math.log10(size)) + 1;
  const places = Math.min(Math.max(digits - whole, 0), 12);
  return minus(number.toLocaleString("en-US", { maximumFractionDigits: places }));
}

/** A count: `12,346`. */
export function count(number: number): string {
  return number.toLocaleString("en-US");
}

/** Formats a count with its noun: `1 benchmark`, `12 benchmarks`, `2 branches`. */
export function plural(number: number, noun: string): string {
  const many = /(s|x|ch|sh)$/.test(noun)
    ? `${noun}es`
    : /[^aeiou]y$/.test(noun)
      ? `${noun.slice(0, -1)}ies`
      : `${noun}s`;
  return `${count(number)} ${number === 1 ? noun : many}`;
}

/** Formats the change between two values: `+3.2 %`, `−0.4 %`, `±0 %`; large changes as a factor, `×12`. */
export function change(from: number, to: number): string {
  if (from === to) return "±0\u00a0%";
  if (from === 0 || !Number.isFinite(from) || !Number.isFinite(to)) return "–";
  return ratio((to - from) / Math.abs(from));
}

/** Formats a relative change: 0.032 is `+3.2 %`. */
export function ratio(part: number): string {
  const percent = part * 100;
  if (percent >= 900) return `×${significant(part + 1, 3)}`;
  const size = Math.abs(percent);
  const digits = size >= 100 ? 0 : size >= 9.995 ? 1 : 2;
  const text = String(Number(size.toFixed(digits)));
  if (text === "0") return "±0\u00a0%";
  return `${percent > 0 ? "+" : "−"}${text}\u00a0%`;
}

/** Formats a share without a sign: 0.032 is `3.2 %`. */
export function share(part: number): string {
  return ratio(part).replace(/^[+−±]/, "");
}

const AGO: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["week", 7 * 86400],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];

/** Formats a relative time: `3 days ago`, `2 weeks ago`, `in 2 hours`, `just now`; beyond one month, the date. */
export function relative(time: string | number | Date, now: number, zone?: string): string {
  const seconds = (new Date(time).getTime() - now) / 1000;
  if (Math.abs(seconds) >= 30 * 86400) return day(time, zone);
  if (Math.abs(seconds) < 45) return "just now";
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  // An age is truncated. A future time is rounded: 10 s after its creation, a mute of 7 days expires in 7 days, not in 6.
  const minutes = seconds > 0 ? Math.round(seconds / 60) : Math.min(Math.trunc(seconds / 60), -1);
  for (const [unit, length] of AGO) {
    const units = (minutes * 60) / length;
    if (Math.abs(units) < (unit === "week" ? 2 : 1)) continue;
    return words.format(seconds > 0 ? Math.round(units) : Math.trunc(units), unit);
  }
  return words.format(minutes, "minute");
}

/** Formats a time in the local time zone: `31 Jan 2026, 13:05`. */
export function moment(time: string | number | Date, zone?: string): string {
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: zone }).format(
    new Date(time),
  );
}

/** Formats a time with seconds and zone, for tooltips: `31 Jan 2026, 13:05:09 CET`. */
export function exactMoment(time: string | number | Date, zone?: string): string {
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long", timeZone: zone }).format(
    new Date(time),
  );
}

/** Formats a date in the local time zone: `31 Jan 2026`. */
export function day(time: string | number | Date, zone?: string): string {
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: zone }).format(new Date(time));
}

/** Formats a duration in seconds: `4 weeks`, `90 days`, `12 hours`. */
export function duration(seconds: number): string {
  for (const [unit, length] of AGO) {
    if (seconds >= length && seconds % length === 0) return plural(seconds / length, unit);
  }
  return plural(seconds, "second");
}

/** The short form of a commit hash. */
export function shortHash(hash: string): string {
  return hash.slice(0, 8);
}

function minus(text: string): string {
  return text.replace(/^-/, "−").replace(/e-/, "e−").replace("e+", "e");
}

/** Formats an elapsed time in seconds: `45 s`, `10 min 10 s`, `2 h 5 min`. */
export function elapsed(seconds: number): string {
  if (seconds < 60) return `${significant(seconds, 3)}\u00a0s`;
  const [hours, minutes, rest] = [
    Math.floor(seconds / 3600),
    Math.floor((seconds % 3600) / 60),
    Math.round(seconds % 60),
  ];
  if (hours) return minutes ? `${hours}\u00a0h ${minutes}\u00a0min` : `${hours}\u00a0h`;
  return rest ? `${minutes}\u00a0min ${rest}\u00a0s` : `${minutes}\u00a0min`;
}
