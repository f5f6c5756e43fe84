/** The first cell of a row: which case it is, and its variables. */
import type { Preview, Row } from "../data/source";
import type { Extra } from "../model/extras";
import { shown } from "./text";

/** Variables that have a column of their own are not told here. */
export function CaseCell({ row, preview, extras }: { row: Row; preview: Preview | undefined; extras: readonly Extra[] }) {
  const vars = Object.entries(preview?.vars ?? {}).filter(([name]) => !extras.some((extra) => extra.kind === "var" && extra.name === name));
  return (
    <>
      <div class="case-line">
        <span class="case-number">{row.number}</span>
        <span class="case-name" title={row.id}>{shown(row.description || row.id)}</span>
      </div>
      {row.tags.length > 0 && (
        <div class="case-tags">
          {row.tags.slice(0, 4).map((tag) => (
            <button type="button" class="chip" key={tag} tabIndex={-1} data-tag={tag} title={`Show the cases tagged ${tag}`}>
              {shown(tag)}
            </button>
          ))}
        </div>
      )}
      <dl class="case-vars">
        {vars.map(([name, value]) => (
          <div key={name}>
            <dt>{shown(name)}</dt>
            <dd>{shown(value)}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
