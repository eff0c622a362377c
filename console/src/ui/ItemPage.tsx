// The page of an item with a name that can be archived: a branch, a testbed, a measure or a runner. Rename in place,
// archive with undo, delete after confirmation.

import { useNavigate } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { load } from "../load";
import { useProject } from "../project";
import { Badge } from "./Badge";
import { Button } from "./Button";
import { Confirm } from "./Dialog";
import { EditableFact, Fact, Facts } from "./Facts";
import { type Crumb, LoadingPage, Page } from "./Page";
import { Raw } from "./Raw";
import { toast, toastFailure } from "./Toast";
import { Time } from "./Value";

interface Named {
  uuid: string;
  name: string;
  slug: string;
  created: string;
  modified: string;
  archived?: string | null;
}

/** The common editable fields. */
interface Change {
  name?: string | null;
  slug?: string | null;
  archived?: boolean | null;
}

/** The parent of the item: the paths of its list and pages, and the permissions. */
export interface Place {
  path: (...segments: string[]) => string;
  crumbs: () => readonly Crumb[];
  may: (permission: "edit" | "delete") => boolean;
}

/** The project of the page, with the list below it. */
export function inProject(segment: string, title: string): Place {
  const project = useProject();
  return {
    path: (...segments) => project.path(segment, ...segments),
    crumbs: () => project.crumbs(segment, title),
    may: project.may,
  };
}

export interface ItemContext<T, C> {
  /** Applies a change immediately and sends it. */
  change: (body: C) => Promise<void>;
  refresh: () => Promise<void>;
  set: (next: T) => void;
}

export function ItemPage<T extends Named, C extends Change>(props: {
  noun: string;
  place: Place;
  /** The identifier in the URL. */
  id: string;
  nameLength: number;
  load: (id: string, signal: AbortSignal) => Promise<T>;
  patch: (id: string, body: C) => Promise<T>;
  /** Deletes the item, if possible. */
  remove?: (id: string) => Promise<unknown>;
  /** Why the item may not be deletable. */
  deletion?: string;
  /** Additional fields, and content below the fields. */
  facts?: (shown: () => T, here: ItemContext<T, C>) => JSX.Element;
  actions?: (shown: () => T, here: ItemContext<T, C>) => JSX.Element;
  children?: (shown: () => T, here: ItemContext<T, C>) => JSX.Element;
}): JSX.Element {
  const navigate = useNavigate();
  const [deleting, setDeleting] = createSignal(false);
  const thing = load(
    () => ({ list: props.place.path(), id: props.id }),
    ({ id }, signal) => props.load(id, signal),
  );
  const change = async (body: C) => {
    const changed = await thing.optimistic(
      (old) => ({ ...old, ...flagged(body) }),
      () => props.patch(props.id, body),
    );
    thing.set(changed);
    if (changed.slug !== props.id) navigate(props.place.path(changed.slug), { replace: true, scroll: false });
  };
  const archive = (archived: boolean): Promise<void> =>
    change({ archived } as C).then(
      () =>
        toast(archived ? `The ${props.noun} was archived.` : `The ${props.noun} was unarchived.`, () =>
          archive(!archived),
        ),
      toastFailure,
    );
  const remove = async () => {
    await props.remove?.(props.id);
    toast(`The ${props.noun} was deleted.`);
    navigate(props.place.path());
  };
  const here: ItemContext<T, C> = { change, refresh: thing.refresh, set: thing.set };
  return (
    <Show
      when={thing()}
      fallback={
        <LoadingPage
          title={props.noun.charAt(0).toUpperCase() + props.noun.slice(1)}
          crumbs={props.place.crumbs()}
          lines={8}
          item={thing}
        />
      }
    >
      {(shown) => (
        <Page
          title={shown().name}
          aside={
            <Show when={shown().archived}>
              <Badge tone="warn">archived</Badge>
            </Show>
          }
          crumbs={props.place.crumbs()}
          actions={
            <>
              {props.actions?.(shown, here)}
              <Raw value={shown()} />
              <Show when={props.place.may("edit")}>
                <Button onClick={() => archive(!shown().archived)}>{shown().archived ? "Unarchive" : "Archive"}</Button>
              </Show>
              <Show when={props.remove && props.place.may("delete")}>
                <Button kind="danger" onClick={() => setDeleting(true)}>
                  Delete
                </Button>
              </Show>
            </>
          }
        >
          <Facts>
            <EditableFact
              label="Name"
              value={shown().name}
              maxLength={props.nameLength}
              editable={props.place.may("edit")}
              save={(name) => change({ name } as C)}
            />
            {props.facts?.(shown, here)}
            <EditableFact
              label="Slug"
              value={shown().slug}
              maxLength={64}
              editable={props.place.may("edit")}
              save={(slug) => change({ slug } as C)}
            />
            <Fact label="UUID" copy={shown().uuid}>
              <span class="mono">{shown().uuid}</span>
            </Fact>
            <Fact label="Created">
              <Time at={shown().created} />
            </Fact>
            <Show when={shown().archived}>
              {(archived) => (
                <Fact label="Archived">
                  <Time at={archived()} />
                </Fact>
              )}
            </Show>
          </Facts>
          {props.children?.(shown, here)}
          <Confirm
            open={deleting()}
            title={`Delete ${props.noun}?`}
            action="Delete"
            onConfirm={remove}
            instead={
              props.place.may("edit") && !shown().archived ? { label: "Archive", run: () => archive(true) } : undefined
            }
            onClose={() => setDeleting(false)}
          >
            <p>
              Delete <strong class="break">{shown().name}</strong> permanently?
            </p>
            <p class="muted">{props.deletion}</p>
          </Confirm>
        </Page>
      )}
    </Show>
  );
}

/** Applies a change locally: the API shows a flag as the time at which it was set. */
function flagged(body: object): object {
  const shown = (value: unknown) => (typeof value === "boolean" ? (value ? new Date().toISOString() : null) : value);
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, shown(value)]));
}
