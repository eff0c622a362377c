// metric: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const View = Unbuilt;
