// A separate server for tests that need other settings.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A running server. */
export interface TestServer {
  base: string;
  /** Its data folder, which contains its mail. */
  data: string;
  stop: () => void;
}

/** Binds a free local port and returns it. */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/**
 * Starts a server with additional settings. `console.url` must name a port before the server binds one, so it names the
 * port of a proxy.
 */
export async function startServer(settings: string): Promise<TestServer> {
  let upstream = 0;
  const proxy = createServer((client) => {
    const server = connect(upstream, "127.0.0.1");
    client.pipe(server).pipe(client);
    client.on("error", () => server.destroy());
    server.on("error", () => client.destroy());
  });
  const base = `http://localhost:${await listen(proxy)}`;
  const folder = mkdtempSync(join(tmpdir(), "tidemark-own-"));
  const [config, data] = [join(folder, "tidemark.toml"), join(folder, "data")];
  const attempts = "[plus.rate_limiting.public]\nattempts = {}\n[plus.rate_limiting.user]\nattempts = {}\n";
  writeFileSync(
    config,
    `[console]\nurl = "${base}"\n[server]\nbind_address = "127.0.0.1:0"\n` +
      `[logging]\nformat = "json"\n${attempts}${settings}`,
  );
  const server = spawn(
    process.env.TIDEMARK_TEST_BINARY ?? "tidemark",
    ["serve", "--config", config, "--data-dir", data],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const stop = () => {
    server.kill("SIGKILL");
    proxy.close();
    rmSync(folder, { recursive: true, force: true });
  };
  upstream = await new Promise<number>((resolve, reject) => {
    const log: string[] = [];
    createInterface(server.stderr).on("line", (line) => {
      const port = /"message":"listening"/.test(line) && /"address":"127\.0\.0\.1:(\d+)"/.exec(line)?.[1];
      if (port) resolve(Number(port));
      if (!upstream) log.push(line);
    });
    server.once("error", reject);
    server.once("close", () => reject(new Error(`The server did not start:\n${log.join("\n")}`)));
  });
  return { base, data, stop };
}
