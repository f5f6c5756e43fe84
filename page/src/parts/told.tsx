/** What the page says instead of data: that it is being read, that there is none, that it cannot be had. */
import type { ComponentChildren } from "preact";
import type { Problem } from "../data/problem";
import { sentences } from "../model/words";
import { told } from "./text";

export function Waiting({ children }: { children: ComponentChildren }) {
  return <p class="told" role="status">{children}</p>;
}

export function Told({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="told">
      <h2 class="told-title">{title}</h2>
      {children}
    </div>
  );
}

export function Trouble({ problem, children }: { problem: Problem; children?: ComponentChildren }) {
  return (
    <div class="told" role="alert">
      <h2 class="told-title">{told(problem.message)}</h2>
      {problem.hint !== "" && <p>{told(problem.hint)}</p>}
      {children}
    </div>
  );
}

/** What went wrong with a part of the page, in a line. */
export function TroubleLine({ problem }: { problem: Problem | undefined }) {
  return problem === undefined ? null : <p class="line-problem" role="alert">{told(sentences(problem.message, problem.hint))}</p>;
}

/** In place of what a filter chooses, where nobody knows it. */
export function SearchFailed({ problem, again }: { problem: Problem; again: () => void }) {
  return (
    <div class="told" role="alert">
      <h2 class="told-title">The search failed</h2>
      <p>{told(sentences(problem.message, problem.hint))}</p>
      <button type="button" class="button" onClick={again}>Search again</button>
    </div>
  );
}
