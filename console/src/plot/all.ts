// Every row of a list, however many pages it has.

import type { Page } from "../api";

const PER_PAGE = 255;

/** Fetches all pages: the first one says how many there are, the others come together. */
export async function everything<Row>(
  page: (query: { page: number; per_page: number }) => Promise<Page<Row>>,
): Promise<Row[]> {
  const first = await page({ page: 1, per_page: PER_PAGE });
  const pages = Math.ceil(first.total / PER_PAGE);
  const others = await Promise.all(
    Array.from({ length: Math.max(pages - 1, 0) }, (_, place) => page({ page: place + 2, per_page: PER_PAGE })),
  );
  return [first, ...others].flatMap(({ rows }) => rows);
}
