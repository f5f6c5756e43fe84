/** What the trials can be divided by, with counts. A click chooses a part, another one lets go of it. */
import { useState } from "preact/hooks";
import type { Facet } from "../model/facets";
import { fitted } from "../model/names";
import { grouped } from "./marks";
import { shown } from "./text";

const FEW = 6;
const LONG = 34; // characters that fit into two lines

export function Facets({ of, toggle }: { of: readonly Facet[]; toggle: (field: string, value: string) => void }) {
  return (
    <div class="facets" role="group" aria-label="Facets, by number of trials">
      {of.map((facet) => <OneFacet key={facet.field} facet={facet} toggle={toggle} />)}
    </div>
  );
}

function OneFacet({ facet, toggle }: { facet: Facet; toggle: (field: string, value: string) => void }) {
  const [all, setAll] = useState(false);
  const rest = facet.values.length - FEW;
  const values = facet.values.slice(0, all ? undefined : FEW);
  const labels = fitted(values.map(({ words }) => words), LONG);
  return (
    <fieldset class="facet">
      <legend>{shown(facet.title)}</legend>
      {values.map(({ value, words, n, on }, i) => (
        <label key={value} class="facet-value" title={words}>
          <input type="checkbox" checked={on} onChange={() => toggle(facet.field, value)} />
          <span class="facet-words">{shown(labels[i]!)}</span>
          <span class="facet-n">{grouped(n)}</span>
        </label>
      ))}
      {rest > 0 && (
        <button type="button" class="button quiet small" onClick={() => setAll(!all)}>
          {all ? "Fewer" : `${rest} more`}
        </button>
      )}
    </fieldset>
  );
}
