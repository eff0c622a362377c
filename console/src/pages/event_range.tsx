// The link to the code host with all commits between the last run before an event and its last possible commit.

import { type JSX, Show } from "solid-js";
import { type JsonEvent, list } from "../api";
import { compareUrl } from "../links";
import { load } from "../load";
import { useProject } from "../project";

/** Number of earlier runs to search for a commit: several testbeds and repeated runs have the same commit. */
const EARLIER = 20;

/** A link to the comparison of the commits; nothing without a code host, or without a run before the event. */
export function CommitRange(props: { event: JsonEvent }): JSX.Element {
  const project = useProject();
  const first = () => props.event.candidates[0];
  const bad = () => props.event.candidates.at(-1)?.hash;
  const before = load(
    () => {
      const { branch, earliest, start_time } = props.event;
      const hash = bad();
      if (!hash || !compareUrl(project().url, hash, hash)) return undefined;
      return {
        project: project.slug(),
        branch: branch.uuid,
        head: branch.head.uuid,
        end_time: Date.parse(earliest?.start_time ?? start_time),
      };
    },
    async ({ project, branch, head, end_time }, signal) => {
      const query = { branch, end_time, per_page: EARLIER };
      const { rows } = await list("/v0/projects/{project}/reports", { path: { project }, query, signal });
      return rows.filter(({ branch }) => branch.head.uuid === head).flatMap(({ branch }) => branch.head.version ?? []);
    },
  );
  const href = () => {
    const [from, hash] = [first(), bad()];
    const good = from && before()?.find(({ number, hash }) => number < from.number && hash)?.hash;
    return good && hash && compareUrl(project().url, good, hash);
  };
  return (
    <Show when={href()}>
      {(href) => (
        <a
          class="small nowrap"
          href={href()}
          target="_blank"
          rel="noreferrer"
          title="All commits since the last run before the event"
        >
          Compare commits
        </a>
      )}
    </Show>
  );
}
