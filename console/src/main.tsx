// Entry point: theme, shortcuts, session and router.

import "./theme.css";
import "./ui/ui.css";
import { Router } from "@solidjs/router";
import { render } from "solid-js/web";
import { trackInput } from "./drafts";
import { startKeys } from "./keys";
import { App } from "./recovery";
import { routes } from "./routes";
import { loadSession } from "./session";
import { apply } from "./theme";

apply();
startKeys();
trackInput();
void loadSession();

const root = document.getElementById("app");
if (root) render(() => <Router root={App}>{routes}</Router>, root);
