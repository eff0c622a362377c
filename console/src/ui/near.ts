// Parts of a page that load when the user scrolls to them.

import { type Accessor, createSignal, onCleanup, onMount } from "solid-js";

/** Whether an element is in the viewport or was there before; true shortly before the user scrolls to it. */
export function createNear(place: () => Element | undefined): Accessor<boolean> {
  const [near, setNear] = createSignal(false);
  onMount(() => {
    const watch = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setNear(true);
      },
      { rootMargin: "300px" },
    );
    const element = place();
    if (element) watch.observe(element);
    onCleanup(() => watch.disconnect());
  });
  return near;
}
