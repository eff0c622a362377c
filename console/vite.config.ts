import { defineConfig } from "vite";
import solid from "vite-plugin-solid";

export default defineConfig({
  logLevel: "warn",
  plugins: [solid()],
  build: {
    // What goes into the binary is `dist`, which scripts/compress.js makes of this.
    outDir: "build",
    target: "es2022",
    // The content policy of the server allows nothing inline, not even in a link.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      checks: { bundlerTimings: false, pluginTimings: false },
      output: {
        // What every page starts with comes in one file, and so do the plots; left alone it would be a dozen.
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
    // `npm run dev` beside `tidemark serve`.
    proxy: { "/v0": { target: "http://localhost:6610" } },
  },
});
