// project_key: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const List = Unbuilt;
export const Add = Unbuilt;
export const View = Unbuilt;
