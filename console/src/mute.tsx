// Mutes: the dialog that mutes benchmarks, and the badge of muted results.

import { createSignal, type JSX, Show } from "solid-js";
import { call, type JsonMute, type JsonMuted } from "./api";
import { moment } from "./format";
import { PATTERN_MAX, patternOf } from "./pattern";
import { useProject } from "./project";
import { Badge } from "./ui/Badge";
import { Button } from "./ui/Button";
import { Dialog } from "./ui/Dialog";
import { Form, SelectField, TextField } from "./ui/Form";
import { toast, toastFailure } from "./ui/Toast";

const DAY = 86_400;
/** The periods of a mute in seconds; empty without an end. */
const PERIODS = [
  { value: String(DAY), label: "1 day" },
  { value: String(7 * DAY), label: "7 days" },
  { value: String(14 * DAY), label: "14 days" },
  { value: String(30 * DAY), label: "30 days" },
  { value: String(90 * DAY), label: "90 days" },
  { value: "", label: "Until it is unmuted" },
] as const;

/** When a mute ends, as text. */
export function untilText({ expires }: Pick<JsonMuted, "expires">): string {
  return expires ? `until ${moment(expires)}` : "until it is unmuted";
}

/** Deletes a mute. */
export function unmute(project: string, mute: string): Promise<unknown> {
  return call("delete", "/v0/projects/{project}/mutes/{mute}", { path: { project, mute } });
}

/** The badge of a muted result; nothing if it is not muted. */
export function MutedBadge(props: { of: JsonMuted | undefined }): JSX.Element {
  return (
    <Show when={props.of}>
      {(muted) => (
        <span title={`${muted().reason} (${untilText(muted())})`}>
          <Badge>muted</Badge>
        </span>
      )}
    </Show>
  );
}

/** The dialog that creates a mute. */
export function MuteDialog(props: {
  open: boolean;
  onClose: () => void;
  /** Called after a mute was created or deleted. */
  onChange: () => void;
  /** The initial benchmark. */
  benchmark?: string | undefined;
  hint?: JSX.Element;
}): JSX.Element {
  const project = useProject();
  const submit = async ({ benchmark, branch, testbed, reason = "", ttl }: Record<string, string | undefined>) => {
    const slug = project.slug();
    const made: JsonMute = await call("post", "/v0/projects/{project}/mutes", {
      path: { project: slug },
      body: {
        benchmark: benchmark ?? null,
        branch: branch ?? null,
        testbed: testbed ?? null,
        reason,
        ttl: ttl ? Number(ttl) : null,
      },
    });
    props.onClose();
    props.onChange();
    toast(`Muted ${untilText(made)}.`, () => unmute(slug, made.uuid).then(() => props.onChange(), toastFailure));
  };
  return (
    <Dialog open={props.open} title="Mute" onClose={props.onClose}>
      <p class="small muted">
        Muted benchmarks cause no notifications and no failing checks. They are still measured, and their results are
        marked as muted.
      </p>
      <Form action="Mute" onCancel={props.onClose} onSubmit={submit}>
        <TextField name="reason" label="Reason" required maxLength={1_024} autofocus />
        <SelectField name="ttl" label="Period" required value={String(14 * DAY)} options={PERIODS} />
        <TextField
          name="benchmark"
          label="Benchmark"
          maxLength={PATTERN_MAX}
          value={patternOf(props.benchmark ?? "")}
          hint={
            props.hint ?? (
              <>
                A name or a pattern, for example <code>parser::*</code>.
              </>
            )
          }
        />
        <TextField name="branch" label="Branch" maxLength={PATTERN_MAX} hint="A name or a pattern; all if empty." />
        <TextField name="testbed" label="Testbed" maxLength={PATTERN_MAX} hint="A name or a pattern; all if empty." />
      </Form>
    </Dialog>
  );
}

/** A button that mutes a benchmark. */
export function MuteButton(props: { benchmark: string; onChange?: () => void }): JSX.Element {
  const [open, setOpen] = createSignal(false);
  return (
    <>
      <Button title="No notifications and no failing checks for a period" onClick={() => setOpen(true)}>
        Mute
      </Button>
      <MuteDialog
        open={open()}
        benchmark={props.benchmark}
        onClose={() => setOpen(false)}
        onChange={() => props.onChange?.()}
      />
    </>
  );
}
