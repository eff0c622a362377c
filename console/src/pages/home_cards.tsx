// Cards of events: open regressions and recent changes on the home page, and the events of a benchmark.

import { A } from "@solidjs/router";
import { For, type JSX, Show } from "solid-js";
import { colorDirection } from "../answer";
import { type JsonBenchmark, type JsonEvent, list, type Page as Rows } from "../api";
import { Share } from "../change";
import { alertShare, Commits, eventSeries, eventTitle, leadOf, StatusBadge } from "../event";
import { count, plural } from "../format";
import { type Loaded, load } from "../load";
import { MutedBadge } from "../mute";
import { useProject } from "../project";
import { Failure, Skeleton } from "../ui/State";
import { Name, Time } from "../ui/Value";
import "./home.css";

/** Number of rows of a card before "All". */
const SHOWN = 6;
/** Maximum number of events of a benchmark. */
const OF_BENCHMARK = 25;
/** Maximum age of a recent change, in days. */
const RECENT_DAYS = 30;

/** The card of the open events with a regression that are not muted, newest first. */
export function OpenRegressions(): JSX.Element {
  const project = useProject();
  const events = load(
    () => ({ project: project.slug(), open: project.regressions() }),
    async ({ project }, signal) => {
      const open = (query: { change_direction?: "regression"; per_page: number }) =>
        list("/v0/projects/{project}/events", {
          path: { project },
          query: { status: "open", muted: false, ...query },
          signal,
        });
      const regressions = await open({ change_direction: "regression", per_page: SHOWN });
      return { ...regressions, others: regressions.total ? 0 : (await open({ per_page: 0 })).total };
    },
  );
  return (
    <Card
      id="home-regressions"
      title="Open regressions"
      events={events}
      all={`All ${count(events()?.total ?? 0)}`}
      href={project.path("regressions")}
      empty={
        <EmptySection title="No open regressions">
          <Show when={events()?.others} fallback="No regression needs review.">
            {(others) => (
              <A href={`${project.path("regressions")}?change_direction=any`}>
                {plural(others(), "open event")} without a regression {others() === 1 ? "needs" : "need"} review.
              </A>
            )}
          </Show>
        </EmptySection>
      }
    />
  );
}

/** The card of the newest events of a benchmark, of any status. */
export function BenchmarkEvents(props: { benchmark: Pick<JsonBenchmark, "uuid" | "slug"> }): JSX.Element {
  const project = useProject();
  const all = () => {
    const query = { status: "all", change_direction: "any", muted: "any", benchmark: props.benchmark.slug };
    return `${project.path("regressions")}?${new URLSearchParams(query)}`;
  };
  const events = load(
    () => ({ project: project.slug(), benchmark: props.benchmark.uuid }),
    ({ project, benchmark }, signal) =>
      list("/v0/projects/{project}/events", {
        path: { project },
        query: { benchmark, per_page: OF_BENCHMARK },
        signal,
      }),
  );
  return (
    <Card
      id="benchmark-events"
      title="Events"
      events={events}
      all={`All ${count(events()?.total ?? 0)}`}
      href={all()}
      status
      benchmark={props.benchmark.uuid}
      empty={<EmptySection title="No events">This benchmark has no change and no alert.</EmptySection>}
    />
  );
}

/** The card of the newest events in any direction. */
export function RecentChanges(): JSX.Element {
  const project = useProject();
  const since = Date.now() - RECENT_DAYS * 86_400_000;
  const events = load(
    () => ({ project: project.slug(), open: project.regressions() }),
    async ({ project }, signal) => {
      const query = { per_page: SHOWN };
      const { rows } = await list("/v0/projects/{project}/events", { path: { project }, query, signal });
      const recent = rows.filter(({ start_time }) => Date.parse(start_time) >= since);
      return { rows: recent, total: recent.length };
    },
  );
  return (
    <Card
      id="home-changes"
      title="Recent changes"
      events={events}
      all="All"
      href={`${project.path("regressions")}?status=all&change_direction=any`}
      status
      empty={
        <EmptySection title="No recent changes">
          No series changed its level in the last {RECENT_DAYS} days.
        </EmptySection>
      }
    />
  );
}

function Card(props: {
  id: string;
  title: string;
  events: Pick<Loaded<Rows<JsonEvent>>, "error" | "refresh"> & (() => Rows<JsonEvent> | undefined);
  /** The text and the target of the link to all events. */
  all: string;
  href: string;
  /** Whether to show the status of each event. */
  status?: boolean;
  /** The UUID of the benchmark whose change to show, instead of the worst change. */
  benchmark?: string;
  empty: JSX.Element;
}): JSX.Element {
  return (
    <section class="card home-card" aria-labelledby={props.id}>
      <header class="row between">
        <h2 id={props.id}>{props.title}</h2>
        <Show when={props.events()?.rows.length ? props.href : undefined}>
          {(href) => (
            <A class="small" href={href()}>
              {props.all}
            </A>
          )}
        </Show>
      </header>
      <Show when={props.events.error()}>{(error) => <Failure error={error()} retry={props.events.refresh} />}</Show>
      <Show
        when={props.events()}
        fallback={
          <Show when={!props.events.error()}>
            <Skeleton lines={SHOWN} />
          </Show>
        }
      >
        {(events) => (
          <Show when={events().rows.length} fallback={props.empty}>
            <ul class="home-list">
              <For each={events().rows}>
                {(event) => <EventRow event={event} status={props.status ?? false} benchmark={props.benchmark} />}
              </For>
            </ul>
          </Show>
        )}
      </Show>
    </section>
  );
}

function EventRow(props: { event: JsonEvent; status: boolean; benchmark: string | undefined }): JSX.Element {
  const project = useProject();
  const series = () => eventSeries(props.event, props.benchmark);
  const lead = () => leadOf(props.event, props.benchmark);
  return (
    <li>
      <div class="grow">
        <A href={project.path("regressions", props.event.uuid)}>
          <span class="break strong">
            <Name of={series().name} />
            {series().more}
          </span>
          <span class="small muted break">
            {eventTitle(props.event)} · {props.event.branch.name}
          </span>
        </A>
        <p class="small muted">
          <Show when={props.status}>
            <StatusBadge of={props.event} /> <MutedBadge of={props.event.muted} />{" "}
          </Show>
          <Commits event={props.event} /> · <Time at={props.event.start_time} />
        </p>
      </div>
      <Show when={lead()} keyed>
        {(lead) =>
          "direction" in lead ? (
            <Share of={lead.effect} direction={colorDirection(lead)} />
          ) : (
            <Share
              of={alertShare(lead)}
              direction={colorDirection({ direction: "regression", muted: props.event.muted })}
            />
          )
        }
      </Show>
    </li>
  );
}

function EmptySection(props: { title: string; children: JSX.Element }): JSX.Element {
  return (
    <div class="home-empty">
      <p class="strong">{props.title}</p>
      <p class="muted small">{props.children}</p>
    </div>
  );
}
