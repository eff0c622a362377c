// No page has this address.

import type { JSX } from "solid-js";
import { Page } from "../ui/Page";
import { Empty, LinkButton } from "../ui/parts";

export function Missing(): JSX.Element {
  return (
    <Page title="There is nothing here">
      <Empty title="No page has this address" action={<LinkButton href="/" primary>Go to the start</LinkButton>}>
        It may have been moved, or the link may be incomplete.
      </Empty>
    </Page>
  );
}
