// Icons. They are decorative: a text or a label states the meaning.

import type { JSX } from "solid-js";

const PATHS = {
  menu: "M3 6h18M3 12h18M3 18h18",
  close: "M6 6l12 12M18 6L6 18",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM20 20l-4-4",
  down: "M6 9l6 6 6-6",
  left: "M15 6l-6 6 6 6",
  right: "M9 6l6 6-6 6",
  plus: "M12 5v14M5 12h14",
  check: "M5 12.500l4.5 4.500L19 7.5",
  copy: "M9 9h10v10H9zM15 9V5H5v10h4",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  sun:
    "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 2v2M12 20v2M4.9 4.900l1.4 1.400M17.7 17.700l1.4 1.400" +
    "M2 12h2M20 12h2M4.9 19.100l1.4-1.400M17.7 6.300l1.4-1.4",
  moon: "M20 14.500A8 8 0 0 1 9.5 4a8 8 0 1 0 10.5 10.500z",
  screen: "M3 5h18v11H3zM8 20h8M12 16v4",
  home: "M4 11l8-7 8 7v9H4zM10 20v-6h4v6",
  chart: "M4 4v16h16M7 15l4-5 3 3 5-7",
  compare: "M8 4v16M16 4v16M8 8h8M8 16h8",
  report: "M6 3h9l4 4v14H6zM9 12h7M9 16h7M9 8h3",
  bell: "M6 17V11a6 6 0 1 1 12 0v6l2 2H4zM10 21h4",
  mute: "M6 17V11a6 6 0 0 1 9-5.200M18 11v6l2 2H4l2-2M10 21h4M4 4l16 16",
  step: "M3 17h8V7h10",
  threshold: "M3 8h18M3 17l5-4 4 2 4-6 5 3",
  branch:
    "M7 4v11M7 20a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM17 9a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM17 9c0 5-10 2-10 6",
  testbed: "M4 5h16v10H4zM2 19h20M9 15v4M15 15v4",
  benchmark: "M12 21a9 9 0 1 1 9-9M12 12l5-5M12 7v1",
  measure: "M3 9h18v7H3zM7 9v3M11 9v4M15 9v3M19 9v3",
  job: "M7 4l13 8-13 8z",
  runner: "M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4",
  key: "M14.5 9.500a4 4 0 1 0-5.6 3.700L4 18v3h3l1-1v-2h2v-2l2.2-2.200a4 4 0 0 0 2.3-4.300z",
  people:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-3.5 3-6 6.5-6s6.5 2.5 6.5 6" +
    "M16 4.500a3.5 3.5 0 0 1 0 6.500M18 14.500c2 .8 3.5 2.7 3.5 5.5",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  server: "M4 4h16v7H4zM4 13h16v7H4zM8 7.500h.01M8 16.500h.01",
  book: "M5 4h13v16H6.500A1.5 1.5 0 0 1 5 18.500zM5 17.500A1.5 1.5 0 0 1 6.5 17H18",
  out: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  share: "M12 15V3M8 7l4-4 4 4M7 11H5v10h14V11h-2",
  pin: "M12 15v6M8 3h8l-1 6 3 3v3H6v-3l3-3z",
  warning: "M12 4l9 16H3zM12 10v4M12 17h.01",
  swap: "M4 8h15l-4-4M20 16H5l4 4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon(props: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg class="icon" width={props.size ?? 18} height={props.size ?? 18} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[props.name]} />
    </svg>
  );
}
