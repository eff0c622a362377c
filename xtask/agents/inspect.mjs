// Runs the command line of the MCP inspector for each line of standard input, a JSON list of its arguments, and prints
// what it printed as a JSON string. One process for all: starting Node.js and loading the inspector takes a second.
//
// Usage: inspect.mjs CLI, the file that `mcp-inspector --cli` runs.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const cli = process.argv[2];
const { runCli } = await import(pathToFileURL(cli));
const print = process.stdout.write.bind(process.stdout);

for await (const line of createInterface({ input: process.stdin })) {
  let printed = "";
  process.stdout.write = (chunk, encoding, done) => {
    printed += chunk;
    (typeof encoding === "function" ? encoding : done)?.();
    return true;
  };
  try {
    await runCli([process.execPath, cli, ...JSON.parse(line)]);
  } catch (error) {
    printed ||= String(error);
  }
  process.stdout.write = print;
  print(`${JSON.stringify(printed)}\n`);
}
