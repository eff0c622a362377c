// embed: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const Embed = Unbuilt;
