/** Which columns are shown. */
import type { Column } from "../model/columns";
import type { Extra } from "../model/extras";
import type { ColumnSummary } from "../model/summary";
import type { Go, RunState } from "../state/url";
import { percents } from "./marks";
import { Menu } from "./menu";
import { shown } from "./text";

interface Props {
  readonly all: readonly Column[];
  /** Variables and metadata that could be columns. */
  readonly extras: readonly Extra[];
  readonly state: RunState;
  readonly go: Go;
  readonly summaries: readonly ColumnSummary[];
}

export function ColumnPicker({ all, extras, state, go, summaries }: Props) {
  const hidden = new Set(state.hide);
  const shownNow = all.length - all.filter(({ variant }) => hidden.has(variant.index)).length;
  const toggle = (index: number): void => {
    const hide = hidden.has(index) ? state.hide.filter((each) => each !== index) : [...state.hide, index];
    if (hide.length < all.length) go({ hide });
  };
  return (
    <Menu name={shownNow === all.length ? "Columns" : `Columns ${shownNow}/${all.length}`} title="Choose which columns are shown">
      <div class="picker">
        {all.map(({ variant, name }) => {
          const rate = summaries[variant.index]?.rate;
          const on = !hidden.has(variant.index);
          return (
            <div key={variant.index} class="picker-column">
              <label class="facet-value">
                <input type="checkbox" checked={on} disabled={on && shownNow === 1} onChange={() => toggle(variant.index)} />
                <span class="facet-words">{shown(name)}</span>
                {!state.blind && rate && <span class="facet-n">{percents(rate)}</span>}
              </label>
              {!state.blind && all.length > 1 && <button type="button" class="button quiet small" aria-pressed={state.pin === variant.index} title="Keep this column in sight, first, and compare the others with it" onClick={() => go({ pin: state.pin === variant.index ? undefined : variant.index, ...(state.sort.includes("versus") ? { sort: "plan" } : {}) })}>Pin<span class="unseen"> {shown(name)}</span></button>}
            </div>
          );
        })}
        {!state.blind && all.length > 2 && (
          <label class="facet-value"><input type="checkbox" checked={state.best} onChange={() => go({ best: !state.best })} /><span class="facet-words">Highest pass rate first</span></label>
        )}
        {shownNow < all.length && (
          <button type="button" class="button quiet small" onClick={() => go({ hide: [] })}>Show all</button>
        )}
        {(["var", "metadata"] as const).map((kind) => <Extras key={kind} title={kind === "var" ? "Variables" : "Metadata"} of={extras.filter((extra) => extra.kind === kind)} state={state} go={go} />)}
      </div>
    </Menu>
  );
}

function Extras({ title, of, state, go }: { title: string; of: readonly Extra[] } & Pick<Props, "state" | "go">) {
  if (of.length === 0) return null;
  return (
    <fieldset class="facet">
      <legend>{title} in columns of their own</legend>
      {of.map(({ key, name }) => {
        const on = state.extra.includes(key);
        return (
          <label key={key} class="facet-value">
            <input type="checkbox" checked={on} onChange={() => go({ extra: on ? state.extra.filter((each) => each !== key) : [...state.extra, key] })} />
            <span class="facet-words">{shown(name)}</span>
          </label>
        );
      })}
    </fieldset>
  );
}
