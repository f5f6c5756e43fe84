/** Draws what is in a file of its own as soon as that is loaded: `later(({ RunList }) => RunList)`. */
import type { ComponentChild, FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { about, type Problem } from "../data/problem";
import { Trouble, Waiting } from "./told";

type Live = typeof import("../live");
const FILE = "/live.js";
let live: Live | undefined;

/** `meanwhile` is drawn until then. */
export function later<P extends object>(pick: (live: Live) => FunctionComponent<P>, meanwhile: ComponentChild = <Waiting>Reading…</Waiting>): FunctionComponent<P> {
  return (props: P) => {
    const [loaded, set] = useState(live);
    const [problem, fail] = useState<Problem>();
    useEffect(() => {
      if (loaded !== undefined) return;
      (import(FILE) as Promise<Live>).then((found) => set((live = found)), (thrown: unknown) => fail(about("a part of the page could not be loaded", thrown)));
    }, []);
    if (problem !== undefined) return <Trouble problem={problem} />;
    if (loaded === undefined) return <>{meanwhile}</>;
    const View = pick(loaded);
    return <View {...props} />;
  };
}
