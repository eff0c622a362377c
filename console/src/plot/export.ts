// Exports a plot: numbers as CSV, image as PNG.

import { plural } from "../format";
import { colorOf, palette } from "./colors";
import { metricUuid } from "./columns";
import type { Found } from "./fetch";
import { byChange, type PerfLine } from "./lines";

const HEADINGS = [
  "start_time",
  "version",
  "hash",
  "report",
  "metric",
  "branch",
  "testbed",
  "benchmark",
  "parameters",
  "measure",
  "units",
  "value",
  "lower_value",
  "upper_value",
  "baseline",
  "lower_limit",
  "upper_limit",
  "alert",
];

/** The points of series as CSV, one per line. */
export function csv(all: readonly Found[]): string {
  const lines = [HEADINGS.join(",")];
  for (const series of all) {
    const { runs, run, branch, testbed, benchmark, measure, variant } = series;
    const parameters = variant ? JSON.stringify(variant.parameters) : "";
    const names = [branch.name, testbed.name, benchmark.name, parameters, measure.name, measure.units]
      .map(quoted)
      .join(",");
    const alerts = new Map(series.alerts.map((alert) => [alert.at, alert.status]));
    const number = (numbers: Float64Array | undefined, at: number) =>
      numbers && !Number.isNaN(numbers[at]) ? String(numbers[at]) : "";
    for (let at = 0; at < run.length; at++) {
      const place = run[at] as number;
      const start = new Date(runs.start[place] as number).toISOString();
      const numbers = [
        series.value,
        series.lower,
        series.upper,
        series.baseline,
        series.lowerLimit,
        series.upperLimit,
      ].map((column) => number(column, at));
      lines.push(
        [
          start,
          runs.number[place],
          runs.hash[place] ?? "",
          runs.uuid[place],
          metricUuid(series, at),
          names,
          ...numbers,
          alerts.get(at) ?? "",
        ].join(","),
      );
    }
  }
  return `${lines.join("\r\n")}\r\n`;
}

/** Escapes a text so that spreadsheets do not evaluate it as a formula. */
function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Maximum number of lines in the legend of an image: those with a change first. */
const MOST_NAMED = 24;

/** The plot as shown, with a title above and a legend below. */
export async function png(
  plot: HTMLCanvasElement,
  title: string,
  shared: string,
  all: readonly PerfLine[],
): Promise<Blob> {
  const lines = byChange(all).slice(0, MOST_NAMED);
  const more = all.length - lines.length;
  const texts = [...lines.map(({ label }) => label), ...(more ? [`and ${plural(more, "more line")}`] : [])];
  const density = plot.width / plot.clientWidth;
  const [pad, row, head] = [16 * density, 20 * density, 56 * density];
  const canvas = document.createElement("canvas");
  canvas.width = plot.width + 2 * pad;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const family = getComputedStyle(document.body).fontFamily;
  const font = (size: number, weight = "") => `${weight} ${size * density}px ${family}`;
  context.font = font(13);
  // Place as many labels in a row as fit.
  const places: [x: number, y: number][] = [];
  let [x, y] = [0, 0];
  for (const text of texts) {
    const width = context.measureText(text).width + 34 * density;
    if (x > 0 && x + width > plot.width) [x, y] = [0, y + row];
    places.push([x, y]);
    x += width;
  }
  canvas.height = head + plot.height + y + row + 2 * pad;
  context.fillStyle = palette().background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.textBaseline = "middle";
  context.fillStyle = palette().text;
  context.font = font(17, "600");
  context.fillText(title, pad, pad + 10 * density, plot.width);
  context.fillStyle = palette().muted;
  context.font = font(13);
  context.fillText(shared, pad, pad + 32 * density, plot.width);
  context.drawImage(plot, pad, head);
  const top = head + plot.height + pad + row / 2;
  texts.forEach((text, place) => {
    const [left, down] = places[place] as [number, number];
    const line = lines[place];
    if (line) {
      context.fillStyle = line.quiet ? palette().muted : colorOf(line.color);
      context.fillRect(pad + left, top + down - 5 * density, 10 * density, 10 * density);
    }
    context.fillStyle = palette().text;
    context.fillText(text, pad + left + 16 * density, top + down);
  });
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The image could not be created."))), "image/png"),
  );
}

/** Downloads a file. */
export function save(name: string, content: Blob): void {
  const href = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
