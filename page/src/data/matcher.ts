/** Regular expressions in a report in one file: they are looked for in a thread that can be ended, as no search in this one can. */
import type { Pattern } from "../model/pattern";
import { Problem } from "./problem";

const LONGEST = 5_000; // milliseconds for one part of the texts
const WORK = "onmessage = ({ data: [{ expression, needed }, trials] }) => postMessage(trials.flatMap((fields, i) => fields.some((field) => (needed.length === 0 || needed.some((part) => field.includes(part))) && expression.test(field)) ? [i] : []))";

interface Policy {
  createScriptURL(url: string): string;
}
const { trustedTypes } = globalThis as { trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } };
/** Lets the address of the line above through, and is made once: a second policy is refused. */
let policy: Policy | undefined;

export class Matcher {
  private readonly worker: Worker;

  constructor(private readonly pattern: Pattern) {
    const url = URL.createObjectURL(new Blob([WORK], { type: "text/javascript" }));
    policy ??= trustedTypes?.createPolicy("matcher", { createScriptURL: (each) => each });
    this.worker = new Worker(policy?.createScriptURL(url) ?? url);
    URL.revokeObjectURL(url);
  }

  /** Which of these trials have it in some field, by their order. */
  among(trials: readonly (readonly string[])[]): Promise<readonly number[]> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.stop();
        reject(new Problem("the regular expression takes too long on these texts", "Write how often at most, e.g. .{0,100} instead of .*, or search for words."));
      }, LONGEST);
      this.worker.onmessage = ({ data }: MessageEvent<readonly number[]>) => {
        clearTimeout(late);
        resolve(data);
      };
      this.worker.onerror = () => {
        clearTimeout(late);
        reject(new Problem("this browser cannot look for regular expressions in a file", "Search for words, or open the run with `evenhand view`."));
      };
      this.worker.postMessage([this.pattern, trials]);
    });
  }

  stop(): void {
    this.worker.terminate();
  }
}
