// Selects among thousands of names: search, selection of whole groups, and virtual scrolling.

import { createEffect, createMemo, createSignal, createUniqueId, For, type JSX, Show, untrack } from "solid-js";
import { count, plural } from "../format";
import { Icon } from "../ui/Icon";
import { SearchField } from "../ui/SearchField";
import { toast } from "../ui/Toast";
import { matches, type Named, type Node, rows, tree } from "./tree";

/** The height of a row in pixels, as in plot.css. */
const ROW = 32;
/** Rows rendered beyond the visible ones while scrolling. */
const SPARE = 8;
/** Maximum number of items for which all groups are open at first. */
const FEW = 40;
/** Maximum selection size below which groups cannot be selected. */
const FEWEST = 2;

export function TreePicker<T extends Named>(props: {
  noun: string;
  items: readonly T[] | undefined;
  chosen: readonly string[];
  onChoose: (chosen: readonly string[]) => void;
  /** Maximum number of selected items. */
  most?: number;
  /** The text beside a name. */
  detail?: (item: T) => JSX.Element;
  empty?: JSX.Element;
  /** The initial search, and the callback that stores it. */
  words?: string;
  onWords?: (words: string) => void;
  /** The index of the first visible item. */
  first?: number;
}): JSX.Element {
  const id = createUniqueId();
  let box: HTMLDivElement | undefined;
  const [words, setWords] = createSignal(props.words ?? "");
  const [onlyChosen, setOnlyChosen] = createSignal(false);
  const [turned, setTurned] = createSignal<ReadonlySet<string>>(new Set());
  const [scroll, setScroll] = createSignal(0);
  const chosen = createMemo(() => new Set(props.chosen));
  const found = createMemo(() =>
    (props.items ?? []).filter(
      (item) => (!words().trim() || matches(item.name, words().trim())) && (!onlyChosen() || chosen().has(item.uuid)),
    ),
  );
  const nodes = createMemo(() => tree(found()));
  // Groups of a short list are open by default, groups of a long list are closed; a search opens all.
  const isOpen = (node: Node<T>) =>
    (Boolean(words().trim()) || onlyChosen() || (props.items?.length ?? 0) <= FEW) !== turned().has(node.path);
  const shown = createMemo(() => rows(nodes(), isOpen));
  const [height, setHeight] = createSignal(360);
  const first = () => Math.max(Math.floor(scroll() / ROW) - SPARE, 0);
  const part = createMemo(() => shown().slice(first(), first() + Math.ceil(height() / ROW) + 2 * SPARE));

  let isPlaced = false;
  createEffect(() => {
    const item = props.first && !isPlaced ? props.items?.[props.first] : undefined;
    if (!item || !box) return;
    isPlaced = true;
    box.scrollTop = untrack(shown).findIndex(({ node }) => node.leaves.includes(item)) * ROW;
  });

  const turn = (path: string) =>
    setTurned((old) => {
      const next = new Set(old);
      if (!next.delete(path)) next.add(path);
      return next;
    });
  const put = (items: readonly T[], isIn: boolean) => {
    const uuids = new Set(items.map(({ uuid }) => uuid));
    const rest = props.chosen.filter((uuid) => !uuids.has(uuid));
    // Selected items keep their position, and with it their color.
    const next = isIn ? [...props.chosen, ...[...uuids].filter((uuid) => !chosen().has(uuid))] : rest;
    const most = props.most ?? Infinity;
    if (next.length <= most) props.onChoose(next);
    // With a small limit, the newest selections win; with a large limit, the first ones.
    else if (most <= FEWEST) props.onChoose(next.slice(-most));
    else {
      toast(`A plot has at most ${plural(most, props.noun)}: only the first ones were selected.`);
      props.onChoose(next.slice(0, most));
    }
  };
  const stateOf = (items: readonly T[]): State => {
    const some = items.reduce((sum, { uuid }) => sum + (chosen().has(uuid) ? 1 : 0), 0);
    return some === 0 ? "none" : some === items.length ? "all" : "some";
  };

  return (
    <div class="tree">
      <SearchField
        label={`Search ${plural(2, props.noun).slice(2)}`}
        value={words()}
        onInput={(words) => {
          setWords(words);
          setScroll(0);
          props.onWords?.(words);
        }}
      />
      <div class="tree-tools small">
        <label class="check small">
          <Box
            state={stateOf(found())}
            disabled={!found().length || (props.most ?? Infinity) <= FEWEST}
            onChange={(isIn) => put(found(), isIn)}
          />
          <span>
            {words().trim() ? `All ${count(found().length)} found` : `All ${count(props.items?.length ?? 0)}`}
          </span>
        </label>
        <span class="grow" />
        <button
          type="button"
          class="button quiet small"
          aria-pressed={onlyChosen()}
          disabled={!props.chosen.length && !onlyChosen()}
          onClick={() => setOnlyChosen(!onlyChosen())}
        >
          {count(props.chosen.length)} selected
        </button>
        <button
          type="button"
          class="button quiet small"
          disabled={!props.chosen.length}
          onClick={() => props.onChoose([])}
        >
          Clear
        </button>
      </div>
      <div
        class="tree-rows"
        tabindex="0"
        role="group"
        aria-label={plural(2, props.noun)
          .slice(2)
          .replace(/^./, (letter) => letter.toUpperCase())}
        ref={(element) => {
          box = element;
          new ResizeObserver(() => setHeight(element.clientHeight || 360)).observe(element);
        }}
        onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
      >
        <Show
          when={found().length}
          fallback={
            <p class="tree-empty muted small">
              {!props.items
                ? "…"
                : props.items.length
                  ? `No ${props.noun} matches.`
                  : (props.empty ?? `No ${props.noun} yet.`)}
            </p>
          }
        >
          <div class="tree-content" style={{ height: `${shown().length * ROW}px` }}>
            <For each={part()}>
              {(row, place) => {
                const { node } = row;
                const box = `${id}-${node.path}`;
                return (
                  <div
                    class="tree-row"
                    style={{ top: `${(first() + place()) * ROW}px`, "padding-left": `${row.depth * 18}px` }}
                  >
                    <Show when={!node.leaf} fallback={<span class="tree-leaf" />}>
                      <button
                        type="button"
                        class="tree-toggle"
                        aria-expanded={isOpen(node)}
                        aria-label={`Group ${node.path}`}
                        onClick={() => turn(node.path)}
                      >
                        <Icon name="right" size={14} />
                      </button>
                    </Show>
                    <label for={box} title={node.path}>
                      <Box
                        id={box}
                        state={stateOf(node.leaves)}
                        disabled={!node.leaf && (props.most ?? Infinity) <= FEWEST}
                        onChange={(isIn) => put(node.leaves, isIn)}
                      />
                      <span class="ellipsis" classList={{ group: !node.leaf }}>
                        {node.label}
                      </span>
                      <Show
                        when={node.leaf}
                        fallback={<span class="muted small number">{count(node.leaves.length)}</span>}
                      >
                        {(leaf) => <span class="muted small nowrap">{props.detail?.(leaf())}</span>}
                      </Show>
                    </label>
                  </div>
                );
              }}
            </For>
          </div>
        </Show>
      </div>
    </div>
  );
}

type State = "none" | "some" | "all";

/** A checkbox with an indeterminate state. */
function Box(props: { id?: string; state: State; disabled: boolean; onChange: (isIn: boolean) => void }): JSX.Element {
  return (
    <input
      id={props.id}
      type="checkbox"
      ref={(box) => createEffect(() => (box.indeterminate = props.state === "some"))}
      checked={props.state === "all"}
      disabled={props.disabled}
      onChange={(event) => props.onChange(event.currentTarget.checked)}
    />
  );
}
