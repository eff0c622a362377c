// compare: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const Compare = Unbuilt;
