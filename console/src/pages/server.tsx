// server: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const Stats = Unbuilt;
export const Users = Unbuilt;
export const User = Unbuilt;
export const Config = Unbuilt;
export const Backup = Unbuilt;
export const Audit = Unbuilt;
