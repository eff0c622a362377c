// reference: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const Reference = Unbuilt;
