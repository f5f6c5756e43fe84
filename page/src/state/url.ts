/**
 * What is shown is written in the address, after `#`: every state can be reloaded, sent and gone back to.
 *
 * `#/` is the list of runs, `#/run/ID?view=…&q=…` a run. What has its usual value is left out.
 */
import { useCallback, useEffect, useState } from "preact/hooks";
import { extraOf } from "../model/extras";
import { SHOWS, type Show } from "../model/shows";

export type View = "matrix" | "label" | "review" | "summary" | "charts" | "comparison" | "history" | "cases" | "prompts" | "about";
export type Size = "s" | "m" | "l";

export interface RunState {
  /** The run's id; empty in the list of runs. */
  readonly run: string;
  /** The address where it means neither; empty for one that does. */
  readonly lost: string;
  readonly view: View;
  /** The filter; in the list of runs, what is searched for. */
  readonly q: string;
  readonly show: Show;
  /** `plan`, or what is sorted by and in which column: `score.1`, `-latency.0`, `metric.1.clarity`; `-` puts the largest first. */
  readonly sort: string;
  /** The columns that are not shown, by index. */
  readonly hide: readonly number[];
  /** The column that stays in sight, and against which the others are held; undefined for none. */
  readonly pin: number | undefined;
  /** Columns stand with the highest pass rate first, not in the plan's order. */
  readonly best: boolean;
  /** Variables and metadata with a column of their own: `var.question`, `metadata.topic`. */
  readonly extra: readonly string[];
  readonly size: Size;
  /** The open trial's place in the plan. */
  readonly cell: number | undefined;
  /** What is open in the drawer; empty for its first tab. In the list of runs, `texts` where their texts are searched. */
  readonly tab: string;
  /** The open cell has the whole window: somebody reads. */
  readonly wide: boolean;
  /** What charts show, and in which two columns: `score.0.1`; empty for the usual. */
  readonly plot: string;
  /** The run that this one is compared with; empty for none. */
  readonly base: string;
  /** Variants and verdicts are hidden, for those who label. */
  readonly blind: boolean;
  /** Outputs are shown as Markdown. */
  readonly md: boolean;
  /** The column that a narrow screen shows. */
  readonly col: number | undefined;
}

/** `typed`: one of many on the way to what is meant; it cannot be gone back to. */
export type Go = (change: Partial<RunState>, typed?: boolean) => void;

export const START: RunState = {
  run: "",
  lost: "",
  view: "matrix",
  q: "",
  show: "all",
  sort: "plan",
  hide: [],
  pin: undefined,
  best: false,
  extra: [],
  size: "m",
  cell: undefined,
  tab: "",
  wide: false,
  plot: "",
  base: "",
  blind: false,
  md: false,
  col: undefined,
};

const VIEWS: readonly View[] = ["matrix", "label", "review", "summary", "charts", "comparison", "history", "cases", "prompts", "about"];
const SIZES: readonly Size[] = ["s", "m", "l"];

/** The state that an address's fragment means; what it does not know has its usual value. */
export function read(fragment: string): RunState {
  const [path = "", query = ""] = fragment.replace(/^#/, "").split(/\?(.*)/s);
  const values = new URLSearchParams(query);
  const named = /^\/run\/([^/]+)\/?$/.exec(path)?.[1];
  const known = named !== undefined || path === "" || path === "/";
  return {
    run: named === undefined ? "" : decoded(named),
    lost: known ? "" : fragment.replace(/^#/, ""),
    view: oneOf(VIEWS, values.get("view"), START.view),
    q: values.get("q") ?? "",
    show: oneOf(SHOWS, values.get("show"), START.show),
    sort: values.get("sort") ?? START.sort,
    hide: (values.get("hide") ?? "").split(",").map(whole).filter((index) => index !== undefined),
    pin: whole(values.get("pin")),
    best: values.get("best") === "1",
    extra: [...new Set(values.getAll("extra"))].filter((key) => extraOf(key) !== undefined),
    size: oneOf(SIZES, values.get("size"), START.size),
    cell: whole(values.get("cell")),
    tab: values.get("tab") ?? "",
    wide: values.get("wide") === "1",
    plot: values.get("plot") ?? "",
    base: values.get("base") ?? "",
    blind: values.get("blind") === "1",
    md: values.get("md") === "1",
    col: whole(values.get("col")),
  };
}

/** The fragment that means this state. */
export function write(state: RunState): string {
  const values = new URLSearchParams();
  for (const key of ["view", "q", "show", "sort", "size", "tab", "plot", "base"] as const) {
    if (state[key] !== START[key]) values.set(key, state[key]);
  }
  for (const key of state.extra) values.append("extra", key);
  if (state.hide.length > 0) values.set("hide", state.hide.join(","));
  if (state.cell !== undefined) values.set("cell", String(state.cell));
  if (state.pin !== undefined) values.set("pin", String(state.pin));
  if (state.best) values.set("best", "1");
  if (state.wide) values.set("wide", "1");
  if (state.col !== undefined) values.set("col", String(state.col));
  if (state.blind) values.set("blind", "1");
  if (state.md) values.set("md", "1");
  const query = values.size > 0 ? `?${values}` : "";
  return `#/${state.run === "" ? "" : `run/${encodeURIComponent(state.run)}`}${query}`;
}

/** The whole address of a state, to be copied. */
export function link(state: RunState): string {
  return location.href.replace(/#.*$/s, "") + write(state);
}

/** What somebody chose, and can go back from; from cell to cell and from tab to tab is no step. */
const CHOSEN = ["run", "view", "q", "show", "sort", "plot", "base", "blind", "size", "md", "pin", "best"] as const;

/** The state in the address, and what changes it. */
export function useUrl(): [RunState, Go] {
  const [state, set] = useState(() => read(location.hash));
  useEffect(() => {
    const follow = (): void => set(read(location.hash));
    addEventListener("popstate", follow);
    addEventListener("hashchange", follow);
    return () => {
      removeEventListener("popstate", follow);
      removeEventListener("hashchange", follow);
    };
  }, []);
  const go = useCallback<Go>((change, typed = false) => {
    const before = read(location.hash);
    const after = { ...before, ...change };
    if (write(before) === write(after)) return;
    const step = (before.cell === undefined) !== (after.cell === undefined) || CHOSEN.some((key) => before[key] !== after[key]);
    history[step && !typed ? "pushState" : "replaceState"](null, "", write(after));
    set(after);
  }, []);
  return [state, go];
}

function oneOf<T extends string>(known: readonly T[], value: string | null, otherwise: T): T {
  return known.find((each) => each === value) ?? otherwise;
}

function whole(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
