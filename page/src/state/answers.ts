/** What one person answers to drawn items, one after the other: an answer that couldn't be kept doesn't count, and its item comes again. */
import { useRef, useState } from "preact/hooks";
import { about, type Problem } from "../data/problem";

export interface Answers<A> {
  readonly answers: readonly A[];
  /** How many items have an answer that is kept: those under way don't count yet. */
  readonly done: number;
  /** Which item is shown; -1 once all are answered. */
  readonly at: number;
  readonly go: (at: number) => void;
  /** Keeps an answer, and gives the answers with it. */
  readonly put: (item: number, answer: A, keep: () => Promise<unknown>) => readonly A[];
  /** Keeps what else is said; `undo` where it couldn't be. */
  readonly send: (keep: () => Promise<unknown>, undo?: () => void) => void;
  /** Does something once all has been sent. */
  readonly then: (what: () => void) => void;
}

/**
 * `word`: what an answer says; null for one that is still to be given. `trouble` is called with undefined once something was
 * kept. `person`: who is signed in, where several people answer: each begins elsewhere, so that not all of them answer the
 * same items first.
 */
export function useAnswers<A>(first: readonly A[], word: (answer: A) => string | null, trouble: (problem: Problem | undefined) => void, person = ""): Answers<A> {
  const [answers, set] = useState(first);
  const [stored, store] = useState(first);
  const [at, go] = useState(() => nextWithout(first.map(word), beginning(person, first.length) - 1));
  const queue = useRef(Promise.resolve());
  const send = (keep: () => Promise<unknown>, undo?: () => void): void => {
    queue.current = queue.current.then(keep).then(
      () => trouble(undefined),
      (thrown: unknown) => {
        undo?.();
        trouble(about("your answer was not kept", thrown));
      },
    );
  };
  const put = (item: number, answer: A, keep: () => Promise<unknown>): readonly A[] => {
    const before = answers[item]!;
    const replaced = (all: readonly A[]): readonly A[] => all.map((each, i) => (i === item ? answer : each));
    const kept = (): void => store(replaced);
    send(() => keep().then(kept), () => {
      set((now) => now.map((each, i) => (i === item && each === answer ? before : each)));
      go((now) => (now < 0 ? item : now));
    });
    const changed = replaced(answers);
    set(changed);
    return changed;
  };
  const done = stored.filter((answer) => word(answer) !== null).length;
  return { answers, done, at, go, put, send, then: (what) => void queue.current.then(what) };
}

const GOLDEN = 0.618;

/** Where somebody begins: far from others, whose names differ by little. */
function beginning(person: string, items: number): number {
  const sum = [...person].reduce((all, letter) => (all * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 0);
  return Math.floor(((sum * GOLDEN) % 1) * items);
}

/** The first that has no label after this one, or before it; -1 where all have one. */
export function nextWithout(labels: readonly (string | null)[], at: number): number {
  const after = labels.findIndex((label, i) => i > at && label === null);
  return after >= 0 ? after : labels.findIndex((label) => label === null);
}
