/** The display modes: what each adds to the filter, and the filter that means both. */
import { changed } from "./query";

/** `drawn`: the trials that a dataset was drawn from, while it is reviewed. */
export type Show = "all" | "failures" | "errors" | "different" | "verdicts" | "flaky" | "unlabelled" | "drawn";
export const SHOWS: readonly Show[] = ["all", "failures", "errors", "different", "verdicts", "flaky", "unlabelled", "drawn"];

export const SHOW_WORDS: Readonly<Record<Show, string>> = {
  all: "All cases", failures: "Failures", errors: "Errors", different: "Different outputs", verdicts: "Different verdicts", flaky: "Flaky", unlabelled: "Unlabelled", drawn: "Drawn for the dataset",
};

const ADDED: Readonly<Record<Exclude<Show, "verdicts">, string>> = {
  all: "",
  failures: "status:fail",
  errors: "status:error",
  different: "is:different",
  flaky: "is:flaky",
  unlabelled: "-has:label",
  drawn: "", // the run's head says which
};

/** What a display mode adds to the filter. Verdicts differ between the two columns that are shown, by their places; of more it adds nothing. */
export function added(show: Show, columns: readonly number[]): string {
  if (show !== "verdicts") return ADDED[show];
  return columns.length === 2 ? `passed@${columns[0]! + 1}!=passed@${columns[1]! + 1}` : "";
}

/** The filter together with a display mode: it holds in each of the alternatives. */
export function narrowed(query: string, show: Show, columns: readonly number[] = []): string {
  const more = added(show, columns);
  return more === "" ? query : changed(query, (each) => `${each} ${more}`);
}
