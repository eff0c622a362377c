import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonChange, JsonEvent, JsonPerfMetrics } from "../api.gen";
import { columns, metricUuid } from "./columns";
import { extentY, isLog, line, logTicks, lowerBound, padded, pointAfterKey, ticks, upperBound } from "./line";
import { byChange, changeMark, mainChange, type PerfLine } from "./lines";
import { isGroup, movedGroups, ofGroup } from "./moved";
import { changes, isComplete, parse, permutations, search } from "./query";
import { type Raster, trace } from "./raster";
import { referenceOf, relativeLine } from "./scale";
import { pointwise, thinned } from "./thin";
import { matches, rows, tree } from "./tree";

const named = (...names: string[]) => names.map((name) => ({ uuid: name, name }));

test("names are in groups, and a group of one is none", () => {
  const nodes = tree(named("codec/zstd/4k", "lexer", "parser::json::large", "parser::json::small", "parser::toml"));
  assert.deepEqual(
    nodes.map(({ label, leaves }) => [label, leaves.length]),
    [
      ["codec/zstd/4k", 1],
      ["lexer", 1],
      ["parser::", 3],
    ],
  );
  assert.deepEqual(
    nodes[2]?.children.map(({ label }) => label),
    ["json::", "toml"],
  );
  assert.deepEqual(
    rows(nodes, (node) => node.path === "parser::").map(({ node, depth }) => `${depth} ${node.label}`),
    ["0 codec/zstd/4k", "0 lexer", "0 parser::", "1 json::", "1 toml"],
  );
  assert.deepEqual(
    tree(named("a/", "::", "b::")).map(({ label }) => label),
    ["a/", "::", "b::"],
  );
});

test("a name is found by words in any order", () => {
  assert.ok(matches("parser::JSON::large", "large json"));
  assert.ok(!matches("parser::json", "json toml"));
});

test("thousands of names are grouped at once", () => {
  const many = Array.from({ length: 2000 }, (_, place) => `suite_${place % 20}::case_${place}`).sort();
  assert.equal(tree(named(...many)).length, 20);
});

test("an address is read and written the same", () => {
  const address =
    "branches=b1%2Cb2&heads=%2Ch2&testbeds=t&benchmarks=x%2Cy&measures=m&start_time=5" +
    "&x_axis=version&y_axis=log&upper_boundary=true&zoom=3_9&hidden=1&relative=median&layout=multiples&isolated=2";
  const query = parse(Object.fromEntries(new URLSearchParams(address)));
  assert.deepEqual(query.heads, ["", "h2"]);
  assert.deepEqual(query.zoom, [3, 9]);
  assert.ok(isComplete(query) && permutations(query) === 4);
  assert.deepEqual(parse(Object.fromEntries(new URLSearchParams(search(query)))), query);
  assert.equal(parse({ range: "version" }).x_axis, "version");
  assert.equal(parse({ zoom: "9_3", start_time: "soon" }).zoom, undefined);
  assert.equal(parse({ relative: "toString" }).relative, undefined);
  assert.deepEqual(changes({ heads: ["", ""], y_axis: "auto", key: true, lower_value: false }), {
    heads: undefined,
    y_axis: undefined,
    key: undefined,
    lower_value: undefined,
  });
});

test("ticks are round, and few enough", () => {
  assert.deepEqual(ticks([0.02, 0.53], 6), [0.1, 0.2, 0.30000000000000004, 0.4, 0.5]);
  assert.deepEqual(ticks([0, 180e9], 4, 60e9), [0, 60e9, 120e9, 180e9]);
  assert.deepEqual(ticks([5, 5], 4), []);
  assert.deepEqual(logTicks([0.5, 2000], 12), [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]);
  assert.deepEqual(logTicks([1, 1e6], 4), [1, 100, 10_000, 1e6]);
});

test("an axis is logarithmic when asked or far, and never when something is not positive", () => {
  const of = (low: number, high: number) => ({ low, high, positive: 1 });
  assert.ok(isLog("auto", of(1, 10)) && isLog("log", of(5, 6)));
  assert.ok(
    !isLog("auto", of(1, 9.9)) && !isLog("linear", of(1, 1e6)) && !isLog("log", of(0, 5)) && !isLog("log", of(-1, 5)),
  );
  const [from, to] = padded(of(3, 3), false);
  assert.ok(from < 3 && to > 3);
  assert.equal(padded(of(0.1, 10), false)[0], 0);
});

test("an extent holds what is seen, and what is drawn with it", () => {
  const made = {
    ...line({
      id: "a",
      label: "a",
      units: "ns",
      points: [
        [3, 30],
        [1, 10],
        [2, null],
      ],
    }),
    upperLimit: Float64Array.of(12, 22, NaN),
  };
  assert.deepEqual([...made.x], [1, 2, 3]);
  assert.deepEqual(extentY([made], {}, [1, 2]), { low: 10, high: 10, positive: 10 });
  assert.equal(extentY([made], { upper_boundary: true }, [1, 2])?.high, 22);
  assert.equal(extentY([made], {}, [1.5, 2.5]), undefined);
  assert.equal(extentY([{ ...made, y: Float64Array.of(Infinity, 1, 2) }], {}, [1, 3])?.high, 2);
  assert.deepEqual([lowerBound(made.x, 2), upperBound(made.x, 2), lowerBound(made.x, 9)], [1, 2, 3]);
});

test("an answer becomes columns in the order of time", () => {
  const uuid = (digit: number) => `0${digit}9a87bc-d2db-7325-a437-1735f32c547${digit}`;
  const metric = (digit: number, day: number, more: object = {}) => ({
    report: uuid(digit),
    iteration: 0,
    start_time: `2026-01-0${day}T00:00:00Z`,
    end_time: `2026-01-0${day}T00:01:00Z`,
    version: { number: digit, hash: null },
    metric: { uuid: uuid(digit), value: digit },
    ...more,
  });
  const alert = { uuid: uuid(9), limit: "upper", status: "active", modified: "2026-01-01T00:00:00Z" };
  const result = {
    branch: {},
    testbed: {},
    benchmark: {},
    measure: {},
    metrics: [metric(1, 5), metric(2, 3, { alert, boundary: { baseline: 1.5 } })],
  };
  const [series] = columns([result as unknown as JsonPerfMetrics]);
  assert.ok(series);
  assert.deepEqual([...series.value], [2, 1]);
  assert.deepEqual(
    Array.from(series.run, (run) => series.runs.number[run]),
    [2, 1],
  );
  assert.deepEqual([...(series.baseline ?? [])], [1.5, NaN]);
  assert.equal(series.lower, undefined);
  assert.equal(series.alerts[0]?.at, 0);
  assert.equal(metricUuid(series, 0), uuid(2));
});

test("a line is thinned to columns that keep its peaks, its ends and its gaps", () => {
  const x = Float64Array.from({ length: 1000 }, (_, place) => place);
  const y = Float64Array.from(x, (at) => (at === 555 ? 99 : at >= 600 && at < 650 ? NaN : at % 10));
  const made = thinned(x, y, 10.5);
  const width = 2 ** (Math.floor(Math.log2(10.5) * 2) / 2);
  assert.ok(width <= 10.5 && made.x.length < 1000 / width + 3);
  assert.equal(Math.max(...[...made.high].filter((value) => !Number.isNaN(value))), 99);
  assert.equal(made.open.filter(Number.isNaN).length, 1);
  assert.equal(made.open[0], 0);
  assert.equal(made.close.at(-1), 9);
  assert.equal(thinned(x, y, 10.4), made, "a width that is hardly another needs no new columns");
  assert.notEqual(thinned(x, y, 21), made);
  assert.equal(
    thinned(
      Float64Array.from(x, (at) => 2 * at),
      y,
      21,
    ).x.at(-1),
    Math.floor(1998 / (2 * width)) * 2 * width,
  );
});

test("an extent is the same over many numbers", () => {
  const x = Float64Array.from({ length: 1000 }, (_, place) => place);
  const y = Float64Array.from(x, (at) => (at % 7 ? 500 - at : NaN));
  const made = { ...line({ id: "a", label: "a", units: "ns", points: [] }), x, y };
  for (const [from, to] of [
    [0, 999],
    [63, 64],
    [64, 127],
    [1, 700],
    [130, 131],
  ] as const) {
    const seen = [...y.subarray(from, to + 1)].filter((value) => !Number.isNaN(value));
    const positive = Math.min(...seen.filter((value) => value > 0));
    assert.deepEqual(extentY([made], {}, [from, to]), { low: Math.min(...seen), high: Math.max(...seen), positive });
  }
});

test("a traced line holds together, ends at its gaps and stays within the picture", () => {
  const [width, height] = [40, 20];
  const drawn = (x: number[], y: number[], dash?: readonly [number, number]) => {
    const on = { image: { width, height }, pixels: new Uint32Array(width * height) } as unknown as Raster;
    trace(on, pointwise(Float64Array.from(x), Float64Array.from(y)), [0, width], [0, height], false, {
      color: 1,
      width: 1,
      ...(dash ? { dash } : {}),
    });
    return Array.from({ length: width }, (_, column) =>
      Array.from({ length: height }, (_, row) => on.pixels[row * width + column] as number),
    );
  };
  const filled = (columns: number[][]) => columns.flatMap((column, place) => (column.includes(1) ? [place] : []));
  assert.deepEqual(
    filled(drawn([-30, 100], [5, 15])),
    Array.from({ length: width }, (_, place) => place),
  );
  assert.deepEqual(filled(drawn([2, 4, 6, 8], [5, NaN, 9, 9])), [2, 6, 7, 8]);
  assert.deepEqual(filled(drawn([0, 6], [5, 5], [2, 1])), [0, 1, 3, 4, 6]);
  // From the bottom to the top between two columns without a gap.
  const steep = drawn([10, 11], [0.5, 19.5]);
  const covered = steep[10]?.map((pixel, row) => pixel || steep[11]?.[row]);
  assert.ok(covered?.every(Boolean));
});

test("keys move along a line and to the nearest point of the next line", () => {
  const make = (id: string, ...xs: number[]) => line({ id, label: id, units: "", points: xs.map((x) => [x, 1]) });
  const lines = [make("a", 1, 2, 3, 4), make("b", 3, 5)];
  const after = (key: string, at?: { line: number; at: number }) => pointAfterKey(key, lines, at, [2, 4]);
  assert.deepEqual(after("ArrowRight"), { line: 0, at: 1 });
  assert.deepEqual(after("ArrowRight", { line: 0, at: 1 }), { line: 0, at: 2 });
  assert.deepEqual(after("ArrowRight", { line: 0, at: 3 }), { line: 0, at: 3 });
  assert.deepEqual(after("ArrowLeft", { line: 0, at: 0 }), { line: 0, at: 0 });
  assert.deepEqual(after("ArrowDown", { line: 0, at: 2 }), { line: 1, at: 0 });
  assert.deepEqual(after("ArrowUp", { line: 0, at: 3 }), { line: 1, at: 1 });
  assert.deepEqual(after("Home", { line: 0, at: 3 }), { line: 0, at: 1 });
  assert.deepEqual(after("End"), { line: 0, at: 2 });
  assert.equal(after("x"), undefined);
  assert.equal(pointAfterKey("Home", [], undefined, [0, 1]), undefined);
});

/** A change at a version, on a series of the benchmark. */
function changed(benchmark: string, number: number, effect: number | null, more: object = {}): JsonChange {
  const start_time = new Date(number * 864e5).toISOString();
  return {
    uuid: `${benchmark}-${number}`,
    branch: { uuid: "main", head: { uuid: "head" } },
    testbed: { uuid: "ci" },
    benchmark: { uuid: benchmark },
    measure: { uuid: "latency" },
    at: { version: { number }, start_time },
    before: 50,
    status: "open",
    effect,
    ...more,
  } as unknown as JsonChange;
}

function perfLine(
  id: string,
  ys: readonly (number | null)[],
  changes: JsonChange[] = [],
  series: object = {},
): PerfLine {
  const made = line({ id, label: id, units: "ns", points: ys.map((y, place) => [place + 1, y]) });
  return {
    ...made,
    right: true,
    order: undefined,
    changes: changes.map((change) => changeMark(change, "version")),
    series: series as PerfLine["series"],
  };
}

test("a line is converted to percent of its first value or its median", () => {
  const made = { ...perfLine("a", [null, 40, 50, 30, 60]), upperLimit: Float64Array.of(NaN, 80, 80, 80, 80) };
  const first = relativeLine(made, "first");
  assert.deepEqual([...(first?.y ?? [])], [NaN, 100, 125, 75, 150]);
  assert.deepEqual([...(first?.upperLimit ?? [])], [NaN, 200, 200, 200, 200]);
  assert.equal(first?.units, "% of first value");
  assert.equal(first?.right, false, "lines with different units share the left axis");
  assert.equal(first?.reference?.value, 40);
  assert.equal(referenceOf(made, "median")?.value, 45);
  assert.equal(made.y[1], 40, "the line itself is unchanged");
});

test("the baseline is the level before the newest change, then that of a threshold, then the first value", () => {
  const values = [10, 11, 20, 21];
  const of = (changes: JsonChange[], series: object = {}) =>
    referenceOf(perfLine("a", values, changes, series), "baseline");
  const changes = [changed("a", 3, 1, { before: 10.5 }), changed("a", 2, 0.1, { before: 9 })];
  assert.deepEqual(of(changes), { value: 10.5, about: "level before the change at #3" });
  assert.equal(of([changed("a", 9, 1)])?.value, 10, "a change after the last value does not count");
  assert.equal(of([changed("a", 3, 1, { status: "false_alarm" })])?.value, 10);
  const threshold = { baseline: Float64Array.of(NaN, 12, 13, NaN) };
  assert.deepEqual(of([], threshold), { value: 13, about: "baseline of the threshold at the newest value" });
  assert.equal(of(changes, threshold)?.value, 10.5);
  assert.match(of([])?.about ?? "", /^first value/);
});

test("a line without a reference value has no relative scale", () => {
  assert.equal(relativeLine(perfLine("a", [0, 1]), "first"), undefined);
  assert.equal(relativeLine(perfLine("a", [null]), "median"), undefined);
});

test("lines with a change come first: open ones, then the largest", () => {
  const lines = [
    perfLine("level", [1, 1, 1]),
    perfLine("small", [1, 1, 1], [changed("small", 2, -0.1)]),
    perfLine("expected", [1, 1, 1], [changed("expected", 2, 3, { status: "expected" })]),
    perfLine("earlier", [1, 1, 1], [changed("earlier", 0, 9)]),
    perfLine("false", [1, 1, 1], [changed("false", 2, 9, { status: "false_alarm" })]),
    perfLine("large", [1, 1, 1], [changed("large", 2, 0.01), changed("large", 3, 0.5)]),
    perfLine("from zero", [1, 1, 1], [changed("from zero", 2, null)]),
  ];
  assert.deepEqual(
    byChange(lines).map(({ id }) => id),
    ["from zero", "large", "small", "expected", "level", "earlier", "false"],
  );
  assert.equal(mainChange(lines[5] as PerfLine)?.effect, 0.5);
});

test("recent changes are in groups that one plot shows", () => {
  const now = 100 * 864e5;
  const event = (day: number, changes: JsonChange[], status = "open") =>
    ({ status, start_time: new Date(day * 864e5).toISOString(), changes }) as unknown as JsonEvent;
  const on = (testbed: string) => ({ testbed: { uuid: testbed } });
  const groups = movedGroups(
    [
      event(99, [changed("a", 99, 0.1), changed("b", 99, -0.4), changed("b", 99, -0.3, on("arm"))]),
      event(98, [changed("c", 98, 9)], "false_alarm"),
      event(60, [changed("d", 60, 9)]),
      event(97, [changed("e", 97, 0.2, { measure: { uuid: "memory" } })], "expected"),
    ],
    now,
  );
  assert.deepEqual(
    groups.map(({ measure, testbeds, benchmarks }) => [measure.uuid, testbeds.map(({ uuid }) => uuid), benchmarks]),
    [
      ["latency", ["ci", "arm"], ["b", "a"]],
      ["memory", ["ci"], ["e"]],
    ],
  );
  const [first, second] = groups;
  assert.ok(first && second);
  const query = { ...parse({}), ...ofGroup(first) };
  assert.equal(query.relative, "baseline");
  assert.equal(query.start_time, 69 * 864e5);
  assert.ok(isGroup(first, query) && !isGroup(second, query));
  // Most lines of the common plot would not have changed.
  const sparse = ["a", "b", "c"].map((name) => changed(name, 99, 0.1));
  assert.equal(movedGroups([event(99, [...sparse, changed("d", 99, 0.1, on("arm"))])], now).length, 1);
  const more = ["e", "f", "g"].map((name, place) => changed(name, 99, 0.1, on(`machine ${place}`)));
  assert.equal(movedGroups([event(99, [...sparse, ...more])], now).length, 4);
});
