// A list with search, order, pages and archived rows. The URL contains the whole state, so that users can share it and
// go back.

import { A, useSearchParams } from "@solidjs/router";
import { createEffect, createSignal, For, type JSX, on, onCleanup, Show } from "solid-js";
import type { Page as Rows } from "../api";
import { count, plural } from "../format";
import { type Loaded, load, refreshWhile } from "../load";
import { IconButton } from "./Button";
import { Icon } from "./Icon";
import { SearchField } from "./SearchField";
import { Empty, Failure, Skeleton } from "./State";

/** The query of a list, named as in the API. Order and filters are the parameters of the URL. */
export interface ListQuery {
  page: number;
  per_page: number;
  search?: string;
  direction?: "asc" | "desc";
  archived?: boolean;
  [filter: string]: unknown;
}

export interface Column<Row> {
  title: string;
  cell: (row: Row) => JSX.Element;
  /** The name of the order by this column in the API, if any. */
  sort?: string;
  /** Whether the default order is descending. */
  descending?: boolean;
  /** Aligns numbers and times right. */
  end?: boolean;
  /** Hidden on narrow screens. */
  wide?: boolean;
}

/** A filter with a few values of one query parameter. */
export interface Filter {
  name: string;
  label: string;
  options: readonly { value: string; label: string }[];
}

const PER_PAGE = 25;

const OLD_LABELS = { archived: "Archived", disabled: "Disabled", revoked: "Revoked" } as const;

/** The polling interval of rows that change on the server, in milliseconds. */
const CHANGING = 3_000;

/** The list and its controls. The first column contains the link of the row. */
export function List<Row extends object>(props: {
  /** The noun of a row: `benchmark`. */
  noun: string;
  columns: readonly Column<Row>[];
  href?: (row: Row) => string;
  load: (query: ListQuery, signal: AbortSignal) => Promise<Rows<Row>>;
  /** Whether the list has a search. */
  search?: boolean;
  /** Whether rows can be archived, or another word for it. `disabled` is only another label. */
  archived?: boolean | "revoked" | "disabled";
  filters?: readonly Filter[];
  /** Other query parameters of the URL to include in the request; the page renders their controls. */
  params?: readonly string[];
  /** The empty state. */
  empty: JSX.Element;
  /** Buttons at the end of each row. */
  rowActions?: (row: Row, list: Loaded<Rows<Row>>) => JSX.Element;
  /** Reloads the rows when it changes; its first value after undefined is not a change. */
  again?: unknown;
  /** Whether these rows change on the server and need polling. */
  changing?: (rows: readonly Row[]) => boolean;
  /** Controls above the rows, beside the search. */
  tools?: (list: Loaded<Rows<Row>>) => JSX.Element;
}): JSX.Element {
  const [params, setParams] = useSearchParams();
  const text = (name: string) => {
    const value = params[name];
    return typeof value === "string" ? value : undefined;
  };
  const old = () => (props.archived === "revoked" ? "revoked" : "archived");
  const filterNames = () => [...(props.filters ?? []).map((filter) => filter.name), ...(props.params ?? [])];
  const query = () => {
    const wanted: ListQuery = {
      page: Math.max(Number(text("page") ?? 1) || 1, 1),
      per_page: Math.min(Math.max(Number(text("per_page") ?? PER_PAGE) || PER_PAGE, 1), 255),
    };
    if (props.search && text("search")) wanted.search = text("search") ?? "";
    if (text("sort")) wanted.sort = text("sort") ?? "";
    const direction = text("direction");
    if (direction === "asc" || direction === "desc") wanted.direction = direction;
    if (props.archived && text(old()) === "true") wanted[old()] = true;
    for (const name of filterNames()) if (text(name)) wanted[name] = text(name);
    return wanted;
  };
  // Unchanged rows keep their identity, and with it the focus.
  let known = new Map<string, Row>();
  const rows = load(query, async (wanted, signal) => {
    const got = await props.load(wanted, signal);
    const same = got.rows.map((row) => known.get(JSON.stringify(row)) ?? row);
    known = new Map(same.map((row) => [JSON.stringify(row), row]));
    return { ...got, rows: same };
  });
  refreshWhile(() => props.changing?.(rows()?.rows ?? []) ?? false, rows.refresh, CHANGING);
  createEffect(
    on(
      () => props.again,
      (_, before) => {
        if (before !== undefined) void rows.refresh();
      },
    ),
  );
  const change = (next: Record<string, string | undefined>) =>
    setParams({ page: undefined, ...next }, { replace: true, scroll: false });

  let timer: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => clearTimeout(timer));
  const [typed, setTyped] = createSignal(text("search") ?? "");
  const search = (words: string) => {
    setTyped(words);
    clearTimeout(timer);
    timer = setTimeout(() => change({ search: words || undefined }), 200);
  };

  const isFiltered = () => Boolean(query().search ?? query()[old()]) || filterNames().some((name) => query()[name]);
  const last = () => Math.max(Math.ceil((rows()?.total ?? 0) / query().per_page), 1);
  const turn = (page: number) => setParams({ page: page === 1 ? undefined : String(page) });
  const sorted = () =>
    props.columns.find(({ sort }) => sort && sort === query().sort) ?? props.columns.find(({ sort }) => sort);
  const natural = (column: Column<Row> | undefined) => (column?.descending ? "desc" : "asc");
  const sortBy = (column: Column<Row>) => {
    const flipped = sorted()?.sort === column.sort && (query().direction ?? natural(column)) === natural(column);
    change({ sort: column.sort, direction: flipped ? (column.descending ? "asc" : "desc") : undefined });
  };
  const order = (column: Column<Row>) => {
    if (!column.sort || sorted()?.sort !== column.sort) return undefined;
    return (query().direction ?? natural(column)) === "desc" ? "descending" : "ascending";
  };

  return (
    <section class="list" aria-busy={rows.pending()}>
      <Show when={props.search || props.archived || props.filters?.length || props.tools}>
        <div class="list-tools">
          <Show when={props.search}>
            <SearchField
              label={`Search ${plural(2, props.noun).slice(2)}`}
              value={typed()}
              onInput={search}
              shortcut="Search"
              clearOnEscape
            />
          </Show>
          <For each={props.filters}>
            {(filter) => (
              <label class="inline">
                <span class="visually-hidden">{filter.label}</span>
                <select onChange={(event) => change({ [filter.name]: event.currentTarget.value || undefined })}>
                  <For each={filter.options}>
                    {(option) => (
                      <option value={option.value} selected={option.value === (text(filter.name) ?? "")}>
                        {option.label}
                      </option>
                    )}
                  </For>
                </select>
              </label>
            )}
          </For>
          <Show when={props.archived}>
            <label class="check small">
              <input
                type="checkbox"
                checked={query()[old()] === true}
                onChange={(event) => change({ [old()]: event.currentTarget.checked ? "true" : undefined })}
              />
              <span>{OLD_LABELS[typeof props.archived === "string" ? props.archived : "archived"]}</span>
            </label>
          </Show>
          <span class="grow" />
          {props.tools?.(rows)}
          <span class="muted small number nowrap" role="status">
            {rows() ? plural(rows()?.total ?? 0, props.noun) : "\u00a0"}
          </span>
        </div>
      </Show>
      <Show when={rows.error()}>{(error) => <Failure error={error()} retry={rows.refresh} />}</Show>
      <Show
        when={rows()}
        fallback={
          <Show when={!rows.error()}>
            <Skeleton lines={10} />
          </Show>
        }
      >
        {(shown) => (
          <Show
            when={shown().rows.length}
            fallback={
              <Show when={isFiltered()} fallback={props.empty}>
                <Empty
                  title="No matches"
                  action={
                    <button
                      type="button"
                      class="button"
                      onClick={() => {
                        setTyped("");
                        change({
                          search: undefined,
                          [old()]: undefined,
                          ...Object.fromEntries(filterNames().map((name) => [name, undefined])),
                        });
                      }}
                    >
                      Show all
                    </button>
                  }
                >
                  No {props.noun} matches the search and the filters.
                </Empty>
              </Show>
            }
          >
            <div class="table-wrap" tabindex="0" role="region" aria-label={`List of ${plural(2, props.noun).slice(2)}`}>
              <table class="rows" classList={{ stale: rows.pending() }}>
                <thead>
                  <tr>
                    <For each={props.columns}>
                      {(column) => (
                        <th
                          scope="col"
                          classList={{ end: column.end ?? false, wide: column.wide ?? false }}
                          aria-sort={order(column)}
                        >
                          <Show when={column.sort} fallback={column.title}>
                            <button type="button" class="sort" onClick={() => sortBy(column)}>
                              {column.title}
                              <Icon name="down" size={14} />
                            </button>
                          </Show>
                        </th>
                      )}
                    </For>
                    <Show when={props.rowActions}>
                      <th scope="col">
                        <span class="visually-hidden">Actions</span>
                      </th>
                    </Show>
                  </tr>
                </thead>
                <tbody>
                  <For each={shown().rows}>
                    {(row) => (
                      <tr>
                        <For each={props.columns}>
                          {(column, place) => (
                            <td
                              classList={{ end: column.end ?? false, wide: column.wide ?? false, first: place() === 0 }}
                            >
                              <Show when={place() === 0 && props.href} fallback={column.cell(row)}>
                                {(href) => (
                                  <A class="row-link break" href={href()(row)}>
                                    {column.cell(row)}
                                  </A>
                                )}
                              </Show>
                            </td>
                          )}
                        </For>
                        <Show when={props.rowActions}>
                          {(actions) => <td class="end row-actions">{actions()(row, rows)}</td>}
                        </Show>
                      </tr>
                    )}
                  </For>
                </tbody>
              </table>
            </div>
            <Show when={last() > 1}>
              <nav class="pager" aria-label="Pages">
                <Show when={query().page > 1}>
                  <IconButton icon="left" label="Previous page" onClick={() => turn(query().page - 1)} />
                </Show>
                <span class="small muted number">
                  Page {count(query().page)} of {count(last())}
                </span>
                <Show when={query().page < last()}>
                  <IconButton icon="right" label="Next page" onClick={() => turn(query().page + 1)} />
                </Show>
              </nav>
            </Show>
          </Show>
        )}
      </Show>
    </section>
  );
}
