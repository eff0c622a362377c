// Worker: fetches and parses responses of the perf API, so that the page stays responsive.

import type { JsonPerf } from "../api.gen";
import { buffers, columns, type Series } from "./columns";

export interface Question {
  id: number;
  url: string;
}

/** The series, or the error of the server; status 0 if the server is unreachable. */
export type Reply = { id: number } & (
  | { series: Series[] }
  | { status: number; body: { message?: string; error_code?: string; request_id?: string } }
);

/** The delays between retries, in milliseconds. */
const PAUSES = [250, 750, 2000];

async function answer({ id, url }: Question): Promise<Reply> {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(url, {
      headers: { accept: "application/json", "x-tidemark-console": "1" },
      credentials: "same-origin",
    }).catch(() => undefined);
    const pause = PAUSES[attempt];
    if ((!response || [502, 503, 504].includes(response.status)) && pause !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      continue;
    }
    if (!response) return { id, status: 0, body: {} };
    const body: unknown = await response.json().catch(() => ({}));
    if (!response.ok) return { id, status: response.status, body: body as object };
    return { id, series: columns((body as JsonPerf).results) };
  }
}

addEventListener("message", ({ data }: MessageEvent<Question>) => {
  void answer(data).then((reply) => postMessage(reply, { transfer: "series" in reply ? buffers(reply.series) : [] }));
});
