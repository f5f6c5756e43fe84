/** Names in little room: cut so that those which differ are told apart. */

/** Each name in at most so many characters: cut in its middle, and where that makes two alike, to what tells them apart. */
export function fitted(names: readonly string[], most: number): string[] {
  const letters = names.map((name) => [...name]);
  const cut = letters.map((name) => middle(name, most));
  const places = [...names.keys()];
  for (const text of new Set(cut)) {
    const alike = places.filter((i) => cut[i] === text);
    if (new Set(alike.map((i) => names[i])).size < 2) continue;
    const from = shared(alike.map((i) => letters[i]!));
    const head = Math.min(Math.floor(most / 3), from);
    if (from === 0 || most - head - 1 < LEAST) continue;
    const rest = fitted(alike.map((i) => letters[i]!.slice(from).join("")), most - head - 1);
    alike.forEach((i, at) => (cut[i] = `${letters[i]!.slice(0, head).join("")}…${rest[at]!}`));
  }
  return cut;
}

const LEAST = 4;
let last: { readonly names: readonly string[]; readonly size: number; readonly most: number; readonly cut: readonly string[] } | undefined;

/** The same for a list that is asked for again and again, and may have grown. */
export function fittedOnce(names: readonly string[], most: number): readonly string[] {
  if (last?.names !== names || last.size !== names.length || last.most !== most) last = { names, size: names.length, most, cut: fitted(names, most) };
  return last.cut;
}

/** How many letters they all begin with. */
function shared(names: readonly string[][]): number {
  const [first = [], ...others] = names;
  let n = 0;
  while (n < first.length && others.every((name) => name[n] === first[n])) n++;
  return n;
}

function middle(letters: readonly string[], most: number): string {
  if (letters.length <= most) return letters.join("");
  const end = Math.floor(most / 3);
  return `${letters.slice(0, most - 1 - end).join("")}…${end > 0 ? letters.slice(-end).join("") : ""}`;
}
