// Measures the perf page with 50 series of 10,000 points: frame times while panning and zooming, and the time to the
// first plot. Run it by hand on an idle machine: `cargo xtask console smooth`. The script generates the points, so that
// it measures the drawing and not the database. All other responses come from the server at TIDEMARK_CONSOLE_URL.
import { createServer, request as forward } from "node:http";
import { chromium } from "@playwright/test";

const [SERIES, POINTS] = [50, 10_000];
const FRAMES = 180;
const SERVER = new URL(process.env.TIDEMARK_CONSOLE_URL ?? "http://localhost:6610");
const uuid = (kind, place) => `0000000${kind}-0000-7000-8000-${place.toString(16).padStart(12, "0")}`;
const START = Date.UTC(2024, 0, 1);
const HOUR = 3_600_000;

/** The API response for one benchmark. */
function series(name, { branch, testbed, measure }, benchmark) {
  let level = 1000 * (1 + (Number.parseInt(name.slice(-3), 16) % 7));
  const noise = random(Number.parseInt(name.slice(-8), 16) + 1);
  const metrics = Array.from({ length: POINTS }, (_, place) => {
    if (place % 2500 === 2499) level *= 1.1;
    const value = level * (1 + 0.05 * (noise() + noise() - 1));
    const time = new Date(START + place * HOUR).toISOString();
    return {
      report: uuid(9, place),
      iteration: 0,
      start_time: time,
      end_time: time,
      version: { number: place, hash: null },
      metric: { uuid: uuid(8, place), value, lower_value: value * 0.98, upper_value: value * 1.02 },
      boundary: { baseline: level, lower_limit: null, upper_limit: level * 1.1 },
    };
  });
  return {
    branch,
    testbed,
    benchmark: { ...benchmark, uuid: name, name: `bench::${name.slice(-3)}`, slug: name },
    measure,
    metrics,
  };
}

/** Pseudorandom numbers from 0 to 1, the same in every run. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const get = async (path) => (await fetch(new URL(path, SERVER))).json();
const [[branch], [testbed], [benchmark], [measure]] = await Promise.all(
  ["branches?name=main", "testbeds", "benchmarks", "measures?name=Latency"].map((path) =>
    get(`/v0/projects/demo/${path}`),
  ),
);

const names = Array.from({ length: SERIES }, (_, place) => uuid(7, place));
const answers = new Map(
  names.map((name) => [name, JSON.stringify(series(name, { branch, testbed, measure }, benchmark))]),
);

/** A proxy of the server that generates the responses for the synthetic benchmarks. */
const proxy = createServer((request, response) => {
  const url = new URL(request.url ?? "/", SERVER);
  if (url.pathname === "/v0/projects/demo/perf") {
    const results = (url.searchParams.get("benchmarks") ?? "").split(",").map((name) => answers.get(name));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(`{"results":[${results.join()}]}`);
    return;
  }
  const { host: _, ...headers } = request.headers;
  const onward = forward(url, { method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  request.pipe(onward);
});
await new Promise((ready) => proxy.listen(0, "127.0.0.1", ready));

/** Runs a step in each frame and returns the frame times and the script time of each frame. */
async function measured(page, step) {
  return await page.evaluate(
    async ({ step, frames }) => {
      const over = document.querySelector(".u-over");
      const box = over.getBoundingClientRect();
      const mouse = (type, x, target = over) =>
        target.dispatchEvent(
          new MouseEvent(type, {
            bubbles: true,
            button: 0,
            shiftKey: true,
            clientX: box.left + x,
            clientY: box.top + box.height / 2,
          }),
        );
      const wheel = (deltaY) =>
        over.dispatchEvent(
          new WheelEvent("wheel", {
            bubbles: true,
            cancelable: true,
            ctrlKey: true,
            deltaY,
            clientX: box.left + box.width / 2,
            clientY: box.top + 50,
          }),
        );
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const [times, busy] = [[], []];
      if (step === "pan") mouse("mousedown", box.width / 2);
      let before = await frame();
      for (let place = 0; place < frames; place++) {
        const begun = performance.now();
        const swing = Math.sin((place / frames) * 4 * Math.PI);
        if (step === "pan") mouse("mousemove", box.width * (0.5 + 0.4 * swing), window);
        else wheel(12 * Math.sign(Math.cos((place / frames) * 4 * Math.PI)));
        const handled = performance.now() - begun;
        const now = await frame();
        // The browser draws the changes of the step at the start of the frame, before this callback.
        busy.push(handled + performance.now() - now);
        times.push(now - before);
        before = now;
      }
      if (step === "pan") mouse("mouseup", box.width / 2, window);
      return { times, busy };
    },
    { step, frames: FRAMES },
  );
}

const at = (numbers, part) =>
  [...numbers].sort((a, b) => a - b)[Math.min(Math.floor(numbers.length * part), numbers.length - 1)];
const say = (what, numbers) =>
  console.log(`${what.padEnd(34)} median ${at(numbers, 0.5).toFixed(1)} ms   p95 ${at(numbers, 0.95).toFixed(1)} ms`);

const browser = await chromium.launch({
  executablePath: process.env.TIDEMARK_TEST_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const query = new URLSearchParams({
    branches: branch.uuid,
    testbeds: testbed.uuid,
    benchmarks: names.join(","),
    measures: measure.uuid,
    x_axis: "date_time",
    clear: "true",
  });
  const begun = performance.now();
  await page.goto(`http://127.0.0.1:${proxy.address().port}/perf/demo?${query}`);
  await page.getByRole("group", { name: /[1-9]\d* lines? with/ }).waitFor();
  console.log(
    `${SERIES} series of ${POINTS} points: the first lines after ${Math.round(performance.now() - begun)} ms`,
  );
  await page.getByRole("group", { name: `${SERIES} lines with` }).waitFor({ timeout: 120_000 });
  console.log(`all of them after ${Math.round(performance.now() - begun)} ms`);
  for (const [zoom, what] of [
    [1, "half of it"],
    [3, "an eighth of it"],
  ]) {
    await page.locator(".plot").focus();
    for (let step = 0; step < zoom; step++) await page.keyboard.press("+");
    await page.getByRole("button", { name: "Reset zoom" }).waitFor();
    for (const step of ["pan", "zoom"]) {
      const { times, busy } = await measured(page, step);
      say(`${step} over ${what}, frames`, times);
      say(`${step} over ${what}, drawing`, busy);
    }
    await page.getByRole("button", { name: "Reset zoom" }).click();
  }
} finally {
  await browser.close();
  proxy.close();
}
