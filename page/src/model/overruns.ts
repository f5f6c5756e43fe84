/** The views of all runs of one config or set. */
import type { View } from "../state/url";

export const OVER_RUNS = [["history", "Measures"], ["cases", "Cases"], ["prompts", "Prompts"]] as const;

export function isOver(view: View): boolean {
  return OVER_RUNS.some(([each]) => each === view);
}
