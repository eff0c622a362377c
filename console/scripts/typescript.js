// Lets the test runner of Node.js load TypeScript.
import { register } from "node:module";

register("./typescript-hooks.js", import.meta.url);
