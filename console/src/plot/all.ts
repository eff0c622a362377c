// Loads all rows of a list.

import type { Page } from "../api";

const PER_PAGE = 255;

/** Loads all pages, or the first ones: the first response contains the total, the others are requested in parallel. */
export async function everything<Row>(
  page: (query: { page: number; per_page: number }) => Promise<Page<Row>>,
  most = Infinity,
): Promise<Row[]> {
  const first = await page({ page: 1, per_page: PER_PAGE });
  const pages = Math.min(Math.ceil(first.total / PER_PAGE), most);
  const others = await Promise.all(
    Array.from({ length: Math.max(pages - 1, 0) }, (_, place) => page({ page: place + 2, per_page: PER_PAGE })),
  );
  return [first, ...others].flatMap(({ rows }) => rows);
}
