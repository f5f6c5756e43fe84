/** Names in little room: cut so that those which differ are told apart. */

/** Each name in at most so many characters: cut in its middle, and where that makes two alike, to what tells them apart. */
export function fitted(names: readonly string[], most: number): string[] {
  const letters = names.map((name) => [...name]);
  const short = letters.map((name) => middle(name, most));
  let groups = parted([...names.keys()], (i) => short[i]!);
  for (;;) {
    const cut = [...short];
    for (const alike of groups) apart(alike, names, letters, most, cut);
    // What tells the names of one group apart may be what a name of another group has, too.
    const mixed = joined(groups, names, cut);
    if (mixed.length === groups.length) return cut;
    groups = mixed;
  }
}

/** Cuts the names of a group to what tells them apart, where they differ. */
function apart(alike: readonly number[], names: readonly string[], letters: readonly string[][], most: number, cut: string[]): void {
  if (new Set(alike.map((i) => names[i])).size < 2) return;
  const from = shared(alike.map((i) => letters[i]!));
  const head = Math.min(Math.floor(most / 3), from);
  if (from === 0 || most - head - 1 < LEAST) return;
  const rest = fitted(alike.map((i) => letters[i]!.slice(from).join("")), most - head - 1);
  alike.forEach((i, at) => (cut[i] = `${letters[i]!.slice(0, head).join("")}…${rest[at]!}`));
}

function parted(places: readonly number[], key: (place: number) => string): number[][] {
  const groups = new Map<string, number[]>();
  for (const place of places) {
    const group = groups.get(key(place));
    if (group === undefined) groups.set(key(place), [place]);
    else group.push(place);
  }
  return [...groups.values()];
}

/** The groups, those as one in which different names were cut to the same text. */
function joined(groups: readonly number[][], names: readonly string[], cut: readonly string[]): number[][] {
  const group = new Map(groups.flatMap((places, at) => places.map((i): [number, number] => [i, at])));
  const into = groups.map((_, at) => at);
  const root = (at: number): number => (into[at] === at ? at : (into[at] = root(into[at]!)));
  for (const places of parted([...group.keys()], (i) => cut[i]!)) {
    if (new Set(places.map((i) => names[i])).size < 2) continue;
    for (const i of places) into[root(group.get(i)!)] = root(group.get(places[0]!)!);
  }
  return parted([...group.keys()], (i) => String(root(group.get(i)!)));
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
