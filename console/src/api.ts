// The typed API client, generated from openapi.json: `await call("get", "/v0/users/{user}", { path: { user } })`.
//
// The session is a cookie that the page cannot read. A header proves that the request comes from the console (see
// auth/cookie.rs of the server).

import { createSignal } from "solid-js";
import type { JsonOAuthUrl, paths } from "./api.gen";

export type * from "./api.gen";

type Method = "get" | "post" | "put" | "patch" | "delete";
type Path = keyof paths & string;
type Operation<P extends Path, M extends Method> = Extract<paths[P][M], { responses: unknown }>;
/** The paths with a method. */
export type PathOf<M extends Method> = { [P in Path]: [Operation<P, M>] extends [never] ? never : P }[Path];

type Content<T> = T extends { content: { "application/json": infer Body } } ? Body : undefined;
/** The response body of an operation. */
export type Answer<P extends Path, M extends Method> =
  Operation<P, M> extends { responses: infer R } ? Content<R[keyof R & (200 | 201 | 202 | 204)]> : never;
/** The request body of an operation. */
export type BodyOf<P extends Path, M extends Method> =
  Operation<P, M> extends { requestBody: infer B } ? Content<B> : undefined;
type Parameters<P extends Path, M extends Method> = Operation<P, M> extends { parameters: infer T } ? T : never;
/** The query parameters of an operation. */
export type QueryOf<P extends Path, M extends Method> =
  Parameters<P, M> extends { query?: infer Q } ? Exclude<Q, undefined> : never;

/** The request parts that the description of the operation requires. */
export type Request<P extends Path, M extends Method> = {
  signal?: AbortSignal;
} & (Parameters<P, M> extends { path: infer T } ? { path: T } : unknown) &
  (QueryOf<P, M> extends never ? unknown : { query?: QueryOf<P, M> }) &
  (BodyOf<P, M> extends undefined ? unknown : { body: BodyOf<P, M> });

/** An error response of the server, with a message for users. */
export class ApiError extends Error {
  constructor(
    message: string,
    /** The HTTP status; 0 if the server is unreachable. */
    readonly status: number,
    /** A stable error code such as `not_found`. */
    readonly code: string | undefined,
    /** The request ID in the server's log. */
    readonly requestId: string | undefined,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** One page of a list and the total number of rows. */
export interface Page<Row> {
  rows: Row[];
  total: number;
}

/** Whether the server has been unreachable since the last response. */
export const [offline, setOffline] = createSignal(false);

/** The version of Tidemark that the server runs; undefined until the first response. */
export const [serverVersion, setServerVersion] = createSignal<string>();

let rejected: (status: number) => void = () => {};

/** Calls a function with the status of each error response. */
export function onRejection(run: (status: number) => void): void {
  rejected = run;
}

/** Sends one request and returns the response body. Throws `ApiError`. */
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

/** Starts a sign-in at an identity provider. Returns the URL of its page. */
export async function begin(
  path: string,
  query: { invite: string | undefined; claim: string | undefined },
): Promise<string> {
  return ((await send("get", path, { query })).body as JsonOAuthUrl).url;
}

/** The URL of a request, for links and images. */
export function url<P extends PathOf<"get">>(path: P, request: Request<P, "get">): string {
  return address(path, request as Loose);
}

interface Loose {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  signal?: AbortSignal;
}

/** The delays between retries, in milliseconds. They cover a restart of the server. */
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
    // A write whose response was lost may have been applied: retry it only if the server did not accept it.
    const again = response ? [502, 503, 504].includes(response.status) : true;
    const harmless = method === "get" || response?.status === 503;
    if (again && harmless && pause !== undefined) {
      if (!response) setOffline(true);
      await new Promise((resolve) => setTimeout(resolve, pause));
      continue;
    }
    setOffline(!response);
    if (!response)
      throw new ApiError("The server is unreachable. Check the connection and try again.", 0, "offline", undefined);
    return await read(response);
  }
}

async function read(response: Response): Promise<{ body: unknown; total: number }> {
  setServerVersion(response.headers.get("x-server-version") ?? serverVersion());
  const text = response.status === 204 ? "" : await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  const body: unknown = isJson && text ? JSON.parse(text) : undefined;
  if (!response.ok) {
    const error = body as { message?: string; error_code?: string; request_id?: string } | undefined;
    const message = error?.message ?? `The server responded with ${response.status} ${response.statusText}.`;
    rejected(response.status);
    throw new ApiError(message, response.status, error?.error_code, error?.request_id);
  }
  return { body, total: Number(response.headers.get("x-total-count") ?? 0) };
}

function address(path: string, { path: segments, query }: Loose): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(segments?.[name] ?? ""));
  const pairs = Object.entries(query ?? {}).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  // The API separates list items by commas.
  const search = new URLSearchParams(
    pairs.map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : String(value)]),
  );
  return search.size ? `${filled}?${search}` : filled;
}

/** The message of a thrown value. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether the server did not find the resource, or hides it from the user. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
