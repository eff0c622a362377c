// A table of loaded rows, styled as a list, without search, pages and URL state.

import { A } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { count } from "../format";
import { Button } from "./Button";
import type { Column } from "./List";

/** Number of rows that "Show more" adds. Thousands of rows at once would block the page. */
const MORE = 200;

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
  const [more, setMore] = createSignal(0);
  const shown = () => (props.first === undefined ? props.rows : props.rows.slice(0, props.first + more()));
  const hidden = () => props.rows.length - shown().length;
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
      <Show when={hidden() > 0}>
        <div class="row">
          <Button onClick={() => setMore((rows) => rows + MORE)}>
            {hidden() > MORE ? `Show ${count(MORE)} more` : `Show all ${count(props.rows.length)}`}
          </Button>
          <span class="small muted number">
            {count(shown().length)} of {count(props.rows.length)}
          </span>
        </div>
      </Show>
    </>
  );
}
