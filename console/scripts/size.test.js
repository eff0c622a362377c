// Checks the size of the first load of each page. Run it after `npm run build`.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

const root = dirname(import.meta.dirname);
const size = (path) => statSync(join(root, "dist", `${path}.br`)).size;

/** A file and all its static imports. */
function closure(path, found = new Set()) {
  if (found.has(path)) return found;
  found.add(path);
  const text = readFileSync(join(root, "build", path), "utf8");
  for (const [, name] of text.matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g))
    closure(`assets/${name}`, found);
  return found;
}

/** All files that index.html references, and their static imports. */
function start() {
  const html = readFileSync(join(root, "build/index.html"), "utf8");
  const named = [...html.matchAll(/(?:src|href)="\/([^"]+)"/g)].map(([, path]) => path);
  return named.flatMap((path) => (path.endsWith(".js") ? [...closure(path)] : [path]));
}

test("the first load is under 150 KB, whichever page it is", () => {
  const first = new Set(["index.html", ...start()]);
  const base = [...first].reduce((sum, path) => sum + size(path), 0);
  for (const name of readdirSync(join(root, "build/assets")).filter((name) => name.endsWith(".js"))) {
    const more = [...closure(`assets/${name}`)].filter((path) => !first.has(path));
    const total = base + more.reduce((sum, path) => sum + size(path), 0);
    assert.ok(total < 150_000, `${name} makes the first load ${total} bytes`);
  }
  console.log(`The first load is ${base} bytes in ${first.size} files, and the page.`);
});

test("nothing in the start page is inline", () => {
  const html = readFileSync(join(root, "build/index.html"), "utf8");
  assert.doesNotMatch(html, /<style|style=|<script(?![^>]*src=)|\son\w+=/);
});
