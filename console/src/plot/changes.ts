// Loads the changes of the series of a plot.

import type { Accessor } from "solid-js";
import { type JsonChange, list } from "../api";
import { type Loaded, load } from "../load";
import { everything } from "./all";
import type { PerfQuery } from "./query";

/** Maximum number of requests: a plot marks the newest 1,020 changes. */
const MOST_PAGES = 4;

/** Loads the newest changes of a selection. They can include changes of other series: a filter accepts one value. */
export function loadChanges(project: Accessor<string>, query: Accessor<PerfQuery | undefined>): Loaded<JsonChange[]> {
  return load(
    () => {
      const asked = query();
      if (!asked) return undefined;
      const only = (name: string, [first, second]: readonly string[]) =>
        first === undefined || (second !== undefined && second !== first) ? {} : { [name]: first };
      return {
        path: { project: project() },
        query: {
          ...only("branch", asked.branches),
          ...only("testbed", asked.testbeds),
          ...only("benchmark", asked.benchmarks),
          ...only("measure", asked.measures),
        },
      };
    },
    ({ path, query }, signal) =>
      everything(
        (page) => list("/v0/projects/{project}/changes", { path, query: { ...query, ...page }, signal }),
        MOST_PAGES,
      ),
  );
}
