// member: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const List = Unbuilt;
export const Invite = Unbuilt;
export const View = Unbuilt;
