// Entry point: theme, shortcuts, session and router.

import "./theme.css";
import "./ui/ui.css";
import { Router } from "@solidjs/router";
import { render } from "solid-js/web";
import { startKeys } from "./keys";
import { routes } from "./routes";
import { loadSession } from "./session";
import { apply } from "./theme";
import { toastFailure } from "./ui/Toast";

apply();
startKeys();
loadSession().catch(toastFailure);

const root = document.getElementById("app");
if (root) render(() => <Router>{routes}</Router>, root);
