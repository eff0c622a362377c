import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { describeRight, example, matches, operations, resolve, type Spec, typeText, unwrapNullable } from "./openapi";

const spec = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")) as Spec;

test("every operation has a name, a summary and a right in words", () => {
  const all = operations(spec);
  assert.ok(all.length > 90);
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
  for (const operation of all) {
    assert.ok(operation.summary, operation.id);
    assert.doesNotMatch(describeRight(operation["x-right"]), /undefined|“”/, operation.id);
  }
});

test("operations are found by words in any order", () => {
  const found = operations(spec).filter((operation) => matches(operation, "perf GET projects"));
  assert.deepEqual(found.map(({ id }) => id).slice(0, 1), ["proj_perf_get"]);
});

test("a body's example has what is required, and the whole one everything", () => {
  const schema = { $ref: "#/components/schemas/JsonNewReport" };
  const least = example(spec, schema, false) as Record<string, unknown>;
  assert.deepEqual(Object.keys(least).sort(), ["branch", "end_time", "results", "start_time", "testbed"]);
  assert.equal(least.branch, "main");
  const whole = example(spec, schema, true) as Record<string, unknown>;
  assert.ok(Object.keys(whole).length > 5);
});

test("types are said in words", () => {
  const { schemas } = spec.components;
  assert.equal(typeText(spec, { $ref: "#/components/schemas/BranchUuid" }), "string (uuid)");
  assert.equal(
    typeText(spec, { type: "array", items: { $ref: "#/components/schemas/JsonBranch" } }),
    "list of JsonBranch",
  );
  assert.equal(typeText(spec, schemas.JsonBranch?.properties?.archived ?? {}), "string (date-time) or null");
  assert.equal(unwrapNullable({ type: ["integer", "null"] }).nullable, true);
  assert.ok(resolve(spec, { $ref: "#/components/schemas/Adapter" }).enum?.includes("magic"));
});
