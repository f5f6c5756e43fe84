/** What a run comes to, in a sign, a word and a state. */
import type { RunSummary } from "../data/source";

type Words = readonly [sign: string, words: string, state: "pass" | "fail" | "not_applicable"];

const VERDICTS: Readonly<Record<RunSummary["verdict"], Words>> = {
  passed: ["✓", "Passed", "pass"],
  failed: ["✗", "Failed", "fail"],
  undecided: ["–", "Undecided", "not_applicable"],
};

const OF_GATE: Readonly<Record<NonNullable<RunSummary["gate_verdict"]>, Words>> = {
  better: ["✓", "Better", "pass"],
  "not worse": ["✓", "Not worse", "pass"],
  undecided: ["±", "Undecided", "not_applicable"],
  nothing: ["!", "Nothing compared", "not_applicable"],
  worse: ["✗", "Worse", "fail"],
};

/** A gate may let failed trials through: of a run whose gate didn't come to its end, nothing more is known. */
const FAILED_IN_GATE: Words = ["✗", "Trials failed", "not_applicable"];

export function verdictOf(run: Pick<RunSummary, "verdict" | "of_gate" | "gate_verdict">): Words {
  if (run.gate_verdict) return OF_GATE[run.gate_verdict];
  return run.of_gate && run.verdict === "failed" ? FAILED_IN_GATE : VERDICTS[run.verdict];
}
