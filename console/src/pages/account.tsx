// account: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const Keys = Unbuilt;
export const AddKey = Unbuilt;
export const Key = Unbuilt;
export const Tokens = Unbuilt;
export const Settings = Unbuilt;
export const Help = Unbuilt;
