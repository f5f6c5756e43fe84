/** The data of a page that `evenhand view` serves: its JSON API. */
import { Problem } from "./problem";
import type { Asked, Block, Call, CanaryPoint, CasePage, Cell, Comparison, DataSource, Draw, DrawWish, Exported, Head, Label, MeasuredColumn, NewLabel, Notes, PairAnswer, PairDraw, Preview, PromptPage, Remarks, ReviewDraw, RunChange, RunSummary, SavedView, SearchPiece, SentLabels, Sought, StepPage, Summary, WholeStep } from "./source";

/** Who is signed in, and what they may do: a viewer for a team says it, and nobody else does. */
const { person, role, out } = document.getElementById("app")!.dataset;
const AWAY = "`evenhand view` does not answer";
const START_AGAIN = person !== undefined ? "Try again in a minute." : "It was stopped, or was started again: open the link that it prints.";

export class Http implements DataSource {
  readonly writable = role !== "read";
  readonly live = true;
  readonly person = person;
  readonly signOut = out && (async (): Promise<void> => location.assign((await post<{ to: string }>("/api/sign-out", {})).to));

  runs(): Promise<readonly RunSummary[]> {
    return get("/api/runs");
  }

  head(run: string): Promise<Head> {
    return get(at(run));
  }

  notes(run: string): Promise<Notes> {
    return get(`${at(run)}/notes`);
  }

  summary(run: string): Promise<Summary> {
    return get(`${at(run)}/summary`);
  }

  async *blocks(run: string): AsyncIterable<Block> {
    const answer = await ask(`${at(run)}/blocks`);
    if (answer.body === null) return;
    let rest = "";
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const lines = (rest + part.value).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") yield JSON.parse(line) as Block;
      }
      if (rest !== "") yield JSON.parse(rest) as Block;
    } finally {
      await reader.cancel();
    }
  }

  previews(run: string, cells: readonly number[], signal?: AbortSignal): Promise<readonly Preview[]> {
    return get(`${at(run)}/previews?cells=${cells.join(",")}`, signal);
  }

  async cell(run: string, index: number): Promise<Cell> {
    const path = `${at(run)}/cells/${index}`;
    const cell = await get<Cell>(path);
    const calls = cell.calls.map((call, n) => (call.sizes ? { ...call, whole: () => get<Call>(`${path}/calls/${n}`) } : call));
    return { ...cell, calls, steps: cell.steps && fetching(cell.steps, path) };
  }

  search(run: string, { text, pattern }: Sought, blind: boolean): Promise<readonly number[]> {
    return post(`${at(run)}/search`, { text, pattern, blind }); // in the body: an address cannot be as long as a text
  }

  searchAll(text: string, blind: boolean, from: string): Promise<SearchPiece> {
    return post("/api/search", { text, blind, from });
  }

  cases(run: string, text: string): Promise<CasePage> {
    return get(`${at(run)}/cases?${new URLSearchParams({ q: text })}`);
  }

  prompts(run: string): Promise<PromptPage> {
    return get(`${at(run)}/prompts`);
  }

  savedViews(run: string): Promise<readonly SavedView[]> {
    return get(`${at(run)}/views`);
  }

  async saveView(run: string, view: { readonly name: string; readonly state: string | null; readonly was: string | null }): Promise<void> {
    await post(`${at(run)}/views`, view);
  }

  labels(run: string): Promise<SentLabels> {
    return get(`${at(run)}/labels`);
  }

  label(run: string, label: NewLabel): Promise<Label> {
    return post(`${at(run)}/labels`, label);
  }

  drawn(run: string, author: string): Promise<Draw> {
    return get(`${at(run)}/draw?author=${encodeURIComponent(author)}`);
  }

  async drawMore(run: string, wish: DrawWish): Promise<void> {
    await post(`${at(run)}/draw`, wish);
  }

  async keepRule(run: string, metric: string, rule: string): Promise<void> {
    await post(`${at(run)}/rules`, { metric, rule });
  }

  async keepVerdict(run: string, said: { index: number; metric: string; verdict: "pass" | "fail" | null; author: string; rule: string | null }): Promise<void> {
    await post(`${at(run)}/verdicts`, said);
  }

  reviewDraw(run: string, author: string): Promise<ReviewDraw> {
    return get(`${at(run)}/reviews?author=${encodeURIComponent(author)}`);
  }

  async drawReviews(run: string, size: number, draws: number): Promise<void> {
    await post(`${at(run)}/review-draw`, { size, draws });
  }

  async keepReview(run: string, said: { index: number; verdict: "pass" | "fail" | null; note: string; author: string }): Promise<void> {
    await post(`${at(run)}/reviews`, said);
  }

  pairs(run: string, author: string): Promise<readonly PairDraw[]> {
    return get(`${at(run)}/pairs?author=${encodeURIComponent(author)}`);
  }

  async drawMorePairs(run: string, wish: { ranking: string; size: number; draws: number }): Promise<void> {
    await post(`${at(run)}/pairs`, wish);
  }

  async keepPairRule(run: string, ranking: string, rule: string): Promise<void> {
    await post(`${at(run)}/pair-rules`, { ranking, rule });
  }

  async keepPreference(run: string, said: { ranking: string; first: number; second: number; answer: PairAnswer | null; author: string; rule: string | null }): Promise<void> {
    await post(`${at(run)}/preferences`, said);
  }

  measures(run: string): Promise<readonly MeasuredColumn[]> {
    return get(`${at(run)}/measures`);
  }

  changes(run: string, since: string): Promise<readonly RunChange[]> {
    return get(`${at(run)}/changes?${new URLSearchParams({ since })}`);
  }

  canaries(run: string): Promise<readonly CanaryPoint[]> {
    return get(`${at(run)}/canaries`);
  }

  exported(run: string, { format, where, hide, baseline }: Exported): string {
    const values = Object.entries({ format, where, hide: hide.join(","), baseline }).filter(([, value]) => value !== "");
    return `${at(run)}/export?${new URLSearchParams(values)}`;
  }

  async remark(run: string, said: Remarks & { readonly was: Remarks }): Promise<void> {
    await post(`${at(run)}/remarks`, said);
  }

  async delete(run: string): Promise<void> {
    await post(`${at(run)}/delete`, { id: run }); // the whole id, said once more
  }

  ask(run: string, cell: number, what: Asked): Promise<unknown> {
    return post(`${at(run)}/cells/${cell}/ask`, what);
  }

  async stop(run: string): Promise<void> {
    await post(`${at(run)}/stop`, {});
  }

  compare(run: string, baseline: string): Promise<Comparison> {
    return get(`${at(run)}/comparison?baseline=${encodeURIComponent(baseline)}`);
  }

  watch(run: string, changed: (seq: number) => void): () => void {
    const events = new EventSource(`${at(run)}/events`);
    events.onmessage = (event: MessageEvent<string>) => changed((JSON.parse(event.data) as { seq: number }).seq);
    return () => events.close();
  }
}

/** Steps that can be asked for more, and for each of them whole. */
function fetching(page: StepPage, path: string): StepPage {
  return {
    ...page,
    from: async (first) => fetching(await get<StepPage>(`${path}/steps?first=${first}`), path),
    whole: (place) => get<WholeStep>(`${path}/steps/${place}`),
  };
}

function at(run: string): string {
  return `/api/runs/${encodeURIComponent(run)}`;
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await ask(path, signal === undefined ? {} : { signal });
  return (await answer.json()) as T;
}

/** Characters of a body that a browser sends on when the page is left: it allows 64 KB, in all. */
const OUTLIVES = 4_000;

async function post<T>(path: string, value: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json", "X-Evenhand": "1" };
  const body = JSON.stringify(value);
  const keepalive = body.length < OUTLIVES; // a verdict is sent even if the page is left at once
  const answer = await ask(path, { method: "POST", headers, body, keepalive });
  return (await answer.json()) as T;
}

async function ask(path: string, how: RequestInit = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, { ...how, credentials: "same-origin", redirect: "error" });
  } catch (thrown) {
    if (thrown instanceof DOMException) throw thrown;
    throw new Problem(AWAY, START_AGAIN);
  }
  if (answer.ok) return answer;
  throw await refused(answer);
}

async function refused(answer: Response): Promise<Problem> {
  try {
    const { error } = (await answer.json()) as { error: { slug: string; message: string; hint?: string } };
    return new Problem(error.message, error.hint ?? "", error.slug);
  } catch {
    return new Problem(`the server answered ${answer.status}`, answer.status === 403 ? START_AGAIN : "");
  }
}
