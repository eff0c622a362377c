// directory: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const Directory = Unbuilt;
