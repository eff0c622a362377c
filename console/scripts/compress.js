// Compresses the output of Vite from `build` into `dist`, which crates/server/build.rs embeds into the binary.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const root = dirname(import.meta.dirname);
const [from, to] = [join(root, "build"), join(root, "dist")];

let total = 0;
const made = new Set([".gitignore"]);
for (const name of readdirSync(from, { recursive: true })) {
  const file = join(from, name);
  if (statSync(file).isDirectory()) continue;
  const content = readFileSync(file);
  const packed = brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });
  const target = `${name}.br`;
  made.add(target);
  total += packed.length;
  // Leaves unchanged files untouched. Otherwise cargo would rebuild the server.
  if (existsSync(join(to, target)) && readFileSync(join(to, target)).equals(packed)) continue;
  mkdirSync(dirname(join(to, target)), { recursive: true });
  writeFileSync(join(to, target), packed);
}
for (const name of readdirSync(to, { recursive: true })) {
  if (!made.has(name) && !statSync(join(to, name)).isDirectory()) rmSync(join(to, name));
}
console.log(`The console is ${(total / 1024).toFixed(1)} KiB, compressed.`);
