// The client of our own API, typed by openapi.json: `await call("get", "/v0/users/{user}", { path: { user } })`.
//
// The session is a cookie, which the page cannot read; the header says that it is our page that asks (the server's
// auth/cookie.rs has the reasons).

import { createSignal } from "solid-js";
import type { JsonOAuthUrl, paths } from "./api.gen";

export type * from "./api.gen";

type Method = "get" | "post" | "put" | "patch" | "delete";
type Path = keyof paths & string;
type Operation<P extends Path, M extends Method> = Extract<paths[P][M], { responses: unknown }>;
/** The paths that take a method. */
export type PathOf<M extends Method> = { [P in Path]: [Operation<P, M>] extends [never] ? never : P }[Path];

type Content<T> = T extends { content: { "application/json": infer Body } } ? Body : undefined;
/** What an operation answers. */
export type Answer<P extends Path, M extends Method> =
  Operation<P, M> extends { responses: infer R } ? Content<R[keyof R & (200 | 201 | 202 | 204)]> : never;
/** What an operation takes as its body. */
export type BodyOf<P extends Path, M extends Method> =
  Operation<P, M> extends { requestBody: infer B } ? Content<B> : undefined;
type Parameters<P extends Path, M extends Method> = Operation<P, M> extends { parameters: infer T } ? T : never;
/** The query that an operation takes. */
export type QueryOf<P extends Path, M extends Method> =
  Parameters<P, M> extends { query?: infer Q } ? Exclude<Q, undefined> : never;

/** The parts of a request that the operation's description asks for. */
export type Request<P extends Path, M extends Method> = {
  signal?: AbortSignal;
} & (Parameters<P, M> extends { path: infer T } ? { path: T } : unknown) &
  (QueryOf<P, M> extends never ? unknown : { query?: QueryOf<P, M> }) &
  (BodyOf<P, M> extends undefined ? unknown : { body: BodyOf<P, M> });

/** What the server said when it did not do it: a sentence for people. */
export class ApiError extends Error {
  constructor(
    message: string,
    /** The status; 0 when the server could not be reached. */
    readonly status: number,
    /** A stable word such as `not_found`. */
    readonly code: string | undefined,
    /** Finds the request in the server's log. */
    readonly requestId: string | undefined,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** One page of a list, and how many there are in all. */
export interface Page<Row> {
  rows: Row[];
  total: number;
}

/** Whether the server has been out of reach since the last answer. */
export const [offline, setOffline] = createSignal(false);

/** Sends one request and answers its body. Throws `ApiError`. */
export async function call<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  request: Request<P, M> = {} as Request<P, M>,
): Promise<Answer<P, M>> {
  return (await send(method, path, request)).body as Answer<P, M>;
}

type RowOf<P extends Path> = Answer<P, "get"> extends (infer Row)[] ? Row : never;

/** Fetches one page of a list. */
export async function list<P extends PathOf<"get">>(path: P, request: Request<P, "get">): Promise<Page<RowOf<P>>> {
  const { body, total } = await send("get", path, request);
  return { rows: body as RowOf<P>[], total };
}

/** Begins a sign-in at an identity provider; answers the page where it goes on. */
export async function begin(
  path: string,
  query: { invite: string | undefined; claim: string | undefined },
): Promise<string> {
  return ((await send("get", path, { query })).body as JsonOAuthUrl).url;
}

/** The address of a request, for links and pictures. */
export function url<P extends PathOf<"get">>(path: P, request: Request<P, "get">): string {
  return address(path, request as Loose);
}

interface Loose {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  signal?: AbortSignal;
}

/** How long to wait before asking again, in milliseconds: a restart of the server goes by unnoticed. */
const PAUSES = [250, 750, 2000, 4000];

async function send(method: Method, path: string, request: Loose): Promise<{ body: unknown; total: number }> {
  const headers: Record<string, string> = { accept: "application/json", "x-tidemark-console": "1" };
  if (request.body !== undefined) headers["content-type"] = "application/json";
  const options: RequestInit = { method: method.toUpperCase(), headers, credentials: "same-origin" };
  if (request.body !== undefined) options.body = JSON.stringify(request.body);
  if (request.signal) options.signal = request.signal;
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(address(path, request), options).catch((error: unknown) => {
      if (request.signal?.aborted) throw error;
      return undefined;
    });
    const pause = PAUSES[attempt];
    // A change whose answer got lost may have happened: only what was never taken on is sent again.
    const again = response ? [502, 503, 504].includes(response.status) : true;
    const harmless = method === "get" || response?.status === 503;
    if (again && harmless && pause !== undefined) {
      if (!response) setOffline(true);
      await new Promise((resolve) => setTimeout(resolve, pause));
      continue;
    }
    setOffline(!response);
    if (!response)
      throw new ApiError("The server cannot be reached; check the connection and try again.", 0, "offline", undefined);
    return await read(response);
  }
}

async function read(response: Response): Promise<{ body: unknown; total: number }> {
  const text = response.status === 204 ? "" : await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  const body: unknown = isJson && text ? JSON.parse(text) : undefined;
  if (!response.ok) {
    const error = body as { message?: string; error_code?: string; request_id?: string } | undefined;
    const message = error?.message ?? `The server answered ${response.status} ${response.statusText}.`;
    throw new ApiError(message, response.status, error?.error_code, error?.request_id);
  }
  return { body, total: Number(response.headers.get("x-total-count") ?? 0) };
}

function address(path: string, { path: segments, query }: Loose): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(segments?.[name] ?? ""));
  const pairs = Object.entries(query ?? {}).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  // The contract's lists are joined by commas.
  const search = new URLSearchParams(
    pairs.map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : String(value)]),
  );
  return search.size ? `${filled}?${search}` : filled;
}

/** The sentence of whatever was thrown. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
