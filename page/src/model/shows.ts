/** The display modes: what each adds to the filter, and the filter that means both. */
import { changed } from "./query";

export type Show = "all" | "failures" | "errors" | "different" | "flaky" | "unlabelled";
export const SHOWS: readonly Show[] = ["all", "failures", "errors", "different", "flaky", "unlabelled"];

export const SHOW_WORDS: Readonly<Record<Show, string>> = {
  all: "All cases", failures: "Failures", errors: "Errors", different: "Different outputs", flaky: "Flaky", unlabelled: "Unlabelled",
};

export const ADDED: Readonly<Record<Show, string>> = {
  all: "",
  failures: "status:fail",
  errors: "status:error",
  different: "is:different",
  flaky: "is:flaky",
  unlabelled: "-has:label",
};

/** The filter together with a display mode: it holds in each of the alternatives. */
export function narrowed(query: string, show: Show): string {
  return ADDED[show] === "" ? query : changed(query, (each) => `${each} ${ADDED[show]}`);
}
