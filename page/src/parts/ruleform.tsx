/** What both screens of labelling have: the rule that is asked for first. */
import { useState } from "preact/hooks";
import { shown } from "./text";

export function RuleForm({ metric, what, keep, without }: { metric: string; what: string; keep: (rule: string) => void; without: () => void }) {
  const [rule, set] = useState("");
  return (
    <form class="labelling-rule" onSubmit={(event) => { event.preventDefault(); if (rule.trim() !== "") keep(rule.trim()); }}>
      <label><span>What {what} <b>{shown(metric)}</b>? Write it in one or two sentences, before the first label.</span>
        <textarea class="note-field" rows={2} maxLength={10_000} value={rule} onInput={(event) => set(event.currentTarget.value)} />
      </label>
      <span><button type="submit" class="button">Keep the rule</button>{" "}<button type="button" class="button quiet" onClick={without}>Label without one</button></span>
    </form>
  );
}
