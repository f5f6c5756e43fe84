/** The word that was probably meant: the one that is fewest changed letters away, and not too many. */
export function nearest(word: string, known: readonly string[]): string {
  const lower = word.toLowerCase();
  let best = "";
  let least = Math.floor(Math.max(3, lower.length) / 3) + 1;
  for (const each of known) {
    const far = distance(lower, each.toLowerCase());
    if (far < least) [best, least] = [each, far];
  }
  return best;
}

/** How many letters have to be put in, taken out, replaced, or swapped with their neighbour (Damerau, 1964). */
function distance(a: string, b: string): number {
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1);
      next.push(least);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
