/** What a run is and what it came to: title, verdict, totals, and what its data can say. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Head } from "../data/source";
import { rateFrom } from "../model/rate";
import { JudgedNotice } from "./judged";
import { firstWords } from "./ranked";
import { Menu } from "./menu";
import { count, grouped, passed, seconds, sentences, spent, tokens, when } from "./marks";
import { shown, told } from "./text";
import { Verdict } from "./verdict";

const LONG = 160; // characters of a finding that surely fit

/** `ranked`: nothing in it could fail. */
export function RunTitle({ head, blind, ranked }: { head: Head; blind: boolean; ranked: boolean }) {
  return (
    <>
      <h1 class="run-title" title={head.id}>{head.of_gate && "gate · "}{shown(head.title || head.id)}</h1>
      {!blind && (ranked && head.verdict === "passed" ? <span class="badge badge-not_applicable">Ranked</span> : <Verdict run={head} />)}
    </>
  );
}

/** `live`: who reads this can go on with the run. `ranked`: nothing in it could fail. */
export function RunTotals({ head, blind, live, ranked, children }: { head: Head; blind: boolean; live: boolean; ranked: boolean; children: ComponentChildren }) {
  const { totals } = head;
  const all = totals.trials >= head.planned;
  const far = all ? count(totals.trials, "trial") : `${grouped(totals.trials)} of ${count(head.planned, "trial")}`;
  const facts = blind
    ? [far]
    : [
        ...head.standings.map((of) => firstWords(of, head)),
        head.rate === null || ranked ? "" : passed(rateFrom(head.rate)),
        [far, ranked ? "ranked, none could fail" : outcomes(head)].filter((part) => part !== "").join(": "),
        totals.calls > 0 ? `${count(totals.calls, "call")}${totals.cached > 0 ? `, ${grouped(totals.cached)} replayed` : ""}` : "",
        totals.tokens_in + totals.tokens_out > 0 ? tokens(totals.tokens_in, totals.tokens_out) : "",
        spent(totals.cost_usd, { scripted: head.scripted, calls: totals.calls }),
        head.took_s === null ? "" : seconds(head.took_s),
      ];
  return (
    <>
    <div class="totals">
      {facts.filter((fact) => fact !== "").map((fact) => <span key={fact}>{shown(fact)}</span>)}
      <span>{when(head.created_at)}</span>
      {!blind && <JudgedNotice head={head} />}
      <Notices title="warning" of={head.warnings} />
      {children}
      <Ending head={head} resumable={!all && !head.alive && live && isResumable(head)} />
    </div>
    {!blind && <Headline of={head.findings} />}
    </>
  );
}

/** What the run says: the first finding in sight, the others unfolded. */
function Headline({ of }: { of: readonly string[] }) {
  const [open, set] = useState(false);
  if (of[0] === undefined) return null;
  const more = of.length > 1 || of[0].length > LONG;
  return (
    <div class="headline">
      {open ? <ul class="notices">{of.map((line) => <li key={line}>{told(line)}</li>)}</ul> : <p class={more ? "" : "whole"}>{told(of[0])}</p>}
      {more && <button type="button" class="button quiet small" aria-expanded={open} onClick={() => set(!open)}>{open ? "Less" : of.length > 1 ? count(of.length - 1, "more finding") : "More"}</button>}
    </div>
  );
}

/** How the run ended, in one line that unfolds. */
function Ending({ head, resumable }: { head: Head; resumable: boolean }) {
  const [open, set] = useState(false);
  if (head.message === "" && !resumable) return null;
  return (
    <span class={`totals-message${open ? " totals-open" : ""}${head.status === "decided" ? "" : " totals-stopped"}`}>
      <span class="totals-line">{told(sentences(head.message))}{resumable && <> <code>evenhand resume {head.id}</code> continues it.</>}</span>
      <button type="button" class="button quiet small" aria-expanded={open} onClick={() => set(!open)}>{open ? "Less" : "More"}</button>
    </span>
  );
}

/** Whether it is known what the run was made from. */
function isResumable({ settings, status }: Head): boolean {
  return status !== "decided" && typeof settings === "object" && settings !== null && "asked" in settings;
}

/** Nothing where nothing is settled. */
function outcomes({ totals }: Head): string {
  if (totals.trials === 0) return "";
  const said = [`${grouped(totals.passed)} passed`, `${grouped(totals.failed)} failed`];
  if (totals.errors > 0) said.push(count(totals.errors, "error"));
  if (totals.not_applicable > 0) said.push(`${grouped(totals.not_applicable)} not applicable`);
  return said.join(", ");
}

function Notices({ title, of }: { title: string; of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <Menu name={count(of.length, title)} title={`What the run's data says: ${title}s`}>
      <ul class={`notices notices-${title}`}>
        {of.map((line) => <li key={line}>{told(line)}</li>)}
      </ul>
    </Menu>
  );
}
