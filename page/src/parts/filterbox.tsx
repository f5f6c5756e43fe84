/** The filter: what is typed, what could be typed next, and what is wrong with it. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Head } from "../data/source";
import type { Problem } from "../model/filter";
import { suggest, type Suggestion } from "../model/suggest";
import type { Table } from "../model/table";
import { sentences } from "../model/words";
import { read } from "../state/url";
import { shown, told } from "./text";

interface Props {
  readonly q: string;
  readonly onChange: (q: string) => void;
  readonly problems: readonly Problem[];
  /** What it names and the run does not have. */
  readonly notes: readonly Problem[];
  readonly head: Head;
  readonly table: Table;
  readonly compared: boolean;
  readonly searching: boolean;
  readonly blind: boolean;
}

const PATIENCE = 180; // ms after the last key

export function FilterBox({ q, onChange, problems, notes, head, table, compared, searching, blind }: Props) {
  const [text, setText] = useState(q);
  const [caret, setCaret] = useState<number>();
  const [picked, pick] = useState(-1);
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<number | undefined>(undefined);
  const sent = useRef(q);
  useEffect(() => {
    if (q === sent.current) return; // what was typed has come back
    clearTimeout(timer.current); // whoever went elsewhere meanwhile does not mean what was being typed
    sent.current = q;
    setText(q);
  }, [q]);
  const offers = useMemo(
    () => (caret === undefined ? [] : suggest(text, caret, head, table, compared, blind)),
    [text, caret, head, table, table.size, compared, blind],
  );
  const send = (query: string, patience = PATIENCE): void => {
    clearTimeout(timer.current);
    const before = read(location.hash).q;
    timer.current = setTimeout(() => {
      if (read(location.hash).q !== before) return; // gone elsewhere, and not drawn yet
      sent.current = query;
      onChange(query);
    }, patience);
  };
  const edit = (query: string, at: number | undefined, patience?: number): void => {
    setText(query);
    setCaret(at);
    pick(-1);
    send(query, patience);
  };
  const take = ({ query, caret: at }: Suggestion): void => {
    edit(query, at);
    requestAnimationFrame(() => field.current?.setSelectionRange(at, at));
  };
  const press = (event: KeyboardEvent & { currentTarget: HTMLInputElement }): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && offers.length > 0) pick(Math.max(-1, Math.min(offers.length - 1, picked + step)));
    else if (event.key === "Tab" && picked >= 0) take(offers[picked]!);
    else if (event.key === "Enter") {
      if (picked >= 0) take(offers[picked]!);
      else edit(event.currentTarget.value, undefined, 0);
    } else if (event.key === "Escape") {
      if (offers.length > 0) setCaret(undefined);
      else field.current?.blur();
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };
  const problem = problems.length > 0 && text === q;
  return (
    <div class="filter" role="search">
      <div class={problem ? "filter-box filter-wrong" : "filter-box"}>
        <input
          ref={field} id="filter" class="filter-field" type="text" role="combobox" value={text} placeholder={blind ? "Filter: tag:billing  -has:label  “text”" : "Filter: status:fail  score<0.5  “text”"}
          aria-label="Filter" aria-expanded={offers.length > 0} aria-controls="filter-offers" aria-autocomplete="list" aria-invalid={problem}
          aria-describedby={problem ? "filter-problems" : undefined} aria-activedescendant={picked < 0 ? undefined : `offer-${picked}`}
          autocomplete="off" autocapitalize="off" spellcheck={false}
          onInput={(event) => edit(event.currentTarget.value, event.currentTarget.selectionStart ?? undefined)}
          onClick={(event) => setCaret(event.currentTarget.selectionStart ?? undefined)}
          onBlur={() => setCaret(undefined)} onKeyDown={press}
        />
        {searching && <span class="filter-state" role="status">searching…</span>}
        {text !== "" && (
          <button type="button" class="filter-clear" aria-label="Clear the filter" onClick={() => edit("", undefined, 0)}>×</button>
        )}
      </div>
      {offers.length > 0 && (
        <ul class="filter-offers" id="filter-offers" role="listbox" aria-label="What you can write here">
          {offers.map((offer, i) => (
            <li
              key={offer.text} id={`offer-${i}`} role="option" aria-selected={i === picked} class={i === picked ? "picked" : ""}
              onPointerDown={(event) => {
                event.preventDefault(); // the field keeps the keyboard
                take(offer);
              }}
            >
              <code>{offer.text}</code> <span>{offer.words}</span>
            </li>
          ))}
        </ul>
      )}
      {problem && offers.length === 0 && <Problems of={problems} query={q} />}
      {!problem && notes.length > 0 && text === q && offers.length === 0 && <Problems of={notes} query={q} note />}
    </div>
  );
}

function Problems({ of, query, note = false }: { of: readonly Problem[]; query: string; note?: boolean }) {
  return (
    <div class={note ? "filter-problems filter-notes" : "filter-problems"} id="filter-problems" role={note ? "status" : "alert"}>
      {of.map(({ at, end, what, hint }) => (
        <p key={`${at} ${end}`}>
          <code>{shown(query.slice(0, at))}<mark>{shown(query.slice(at, end))}</mark>{shown(query.slice(end))}</code>
          <span>{told(sentences(what))}{hint !== "" && <em> {told(hint)}</em>}</span>
        </p>
      ))}
    </div>
  );
}
