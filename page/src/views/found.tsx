/** The trials of all runs in which a text stands, newest runs first: more come in while the search goes on. */
import { useEffect, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { DataSource, Hit, RunSummary, SearchPiece } from "../data/source";
import { started } from "../model/runs";
import { count, Mark } from "../parts/marks";
import { shown } from "../parts/text";
import { TroubleLine } from "../parts/told";
import { START, write, type RunState } from "../state/url";

const PAUSE = 300; // ms after a key before it is searched
const MOST = 100; // hits after which somebody has to ask for more

/** One search: another text is another of these. */
export function FoundTexts({ source, runs, state: { q, blind } }: { source: DataSource; runs: readonly RunSummary[]; state: RunState }) {
  const [pieces, set] = useState<readonly SearchPiece[]>([]);
  const [most, setMost] = useState(MOST);
  const [problem, fail] = useState<Problem>();
  const from = pieces.at(-1)?.next;
  const hits = pieces.flatMap((piece) => piece.hits);
  const full = hits.length >= most;
  const going = q.trim() !== "" && from !== "" && !full && problem === undefined;
  useEffect(() => {
    if (!going) return;
    let on = true;
    const search = (): void => {
      source.searchAll?.(q, blind, from ?? "").then(
        (piece) => on && set((before) => [...before, piece]),
        (thrown: unknown) => on && fail(problemOf(thrown)),
      );
    };
    const timer = setTimeout(search, from === undefined ? PAUSE : 0);
    return () => {
      on = false;
      clearTimeout(timer);
    };
  }, [going, from]);
  if (q.trim() === "") return <p class="note">Words, "a phrase", /an expression/ and case:… are looked for in cases, outputs and reasons, in the newest runs first.</p>;
  const sum = (of: (piece: SearchPiece) => number): number => pieces.reduce((n, piece) => n + of(piece), 0);
  const more = new Set(pieces.flatMap((piece) => piece.more));
  const unread = sum((piece) => piece.unread.length);
  return (
    <>
      <TroubleLine problem={problem} />
      {problem === undefined && (
        <p class="note" role="status">
          {`${going ? "Searching… " : ""}${count(hits.length, "trial")} in ${sum((piece) => piece.runs)} of ${count(runs.length, "run")} searched, ${count(sum((piece) => piece.trials), "trial")} looked at.${unread > 0 ? ` ${count(unread, "run")} cannot be read.` : ""} `}
          {full && from !== "" && <button type="button" class="button small" onClick={() => setMost(hits.length + MOST)}>Search on</button>}
        </p>
      )}
      {runs.map((run) => {
        const mine = hits.filter((hit) => hit.run === run.id);
        if (mine.length === 0) return null;
        return (
          <section key={run.id} class="found">
            <h2>{shown(run.title || run.id)} <span class="muted">{started(run, runs)}</span></h2>
            <ul>{mine.map((hit) => <Found key={hit.index} hit={hit} blind={blind} />)}</ul>
            {more.has(run.id) && <p class="note"><a href={write({ ...START, run: run.id, q, blind })}>All in this run</a></p>}
          </section>
        );
      })}
    </>
  );
}

function Found({ hit: { run, index, case: id, variant, outcome, before, text, after }, blind }: { hit: Hit; blind: boolean }) {
  return (
    <li>
      {outcome !== null && <Mark outcome={outcome} short />} <a href={write({ ...START, run, cell: index, blind })}>{shown(id)}</a> <span class="muted">{shown(variant)}</span>
      <p dir="auto">{shown(before)}<mark>{shown(text)}</mark>{shown(after)}</p>
    </li>
  );
}
