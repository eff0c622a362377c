// Lets node's test runner load our TypeScript.
import { register } from "node:module";

register("./typescript-hooks.js", import.meta.url);
