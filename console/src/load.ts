// Loads the data of a page and reloads it when its source changes. Shows the last response while loading, so that the
// layout does not move.

import { type Accessor, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";

/** Loaded data. Calling it returns the latest response, or undefined before the first one. */
export interface Loaded<T> {
  (): T | undefined;
  /** The error of the latest request. */
  error: Accessor<unknown>;
  pending: Accessor<boolean>;
  /** Reloads the data. */
  refresh: () => Promise<void>;
  /** Replaces the data. */
  set: (next: T) => void;
  /** Applies a change immediately and reverts it if the request fails. Throws the error. */
  optimistic: <R>(change: (old: T) => T, request: () => Promise<R>) => Promise<R>;
}

/** Loads whenever the source changes and is not undefined, null or false. */
export function load<S, T>(
  source: Accessor<S | undefined | null | false>,
  fetch: (source: S, signal: AbortSignal) => Promise<T>,
): Loaded<T> {
  const [answer, setAnswer] = createSignal<T>();
  const [error, setError] = createSignal<unknown>();
  const [pending, setPending] = createSignal(true);
  let abort: AbortController | undefined;

  async function run(wanted: S): Promise<void> {
    abort?.abort();
    const own = new AbortController();
    abort = own;
    setPending(true);
    try {
      const got = await fetch(wanted, own.signal);
      if (own.signal.aborted) return;
      setAnswer(() => got);
      setError(undefined);
    } catch (failure) {
      if (own.signal.aborted) return;
      setError(failure);
    }
    setPending(false);
  }

  // Compares by content: the query of a list is a new object after each change of the URL.
  let key: string | undefined;
  createEffect(
    on(source, (wanted) => {
      if (wanted === undefined || wanted === null || wanted === false) return;
      const next = JSON.stringify(wanted);
      if (next === key) return;
      key = next;
      void run(wanted);
    }),
  );
  onCleanup(() => abort?.abort());

  const loaded = (() => answer()) as Loaded<T>;
  loaded.error = error;
  loaded.pending = pending;
  loaded.refresh = async () => {
    const wanted = source();
    if (wanted !== undefined && wanted !== null && wanted !== false) await run(wanted);
  };
  loaded.set = (next) => setAnswer(() => next);
  loaded.optimistic = async (change, request) => {
    const before = answer();
    if (before !== undefined) {
      // A pending response does not contain the change and would revert it.
      abort?.abort();
      setPending(false);
      setAnswer(() => change(before));
    }
    try {
      return await request();
    } catch (failure) {
      setAnswer(() => before);
      throw failure;
    }
  };
  return loaded;
}

/** Polls while a condition holds, with a delay in milliseconds after each response. Pauses while the page is hidden. */
export function refreshWhile(isChanging: Accessor<boolean>, refresh: () => Promise<void>, pause: number): void {
  const wanted = createMemo(isChanging);
  createEffect(() => {
    if (!wanted()) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = () => {
      timer = setTimeout(
        () => void (document.hidden ? Promise.resolve() : refresh()).then(() => timer !== undefined && next()),
        pause,
      );
    };
    next();
    onCleanup(() => {
      clearTimeout(timer);
      timer = undefined;
    });
  });
}
