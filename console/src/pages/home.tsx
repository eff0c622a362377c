// home: being built.

import { Unbuilt } from "../ui/Unbuilt";

export const Home = Unbuilt;
export const View = Unbuilt;
