/** What one person says of one trial, with buttons or keys: the same in the drawer and at the matrix's cursor. */
import { useMemo } from "preact/hooks";
import type { Problem } from "../data/problem";
import type { Label } from "../data/source";
import { eventsOf, standing, takenBack, type Field, type Said, type Value } from "../model/labels";
import type { RunLabels } from "../state/labelled";
import { useKeys } from "./keyboard";

export interface Labels {
  /** Of this trial, oldest first. */
  readonly events: readonly Label[];
  readonly said: readonly Said[];
  readonly mine: Said | undefined;
  readonly problem: Problem | undefined;
  say(field: Field, value: Value): void;
  /** Says it, or takes it back where it stands. */
  toggle(field: Exclude<Field, "note" | "code" | "preference">, value: Value): void;
  /** Takes the last one back, where there is one. */
  undo(): void;
}

export function useLabels(labels: RunLabels, index: number, author: string, blind: boolean): Labels {
  const { all, problem, add } = labels;
  const events = useMemo(() => eventsOf(all, index), [all, index]);
  const said = useMemo(() => standing(events), [events]);
  const mine = said.find((one) => one.author === author);
  const by = { index, author, blind };
  const say = (field: Field, value: Value): void => add(() => ({ ...by, field, value }));
  const toggle = (field: Exclude<Field, "note" | "code" | "preference">, value: Value): void =>
    add((given) => {
      const now = standing(eventsOf(given, index)).find((one) => one.author === author);
      return { ...by, field, value: now?.[field] === value ? null : value };
    });
  const undo = (): void =>
    add((given) => {
      const step = takenBack(eventsOf(given, index), author);
      return step && { ...by, ...step };
    });
  return { events, said, mine, problem, say, toggle, undo };
}

/** `note` begins one. `drawn`: the trial is of a dataset that is reviewed. */
export function useLabelKeys(labels: Labels, note: () => void, active: boolean, drawn: boolean): void {
  const rate = (score: number) => () => labels.toggle("score", score);
  useKeys(
    {
      p: () => labels.toggle("verdict", "pass"),
      f: () => labels.toggle("verdict", "fail"),
      s: () => labels.toggle("star", true),
      1: rate(1), 2: rate(2), 3: rate(3), 4: rate(4), 5: rate(5),
      n: note,
      u: labels.undo,
      ...(drawn ? { "+": () => labels.toggle("dataset", "keep"), "-": () => labels.toggle("dataset", "leave out") } : {}),
    },
    active,
  );
}
