/** What could not be had, in words for the one who reads the page. */
export class Problem extends Error {
  constructor(
    message: string,
    /** What to do about it; empty for nothing. */
    readonly hint = "",
    readonly slug = "",
  ) {
    super(message);
  }
}

/** Anything that was thrown, as a problem. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  return new Problem(thrown instanceof Error ? thrown.message : String(thrown));
}

/** The same with what could not be done for it: `the labels could not be read: …`. */
export function about(what: string, thrown: unknown): Problem {
  const { message, hint, slug } = problemOf(thrown);
  return new Problem(`${what}: ${message}`, hint, slug);
}

/** Whether this is only a request that was called off. */
export function calledOff(thrown: unknown): boolean {
  return thrown instanceof DOMException && thrown.name === "AbortError";
}

/** Those of some problems that say something else: a server that was stopped fails several requests at once. */
export function different(problems: readonly (Problem | undefined)[]): Problem[] {
  const kept: Problem[] = [];
  for (const problem of problems) {
    if (problem !== undefined && !kept.some(({ message, hint }) => message.endsWith(problem.message) && hint === problem.hint)) kept.push(problem);
  }
  return kept;
}
