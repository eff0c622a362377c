// Compresses the output of Vite from `build` into `dist`, which crates/server/build.rs embeds into the binary.
// With arguments (`compress.js FROM TO NAME`), compresses another folder: `cargo xtask docs` does this with the manual.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const root = dirname(import.meta.dirname);
const [from = join(root, "build"), to = join(root, "dist"), name = "The console"] = process.argv.slice(2);

let total = 0;
const made = new Set([".gitignore"]);
for (const path of readdirSync(from, { recursive: true })) {
  const file = join(from, path);
  if (statSync(file).isDirectory()) continue;
  const content = readFileSync(file);
  const packed = brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });
  const target = `${path}.br`;
  made.add(target);
  total += packed.length;
  // Leaves unchanged files untouched. Otherwise cargo would rebuild the server.
  if (existsSync(join(to, target)) && readFileSync(join(to, target)).equals(packed)) continue;
  mkdirSync(dirname(join(to, target)), { recursive: true });
  writeFileSync(join(to, target), packed);
}
for (const path of readdirSync(to, { recursive: true })) {
  if (!made.has(path) && !statSync(join(to, path)).isDirectory()) rmSync(join(to, path));
}
console.log(`${name} is ${(total / 1024).toFixed(1)} KiB, compressed.`);
