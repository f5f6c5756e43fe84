/** What is read for as long as it is shown. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import { TroubleLine, Waiting } from "../parts/told";

/**
 * Reads anew for another key, after `pause` ms; what was read before stays until then. With it comes what is said instead:
 * that it is being read, or why it cannot be.
 */
export function useRead<T>(read: () => Promise<T> | undefined, key: string, pause = 0): readonly [T | undefined, ComponentChildren] {
  const [value, set] = useState<T>();
  const [problem, fail] = useState<Problem>();
  useEffect(() => {
    let on = true;
    fail(undefined);
    const timer = setTimeout(() => read()?.then((found) => on && set(found), (thrown: unknown) => on && fail(problemOf(thrown))), pause);
    return () => {
      on = false;
      clearTimeout(timer);
    };
  }, [key]);
  return [value, problem === undefined ? value === undefined && <Waiting>Reading the runs…</Waiting> : <TroubleLine problem={problem} />];
}
