// alert: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const List = Unbuilt;
export const View = Unbuilt;
