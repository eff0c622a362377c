// What a page shows, fetched when what it depends on changes. The last answer stays while the next is on its way, so
// that nothing jumps.

import { type Accessor, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";

/** Something fetched. Called, it is the newest answer, or undefined before the first. */
export interface Loaded<T> {
  (): T | undefined;
  /** Why the newest attempt failed. */
  error: Accessor<unknown>;
  pending: Accessor<boolean>;
  /** Fetches it again. */
  refresh: () => Promise<void>;
  /** Puts another answer in place. */
  set: (next: T) => void;
  /** Shows a change at once, and takes it back when the request fails; the failure is thrown. */
  optimistic: <R>(change: (old: T) => T, request: () => Promise<R>) => Promise<R>;
}

/** Fetches whenever the source changes and is not undefined, null or false. */
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

  // By its content: a list's query is a new object with every change of the address.
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
      // What is on its way knows nothing of the change, and would take it back.
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

/** Fetches again and again as long as something changes by itself, each time so many milliseconds after the answer. A page
 *  that nobody looks at waits. */
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
