/** The trials of all runs in which a text stands, newest runs first: more come in while the search goes on. */
import { useState } from "preact/hooks";
import type { DataSource, Hit, RunSummary, SearchPiece } from "../data/source";
import { started } from "../model/runs";
import { count, Mark } from "../parts/marks";
import { shown } from "../parts/text";
import { useRead } from "../state/read";
import { START, write, type RunState } from "../state/url";

const PAUSE = 300; // ms after a key before it is searched
const MOST = 100; // hits after which somebody has to ask for more

/** One search: another text is another of these. */
export function FoundTexts({ source, runs, state: { q, blind } }: { source: DataSource; runs: readonly RunSummary[]; state: RunState }) {
  const [pieces, set] = useState<readonly SearchPiece[]>([]);
  const [most, setMost] = useState(MOST);
  const from = pieces.at(-1)?.next;
  const hits = pieces.flatMap((piece) => piece.hits);
  const full = hits.length >= most;
  const going = q.trim() !== "" && from !== "" && !full;
  const search = async (): Promise<true> => {
    const piece = await source.searchAll!(q, blind, from ?? "");
    set((before) => [...before, piece]);
    return true;
  };
  const [, told] = useRead(() => (going ? search() : undefined), `${going} ${from}`, from === undefined ? PAUSE : 0);
  if (q.trim() === "") return null;
  const sum = (of: (piece: SearchPiece) => number): number => pieces.reduce((n, piece) => n + of(piece), 0);
  const more = new Set(pieces.flatMap((piece) => piece.more));
  const unread = sum((piece) => piece.unread.length);
  return (
    <>
      {told}
      {from !== undefined && (
        <p class="note" role="status">
          {`${going ? "Searching… " : ""}${count(hits.length, "result")}. Searched: ${sum((piece) => piece.runs)} of ${count(runs.length, "run")}, ${count(sum((piece) => piece.trials), "trial")}.${unread > 0 ? ` ${count(unread, "run")} cannot be read.` : ""} `}
          {full && from !== "" && <button type="button" class="button small" onClick={() => setMost(hits.length + MOST)}>Search on</button>}
        </p>
      )}
      {runs.map((run) => {
        const mine = hits.filter((hit) => hit.run === run.id);
        if (mine.length === 0) return null;
        return (
          <section key={run.id} class="found">
            <h2>{shown(run.title || run.id)} <span class="muted">{started(run, runs)}</span></h2>
            <ul class="events">{mine.map((hit) => <Found key={hit.index} hit={hit} blind={blind} />)}</ul>
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
      <p class="standing-note" dir="auto">{shown(before)}<mark>{shown(text)}</mark>{shown(after)}</p>
    </li>
  );
}
