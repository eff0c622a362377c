import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ModelTest } from "../api.gen";
import { crossedLimit, FACTS, prepare, type Side } from "./limits";
import { mean } from "./moments";
import { normal, student } from "./quantile";
import { replay } from "./replay";

function close(actual: number | undefined, expected: number | undefined, tolerance: number, what: string): void {
  if (actual === undefined || expected === undefined) {
    assert.equal(actual, expected, what);
    return;
  }
  assert.ok(
    Math.abs(actual - expected) <= tolerance * Math.max(Math.abs(expected), 1),
    `${what}: ${actual} instead of ${expected}`,
  );
}

const D1 = [102, 98, 100, 101, 99];
const D2 = [10, 12];
const D3 = [100, 105, 95, 110, 90, 100];
const no = undefined;

type Example = [
  name: string,
  test: ModelTest,
  sample: number[],
  boundaries: [number?, number?],
  expected: [number?, number?, number?],
  verdicts: [number, Side?][],
];

/** Computed by hand or with other tools, to eight digits. */
const EXAMPLES: Example[] = [
  ["S1", "static", [15], [10, 20], [no, 10, 20], [[20], [20.0001, "upper"], [10], [9.9999, "lower"]]],
  ["S2", "static", [15], [no, 20], [no, no, 20], [[5]]],
  ["S3", "static", [], [10, 20], [no, 10, 20], [[99, "upper"]]],
  ["P1", "percentage", [100, 110, 90], [0.1, 0.1], [100, 90, 110], [[110], [111, "upper"]]],
  ["P2", "percentage", [50], [no, 0.25], [50, no, 62.5], [[63, "upper"]]],
  ["P3", "percentage", [10, 20, 30, 40], [0.5, 2], [25, 12.5, 75], [[12, "lower"]]],
  ["P4", "percentage", [-10, -20], [0.1, 0.1], [-15, -16.5, -13.5], [[-15], [-13, "upper"], [-17, "lower"]]],
  ["Z1", "z_score", D1, [0.95, 0.95], [100, 97.39925806, 102.60074194], [[103, "upper"]]],
  ["Z2", "z_score", D2, [no, 0.99], [11, no, 14.28995271], [[14]]],
  ["Z3", "z_score", D3, [0.977, 0.977], [100, 85.89043859, 114.10956141], [[85, "lower"]]],
  ["T1", "t_test", D1, [0.95, 0.95], [100, 96.30753305, 103.69246695], [[103]]],
  ["T2", "t_test", D2, [no, 0.99], [11, no, 66.11475035], [[60]]],
  ["T3", "t_test", D3, [0.977, 0.977], [100, 79.83995208, 120.16004792], [[121, "upper"]]],
  ["T4", "t_test", D1, [no, 0.99], [100, no, 106.48990325], [[106.49, "upper"]]],
  ["L1", "log_normal", D1, [0.95, 0.95], [99.9899988, 97.42271004, 102.6249409], [[97, "lower"]]],
  ["L2", "log_normal", [1, 10], [0.95, 0.95], [3.16227766, 0.21722652, 46.03489466], [[0.001, "lower"], [0.5]]],
  ["L3", "log_normal", [50, 60, 55, 70, 65], [0.9, 0.9], [59.57980372, 50.2442577, 70.64992448], [[71, "upper"]]],
  ["I1", "iqr", D1, [1.5, 1.5], [100, 97, 103], [[103]]],
  ["I2", "iqr", D2, [no, 1], [11, no, 12], [[12.1, "upper"]]],
  ["I3", "iqr", [10, 12, 11, 50], [3, 3], [11.5, -20.75, 43.75], [[45, "upper"]]],
  ["I4", "iqr", [7], [1.5, 1.5], [7, 7, 7], [[7], [7.01, "upper"]]],
  ["D1", "delta_iqr", D1, [1.5, 1.5], [100, 98.83621617, 101.16378383], [[102, "upper"]]],
  ["D2", "delta_iqr", [99, 101, 100, 98, 102], [1.5, 1.5], [100, 98.81794761, 101.18205239], []],
  ["D3", "delta_iqr", [65, 70, 55, 60, 50], [2, 2], [60, 49.06093906, 70.93906094], [[71, "upper"]]],
  ["D4", "delta_iqr", [12, 10], [2, 2], [11, 11, 11], [[11.5, "upper"]]],
];

test("every model gives the worked numbers", () => {
  for (const [name, kind, sample, [lower_boundary, upper_boundary], [baseline, lower, upper], verdicts] of EXAMPLES) {
    const limits = prepare({ test: kind, lower_boundary, upper_boundary }).limits(Float64Array.from(sample));
    assert.ok(limits, name);
    close(limits.baseline, baseline, 0.51e-8, `${name} baseline`);
    close(limits.lower, lower, 0.51e-8, `${name} lower`);
    close(limits.upper, upper, 0.51e-8, `${name} upper`);
    for (const [value, verdict] of verdicts)
      assert.equal(crossedLimit(value, limits), verdict, `${name} judges ${value}`);
  }
});

/**
 * The results of crates/stats for random samples, exact to the last digit; crates/stats/tests/console.rs checks this
 * file.
 */
test("every model agrees with the server", () => {
  const lines = readFileSync(join(import.meta.dirname, "server.tsv"), "utf8")
    .trim()
    .split("\n");
  const number = (text: string | undefined) => (text ? Number(text) : undefined);
  assert.ok(lines.length > 200);
  for (const line of lines) {
    const [kind, low, high, values, baseline, lower, upper] = line.split("\t");
    const model = { test: kind as ModelTest, lower_boundary: number(low), upper_boundary: number(high) };
    const limits = prepare(model).limits(Float64Array.from(values ? values.split(",").map(Number) : []));
    close(limits?.baseline, number(baseline), 1e-11, `${line} baseline`);
    close(limits?.lower, number(lower), 1e-11, `${line} lower`);
    close(limits?.upper, number(upper), 1e-11, `${line} upper`);
  }
});

test("quantiles agree with SciPy", () => {
  const rows: [p: number, normal: number, one: number, four: number, many: number][] = [
    [0.51, 0.02506890825871106, 0.03142626604335125, 0.02667061830264906, 0.025168644685130196],
    [0.75, 0.6744897501960817, 1.0000000000000002, 0.7406970841126829, 0.6784039610578574],
    [0.95, 1.6448536269514722, 6.313751514675037, 2.1318467863266495, 1.6694022217068127],
    [0.999, 3.090232306167813, 318.30883898555015, 7.173182219782307, 3.224708738545393],
    [0.999999999, 5.997807019601637, 318309895.1862093, 234.02761206090787, 6.999812327523228],
    [0.9999999999999999, 8.209536151601387, 2867080569611329.5, 12821.172749967061, 11.048060182092978],
  ];
  for (const [p, ...expected] of rows) {
    const actual = [normal(p), student(p, 1), student(p, 4), student(p, 63)];
    for (const [place, quantile] of actual.entries()) {
      assert.ok(Math.abs(quantile / (expected[place] ?? 0) - 1) < 1e-12, `p ${p}, ${place}: ${quantile}`);
    }
  }
});

test("equal values have that mean, and small values survive large ones", () => {
  for (const value of [0.1, 1 / 3, 1e-300, 12345.6789, 2.2e290, -0.7]) {
    for (let count = 1; count < 200; count++)
      assert.equal(mean(new Float64Array(count).fill(value)), value, `${count} times ${value}`);
  }
  assert.equal(mean([1e16, 1, -1e16, 1]), 0.5);
});

test("a sample that says nothing gives no limits", () => {
  for (const kind of Object.keys(FACTS) as ModelTest[]) {
    const limits = (model: object, sample: number[]) =>
      prepare({ test: kind, ...model }).limits(Float64Array.from(sample)) !== undefined;
    assert.equal(limits({}, D1), false, `${kind} without boundaries`);
    assert.equal(limits({ upper_boundary: 0.95 }, []), kind === "static", `${kind} without values`);
    assert.equal(
      limits({ upper_boundary: 0.95 }, [5]),
      ["static", "percentage", "iqr"].includes(kind),
      `${kind} with one value`,
    );
    assert.equal(
      limits({ upper_boundary: 0.95, min_sample_size: 6 }, D1),
      kind === "static",
      `${kind} short of its minimum`,
    );
  }
  for (const sample of [
    [0, 1],
    [0, 0],
    [1, 0, 1],
    [0, 0, 0, 5],
  ]) {
    assert.equal(prepare({ test: "delta_iqr", upper_boundary: 2 }).limits(Float64Array.from(sample)), undefined);
  }
  assert.ok(
    prepare({ test: "delta_iqr", upper_boundary: 2 }).limits(
      Float64Array.from([100, 101, 102, 100, 99, 98, 100, 0, 100]),
    ),
  );
});

test("a history is judged by what came before, within the window", () => {
  const hour = 3600e3;
  const points = [100, 100, 999999, 100].map((value, place) => ({ time: place * hour, value }));
  const model = { test: "percentage", min_sample_size: 2, upper_boundary: 0.01 } as const;
  assert.deepEqual(
    replay(points, model).map(({ side }) => side),
    [undefined, undefined, "upper", undefined],
  );
  close(replay(points, model)[3]?.limits?.baseline, 333399.6666666667, 1e-11, "the outlier is in the sample");
  const short = replay(points, { ...model, min_sample_size: 1, window: 3600 });
  assert.equal(short[3]?.limits?.baseline, 999999);
  // Excludes a value that was sent later but ran earlier.
  const late = replay(
    [
      { time: 5 * hour, value: 7 },
      { time: 0, value: 9 },
    ],
    { test: "percentage", upper_boundary: 1 },
  );
  assert.equal(late[1]?.limits, undefined);
});
