// threshold: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const List = Unbuilt;
export const Add = Unbuilt;
export const View = Unbuilt;
export const Edit = Unbuilt;
