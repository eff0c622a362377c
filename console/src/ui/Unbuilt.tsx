// Stands in for a page that is being built.

import type { JSX } from "solid-js";
import { Page } from "./Page";
import { Empty } from "./parts";

export function Unbuilt(): JSX.Element {
  return <Page title="Not here yet"><Empty title="This page is being built">Everything it will do is in the API already.</Empty></Page>;
}
