// Helpers for tests of jobs: an image in the registry, and a runner that the test controls.

import { createHash, randomBytes } from "node:crypto";
import { type APIRequestContext, expect, request as http, type Page } from "@playwright/test";
import { WebSocket } from "ws";
import { ADMIN_SESSION, make } from "./support";

const URL_OF_SERVER = process.env.TIDEMARK_CONSOLE_URL ?? "http://localhost:6610";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";

/** Pushes an empty image as `PROJECT:v1`. */
async function push(request: APIRequestContext, project: string): Promise<void> {
  const { key } = await make<{ key: string }>(request, `/v0/projects/${project}/keys`, { name: "push" });
  const login = Buffer.from(`${project}:${key}`).toString("base64");
  const answer = await request.get(`/v0/auth/oci/token?scope=repository:${project}:pull,push`, {
    headers: { authorization: `Basic ${login}` },
  });
  const { token } = (await answer.json()) as { token: string };
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" };
  const digest = (of: Buffer) => `sha256:${createHash("sha256").update(of).digest("hex")}`;
  const config = Buffer.from(
    JSON.stringify({ architecture: "amd64", os: "linux", rootfs: { type: "layers", diff_ids: [] } }),
  );
  const blob = await request.post(`/v2/${project}/blobs/uploads/?digest=${digest(config)}`, { headers, data: config });
  expect(blob.status(), await blob.text()).toBe(201);
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: { mediaType: "application/vnd.oci.image.config.v1+json", digest: digest(config), size: config.length },
    layers: [],
  };
  const put = await request.put(`/v2/${project}/manifests/v1`, {
    headers: { ...headers, "content-type": MANIFEST },
    data: Buffer.from(JSON.stringify(manifest)),
  });
  expect(put.status(), await put.text()).toBe(201);
}

/** A unique name: the tests of several workers share the server. */
export function fresh(name: string): string {
  return `${name} ${randomBytes(4).toString("hex")}`;
}

/** A spec with its own runner, which is not connected yet. */
export async function enlist(): Promise<{ spec: string; runner: string; key: string }> {
  const request = await http.newContext({ baseURL: URL_OF_SERVER, storageState: ADMIN_SESSION, timeout: 0 });
  const machine = { os: "linux", architecture: "x86_64", cpu: 2, memory: 4e9, disk: 1e10 };
  const { slug: spec } = await make<{ slug: string }>(request, "/v0/specs", { name: fresh("Metal"), ...machine });
  const { uuid: runner, key } = await make<{ uuid: string; key: string }>(request, "/v0/runners", {
    name: fresh("Box"),
  });
  await make(request, `/v0/runners/${runner}/specs`, { spec });
  await request.dispose();
  return { spec, runner, key };
}

/** Creates a job on a spec; returns its UUID and the UUID of its report. */
export async function ask(page: Page, project: string, spec: string): Promise<{ job: string; report: string }> {
  const { request } = page.context();
  await push(request, project);
  const time = new Date().toISOString();
  const body = {
    project,
    branch: "main",
    start_time: time,
    end_time: time,
    results: [],
    settings: { adapter: "json" },
    job: { image: `${project}:v1`, spec, timeout: 600 },
  };
  const { uuid, job } = await make<{ uuid: string; job: string }>(request, "/v0/run", body);
  return { job, report: uuid };
}

interface Message {
  event: string;
  id?: number;
  [member: string]: unknown;
}

/** A runner that sends the given messages and waits for each response. */
export class Runner {
  #next = 0;
  readonly #pending = new Map<number, (message: Message) => void>();

  private constructor(readonly socket: WebSocket) {
    socket.on("message", (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message;
      if (message.id !== undefined) this.#pending.get(message.id)?.(message);
    });
  }

  static async connect(runner: string, key: string): Promise<Runner> {
    const socket = new WebSocket(`${URL_OF_SERVER.replace(/^http/, "ws")}/v0/runners/${runner}/channel`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return new Runner(socket);
  }

  /** Sends a message and returns the event of the response. */
  async say(event: string, more: object = {}): Promise<string> {
    const id = ++this.#next;
    const answer = new Promise<Message>((resolve) => this.#pending.set(id, resolve));
    this.socket.send(JSON.stringify({ event, id, ...more }));
    return (await answer).event;
  }
}
