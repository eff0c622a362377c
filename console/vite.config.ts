import { defineConfig } from "vite";
import solid from "vite-plugin-solid";

export default defineConfig({
  logLevel: "warn",
  plugins: [solid()],
  build: {
    // The binary embeds `dist`, which scripts/compress.js creates from this folder.
    outDir: "build",
    target: "es2022",
    // The content security policy of the server forbids inline content, including data URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      checks: { bundlerTimings: false, pluginTimings: false },
      output: {
        // One file for the base of all pages and one for the plots, instead of a dozen.
        codeSplitting: {
          groups: [
            { name: "base", test: /node_modules\/(solid-js|@solidjs)\/|src\/(ui|[\w]+\.tsx?$)/, tags: ["$initial"] },
            { name: "ui", test: /src\/(ui\/|choices)/ },
            { name: "plot", test: /src\/plot\/(?!worker)|node_modules\/uplot\// },
          ],
        },
      },
    },
  },
  server: {
    port: 6611,
    // `npm run dev` forwards API requests to `tidemark serve`.
    proxy: { "/v0": { target: "http://localhost:6610" } },
  },
});
