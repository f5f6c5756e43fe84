/** The labels of a run, and what one person adds to those of one trial. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { DataSource, Label } from "../data/source";
import { eventsOf, standing, takenBack, type Field, type Said, type Value } from "../model/labels";

export interface Labels {
  readonly all: readonly Label[];
  /** Of this trial. */
  readonly events: readonly Label[];
  readonly said: readonly Said[];
  readonly mine: Said | undefined;
  readonly problem: Problem | undefined;
  say(field: Field, value: Value): void;
  /** False where there is nothing to take back. */
  undo(): boolean;
}

export function useLabels(p: {
  source: DataSource;
  run: string;
  index: number;
  author: string;
  blind: boolean;
  labelled: () => void;
}): Labels {
  const { source, run, index, author } = p;
  const [all, set] = useState<readonly Label[]>([]);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    let on = true;
    source.labels(run).then(
      (labels) => on && set(labels),
      (thrown: unknown) => on && setProblem(problemOf(thrown)),
    );
    return () => {
      on = false;
    };
  }, [source, run]);
  const events = useMemo(() => eventsOf(all, index), [all, index]);
  const said = useMemo(() => standing(events), [events]);
  const mine = said.find((one) => one.author === author);
  const say = (field: Field, value: Value): void => {
    if (!source.writable) return;
    source.label(run, { index, field, value, author, blind: p.blind }).then(
      (label) => {
        set((before) => [...before, label]);
        setProblem(undefined);
        p.labelled();
      },
      (thrown: unknown) => setProblem(problemOf(thrown)),
    );
  };
  const undo = (): boolean => {
    const step = takenBack(events, author);
    if (step !== undefined) say(step.field, step.value);
    return step !== undefined;
  };
  return { all, events, said, mine, problem, say, undo };
}
