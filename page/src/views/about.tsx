/** What a run was made of and what it used: variants, models, configuration, settings. */
import type { Head } from "../data/source";
import { Json } from "../parts/json";
import { count, grouped, paid, percentWritten, when } from "../parts/marks";
import { shown, told } from "../parts/text";

function planOf(head: Head): string {
  const trials = count(head.planned, "trial");
  if (head.narrowed) return `${trials} of ${count(head.cases, "case")}; the others were left out`;
  const repeats = head.repeats > 1 ? ` × ${count(head.repeats, "repeat")}` : "";
  return `${count(head.cases, "case")} × ${count(head.variants, "variant")}${repeats} = ${trials}`;
}

export function About({ head }: { head: Head }) {
  const facts: readonly (readonly [string, string])[] = [
    ["Run", head.id],
    ["Made from", head.source],
    ["Started", when(head.created_at)],
    ["Plan", planOf(head)],
    ["Tags", head.tags.join(", ")],
    ["Passes at", percentWritten(head.pass_rate)],
    ["Fingerprint", head.fingerprint],
    ["Evenhand", head.version],
  ];
  return (
    <div class="about">
      <dl class="about-facts">
        {facts.filter(([, value]) => value !== "").map(([name, value]) => (
          <div key={name}><dt>{name}</dt><dd>{shown(value)}</dd></div>
        ))}
      </dl>
      <Lines title="Findings" of={head.findings} />
      <Lines title="Warnings" of={head.warnings} />
      <h2>Model calls</h2>
      {head.usage.length === 0 ? <p class="muted">{head.partial ? "Counting…" : "No model was called."}</p> : <UsageTable head={head} />}
      <h2>Variants</h2>
      {head.columns.map((variant) => (
        <details key={variant.index} class="about-variant">
          <summary><b>{shown(variant.name)}</b> <span class="muted">{shown(variant.model)}</span></summary>
          <pre class="head-prompt">{shown(variant.prompt_raw || "no prompt of its own")}</pre>
          {Object.keys(variant.axes).length > 0 && <Json value={variant.axes} />}
        </details>
      ))}
      <h2>Configuration</h2>
      <Json value={head.config} />
      <h2>Settings</h2>
      <Json value={head.settings} />
    </div>
  );
}

function Lines({ title, of }: { title: string; of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul class="notices">{of.map((line) => <li key={line}>{told(line)}</li>)}</ul>
    </>
  );
}

function UsageTable({ head }: { head: Head }) {
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Model calls">
      <table class="list">
        <thead>
          <tr><th>Role</th><th>Model</th><th class="n">Calls</th><th class="n" title="From the cache or the journal: nothing was sent">Replayed</th><th class="n" title="Refused, or failed at every attempt">Unanswered</th><th class="n">Tokens in</th><th class="n">Tokens out</th><th class="n">Spent</th></tr>
        </thead>
        <tbody>
          {head.usage.map((used) => (
            <tr key={`${used.role} ${used.model}`}>
              <td>{used.role}</td>
              <td>{shown(used.model)}{used.answered.some((name) => name !== used.model) && <span class="muted"> answered as {shown(used.answered.join(", "))}</span>}</td>
              <td class="n">{grouped(used.calls)}</td><td class="n">{grouped(used.cached)}</td><td class="n">{grouped(used.unanswered)}</td>
              <td class="n">{grouped(used.tokens_in)}</td><td class="n">{grouped(used.tokens_out)}</td><td class="n">{paid(used.cost_usd, { scripted: head.scripted, calls: used.calls })}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
