#!/usr/bin/env node
// Starts the binary of the platform package that npm installed as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `@tidemark-dev/${process.platform}-${process.arch}`;

function binary() {
  try {
    return require.resolve(`${name}/bin/tidemark`);
  } catch {
    console.error(
      `tidemark: The package ${name} is not installed. If npm omitted optional dependencies, run \`npm install ${name}\`. ` +
        "Otherwise there is no Tidemark for this platform; see https://github.com/tidemark-dev/tidemark/blob/main/docs/install.md",
    );
    process.exit(1);
  }
}

const child = spawn(binary(), process.argv.slice(2), { stdio: "inherit" });
// A terminal sends signals to both processes; other senders only know this process.
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`tidemark: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
