// Specs: types of machines for jobs, managed by administrators.

import { useNavigate, useParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { call, type JsonNewSpec, type JsonSpec, type JsonUpdateSpec, list } from "../api";
import { machineText } from "../spec";
import { Badge } from "../ui/Badge";
import { Button, LinkButton } from "../ui/Button";
import { Fact } from "../ui/Facts";
import { CheckField, Form, SelectField, TextField } from "../ui/Form";
import { ItemPage, type Place } from "../ui/ItemPage";
import { List as Rows } from "../ui/List";
import { Page } from "../ui/Page";
import { Empty } from "../ui/State";
import { toast, toastFailure } from "../ui/Toast";
import { Time } from "../ui/Value";
import "./lists.css";

const HERE: Place = {
  path: (...segments) => ["/console/server/specs", ...segments.map(encodeURIComponent)].join("/"),
  crumbs: () => [
    { href: "/console/server", label: "This server" },
    { href: "/console/server/specs", label: "Specs" },
  ],
  may: () => true,
};

/** Bytes per unit of memory and disk. */
const GIGABYTE = 1e9;

export function List(): JSX.Element {
  const add = () => (
    <LinkButton href={HERE.path("add")} icon="plus" primary>
      Add a spec
    </LinkButton>
  );
  return (
    <Page title="Specs" crumbs={HERE.crumbs().slice(0, 1)} actions={add()}>
      <Rows<JsonSpec>
        noun="spec"
        search
        archived
        load={(query, signal) =>
          list("/v0/specs", { query: { ...query, sort: query.sort === "created" ? "created" : "name" }, signal })
        }
        href={(spec) => HERE.path(spec.slug)}
        columns={[
          {
            title: "Name",
            sort: "name",
            cell: (spec) => (
              <>
                {spec.name}
                <span class="subtext on-phone">{machineText(spec)}</span>
              </>
            ),
          },
          {
            title: "Serves",
            cell: (spec) => (
              <Show when={spec.fallback} fallback={<span class="muted nowrap">jobs with this spec</span>}>
                <Badge tone="brand">jobs without a spec</Badge>
              </Show>
            ),
          },
          { title: "Machine", wide: true, cell: (spec) => <span class="muted">{machineText(spec)}</span> },
          {
            title: "Created",
            sort: "created",
            descending: true,
            wide: true,
            end: true,
            cell: (spec) => (
              <span class="muted">
                <Time at={spec.created} />
              </span>
            ),
          },
        ]}
        empty={
          <Empty title="No specs yet" action={add()}>
            A spec is a type of machine: system, processors, memory, disk and network. A job runs on one spec, and a
            runner takes jobs of the specs that it serves.
          </Empty>
        }
      />
    </Page>
  );
}

export function Add(): JSX.Element {
  const navigate = useNavigate();
  return (
    <Page title="Add a spec" crumbs={HERE.crumbs()} narrow>
      <p class="muted">
        You cannot change the machine of a spec later, so that values of different machines are never compared.
      </p>
      <Form
        action="Add the spec"
        onCancel={() => navigate(HERE.path())}
        onSubmit={async ({ name = "", slug, os, architecture, sandbox, cpu, memory, disk, network, fallback }) => {
          const body: JsonNewSpec = {
            name,
            slug: slug ?? null,
            os: os as JsonNewSpec["os"],
            architecture: architecture as JsonNewSpec["architecture"],
            sandbox: sandbox === "firecracker" ? sandbox : null,
            cpu: Number(cpu),
            memory: Math.round(Number(memory) * GIGABYTE),
            disk: Math.round(Number(disk) * GIGABYTE),
            network: Boolean(network),
            fallback: Boolean(fallback),
          };
          const made = await call("post", "/v0/specs", { body });
          toast("The spec was added.");
          navigate(HERE.path(made.slug));
        }}
      >
        <TextField
          name="name"
          label="Name"
          required
          maxLength={64}
          autofocus
          hint="The name of the type of machine, for example metal-8."
        />
        <TextField
          name="slug"
          label="Slug"
          maxLength={64}
          hint="The identifier in URLs and for --spec. Generated from the name if empty."
        />
        <SelectField
          name="os"
          label="System"
          required
          value="linux"
          options={[
            { value: "linux", label: "Linux" },
            { value: "macos", label: "macOS" },
            { value: "windows", label: "Windows" },
          ]}
        />
        <SelectField
          name="architecture"
          label="Architecture"
          required
          value="x86_64"
          options={[
            { value: "x86_64", label: "x86_64" },
            { value: "aarch64", label: "aarch64" },
          ]}
        />
        <SelectField
          name="sandbox"
          label="Sandbox"
          required
          value="container"
          options={[
            { value: "container", label: "A container" },
            { value: "firecracker", label: "A Firecracker microVM" },
          ]}
        />
        <TextField name="cpu" label="Processors" type="number" required min={1} max={2147483647} step={1} value="2" />
        <TextField name="memory" label="Memory in GB" type="number" required min={0.001} step="any" value="4" />
        <TextField name="disk" label="Disk in GB" type="number" required min={0.001} step="any" value="10" />
        <CheckField name="network" label="Jobs can reach the network" />
        <CheckField name="fallback" label="Fallback: serve jobs without a spec" />
      </Form>
    </Page>
  );
}

export function View(): JSX.Element {
  const params = useParams<{ spec: string }>();
  const [busy, setBusy] = createSignal(false);
  return (
    <ItemPage<JsonSpec, JsonUpdateSpec>
      noun="spec"
      place={HERE}
      id={params.spec}
      nameLength={64}
      load={(spec, signal) => call("get", "/v0/specs/{spec}", { path: { spec }, signal })}
      patch={(spec, body) => call("patch", "/v0/specs/{spec}", { path: { spec }, body })}
      remove={(spec) => call("delete", "/v0/specs/{spec}", { path: { spec } })}
      deletion="A spec that runners or jobs use cannot be deleted. It can only be archived."
      actions={(shown, here) => {
        const serve = async (fallback: boolean): Promise<void> => {
          setBusy(true);
          await here
            .change({ fallback })
            .then(
              () =>
                toast(
                  fallback
                    ? "The spec now serves jobs without a spec."
                    : "The spec no longer serves jobs without a spec.",
                  () => serve(!fallback),
                ),
              toastFailure,
            );
          setBusy(false);
        };
        return (
          <Show when={!shown().archived}>
            <Button disabled={busy()} onClick={() => serve(!shown().fallback)}>
              {shown().fallback ? "Remove as fallback" : "Set as fallback"}
            </Button>
          </Show>
        );
      }}
      facts={(shown) => (
        <>
          <Fact label="Machine">{machineText(shown())}</Fact>
          <Fact label="Fallback">
            <Show when={shown().fallback} fallback={<span class="muted">no: only jobs with this spec</span>}>
              {(since) => (
                <>
                  for jobs without a spec, since <Time at={since()} />
                </>
              )}
            </Show>
          </Fact>
        </>
      )}
    />
  );
}
