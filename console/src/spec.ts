// Texts for specs.

import type { JsonSpec } from "./api";
import { plural, value } from "./format";

const SYSTEMS: Readonly<Record<JsonSpec["os"], string>> = { linux: "Linux", macos: "macOS", windows: "Windows" };

/** `Linux on x86_64, 8 CPUs, 16 GB of memory, 100 GB of disk, no network`. */
export function machineText({ os, architecture, cpu, memory, disk, network, sandbox }: Omit<JsonSpec, "name">): string {
  const parts = [
    `${SYSTEMS[os]} on ${architecture}`,
    plural(cpu, "CPU"),
    `${value(memory, "bytes")} of memory`,
    `${value(disk, "bytes")} of disk`,
    network ? "with network" : "no network",
    sandbox && "in a Firecracker microVM",
  ];
  return parts.filter(Boolean).join(", ");
}

/** With the name of the spec: `bare-metal: Linux on …`. */
export function specText(spec: JsonSpec): string {
  return `${spec.name}: ${machineText(spec)}`;
}
