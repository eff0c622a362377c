// Fetches and reads perf answers away from the page, which stays quick meanwhile.

import type { JsonPerf } from "../api.gen";
import { buffers, columns, type Series } from "./columns";

export interface Question {
  id: number;
  url: string;
}

/** The series, or what the server had against it; status 0 when it could not be reached. */
export type Reply = { id: number } & (
  | { series: Series[] }
  | { status: number; body: { message?: string; error_code?: string; request_id?: string } }
);

/** How long to wait before asking again, in milliseconds. */
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
