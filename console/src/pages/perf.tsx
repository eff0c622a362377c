// perf: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const Perf = Unbuilt;
