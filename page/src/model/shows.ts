/** The display modes: what each adds to the filter, and the filter that means both. */
import { changed } from "./query";

/** `drawn`: the trials that a dataset was drawn from, while it is reviewed. */
export type Show = "all" | "failures" | "errors" | "different" | "flaky" | "unlabelled" | "drawn";
export const SHOWS: readonly Show[] = ["all", "failures", "errors", "different", "flaky", "unlabelled", "drawn"];

export const SHOW_WORDS: Readonly<Record<Show, string>> = {
  all: "All cases", failures: "Failures", errors: "Errors", different: "Different outputs", flaky: "Flaky", unlabelled: "Unlabelled", drawn: "Drawn for the dataset",
};

export const ADDED: Readonly<Record<Show, string>> = {
  all: "",
  failures: "status:fail",
  errors: "status:error",
  different: "is:different",
  flaky: "is:flaky",
  unlabelled: "-has:label",
  drawn: "", // the run's head says which
};

/** The filter together with a display mode: it holds in each of the alternatives. */
export function narrowed(query: string, show: Show): string {
  return ADDED[show] === "" ? query : changed(query, (each) => `${each} ${ADDED[show]}`);
}
