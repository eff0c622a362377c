// The filters of a notice: the fields of the form, and the editable fields of its page.

import type { JSX } from "solid-js";
import { type JsonNewNotice, type JsonNotice, type JsonUpdateNotice, list, type NoticeDirection } from "../api";
import { mainBranch } from "../main_branch";
import { EditableFact, SelectFact } from "../ui/Facts";
import { SelectField, TextField, type Values } from "../ui/Form";

const DIRECTIONS: readonly { value: NoticeDirection; label: string }[] = [
  { value: "any", label: "Any direction" },
  { value: "regression", label: "Regressions only" },
  { value: "improvement", label: "Improvements only" },
];
/** Maximum length of a pattern. */
const PATTERN_MAX = 255;
/** The text that selects all branches; an empty text selects the default branch. The API has null for all branches. */
const ANY = "*";

const EMPTY_BRANCH = "If empty: the default branch. * matches all branches.";

/** The filters of a new notice. */
export function FilterFields(props: { isUser: boolean }): JSX.Element {
  return (
    <>
      <TextField
        name="branch"
        label="Branch"
        maxLength={PATTERN_MAX}
        hint={
          props.isUser
            ? `A name or a pattern, for example main or release/*. ${EMPTY_BRANCH} Without a project: all branches.`
            : `A name or a pattern, for example main or release/*. ${EMPTY_BRANCH}`
        }
      />
      <TextField name="testbed" label="Testbed" maxLength={PATTERN_MAX} hint="A name or a pattern. If empty: all." />
      <TextField
        name="benchmark"
        label="Benchmark"
        maxLength={PATTERN_MAX}
        hint="A name or a pattern, for example parser::*. If empty: all."
      />
      <SelectField name="direction" label="Direction" required value="any" options={DIRECTIONS} />
      <TextField
        name="min_change"
        label="Minimum size in percent"
        type="number"
        min={0}
        step="any"
        hint="Smaller changes are not sent. If empty: no minimum."
      />
    </>
  );
}

/** The filters of a form, as fields of the request. */
export function filterOf({ branch, testbed, benchmark, direction, min_change }: Values): Partial<JsonNewNotice> {
  return {
    ...(branch && { branch: branch === ANY ? null : branch }),
    ...(testbed && { testbed }),
    ...(benchmark && { benchmark }),
    direction: (direction ?? "any") as NoticeDirection,
    ...(min_change && { min_change: share(min_change) }),
  };
}

/** The filters of a notice, editable in place. */
export function FilterFacts(props: {
  notice: JsonNotice;
  save: (body: JsonUpdateNotice) => Promise<unknown>;
  pick: (body: JsonUpdateNotice) => unknown;
}): JSX.Element {
  const branch = () => props.notice.branch ?? ANY;
  const pattern = (label: string, field: "testbed" | "benchmark") => (
    <EditableFact
      label={label}
      value={props.notice[field] ?? ""}
      optional
      maxLength={PATTERN_MAX}
      editable
      save={(text) => props.save({ [field]: text || null })}
    >
      {props.notice[field] ?? <span class="muted">all</span>}
    </EditableFact>
  );
  return (
    <>
      <EditableFact
        label="Branch"
        value={branch()}
        optional
        maxLength={PATTERN_MAX}
        editable
        hint={props.notice.project ? EMPTY_BRANCH : undefined}
        save={async (text) => {
          const { project } = props.notice;
          const named = text || (project ? await defaultBranch(project) : ANY);
          return props.save({ branch: named === ANY ? null : named });
        }}
      >
        {branch() === ANY ? <span class="muted">all</span> : branch()}
      </EditableFact>
      {pattern("Testbed", "testbed")}
      {pattern("Benchmark", "benchmark")}
      <SelectFact
        label="Direction"
        value={props.notice.direction}
        options={DIRECTIONS}
        save={(direction) => props.pick({ direction })}
      />
      <EditableFact
        label="Minimum size in percent"
        value={percent(props.notice.min_change)}
        optional
        maxLength={12}
        editable
        save={(text) => props.save({ min_change: text ? share(text) : null })}
      >
        {props.notice.min_change ? `${percent(props.notice.min_change)} %` : <span class="muted">none</span>}
      </EditableFact>
    </>
  );
}

/** The name of the default branch, as the server determines it for a new notice. */
async function defaultBranch(project: string): Promise<string> {
  const path = { project };
  const { rows } = await list("/v0/projects/{project}/reports", { path, query: { per_page: 255 } });
  return mainBranch(rows)?.name ?? "main";
}

/** A share from a text in percent. */
function share(text: string): number {
  const number = Number(text.replace(/\s*%$/, "").replace(",", "."));
  if (Number.isNaN(number)) throw new Error(`“${text}” is not a number.`);
  // Without the rounding error of the division: 7 % is 0.07.
  return Number((number / 100).toPrecision(12));
}

function percent(share: number | null | undefined): string {
  return share ? String(Number((share * 100).toPrecision(12))) : "";
}
