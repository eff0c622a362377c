// A server of a test's own, for what must be configured.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "./support";

/** A running server. */
export interface Own {
  base: string;
  /** Where its data are, and so its mail. */
  data: string;
  stop: () => void;
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const socket = createServer();
  await new Promise<void>((ready) => socket.listen(0, "127.0.0.1", ready));
  const { port } = socket.address() as AddressInfo;
  await new Promise((closed) => socket.close(closed));
  return port;
}

/** Starts a server on a port, with settings besides those that every server needs. */
export async function own(port: number, settings: string): Promise<Own> {
  const base = `http://localhost:${port}`;
  const folder = mkdtempSync(join(tmpdir(), "tidemark-own-"));
  const [config, data] = [join(folder, "tidemark.toml"), join(folder, "data")];
  const attempts = "[plus.rate_limiting.public]\nattempts = {}\n[plus.rate_limiting.user]\nattempts = {}\n";
  writeFileSync(config, `[console]\nurl = "${base}"\n[server]\nbind_address = "127.0.0.1:${port}"\n${attempts}${settings}`);
  const server = spawn(process.env.TIDEMARK_TEST_BINARY ?? "tidemark", ["serve", "--config", config, "--data-dir", data], { stdio: "ignore" });
  await expect.poll(async () => (await fetch(`${base}/readyz`).catch(() => undefined))?.status, { timeout: 60_000 }).toBe(200);
  return {
    base,
    data,
    stop: () => {
      server.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
