// A table of loaded rows, styled as a list, without search, pages and URL state.

import { A } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { count } from "../format";
import { Button } from "./Button";
import type { Column } from "./List";

export function Table<Row extends object>(props: {
  /** The accessible name. */
  label: string;
  rows: readonly Row[];
  columns: readonly Omit<Column<Row>, "sort" | "descending">[];
  /** The link of the first column. */
  href?: (row: Row) => string | undefined;
  /** Number of rows before "Show more". */
  first?: number;
}): JSX.Element {
  const [all, setAll] = createSignal(false);
  const shown = () => (all() ? props.rows : props.rows.slice(0, props.first));
  return (
    <>
      <div class="table-wrap" tabindex="0" role="region" aria-label={props.label}>
        <table class="rows">
          <thead>
            <tr>
              <For each={props.columns}>
                {(column) => (
                  <th scope="col" classList={{ end: column.end ?? false, wide: column.wide ?? false }}>
                    {column.title}
                  </th>
                )}
              </For>
            </tr>
          </thead>
          <tbody>
            <For each={shown()}>
              {(row) => (
                <tr>
                  <For each={props.columns}>
                    {(column, place) => (
                      <td classList={{ end: column.end ?? false, wide: column.wide ?? false, first: place() === 0 }}>
                        <Show when={place() === 0 && props.href?.(row)} fallback={column.cell(row)}>
                          {(href) => (
                            <A class="row-link break" href={href()}>
                              {column.cell(row)}
                            </A>
                          )}
                        </Show>
                      </td>
                    )}
                  </For>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
      <Show when={shown().length < props.rows.length}>
        <div class="row">
          <Button onClick={() => setAll(true)}>Show all {count(props.rows.length)}</Button>
        </div>
      </Show>
    </>
  );
}
