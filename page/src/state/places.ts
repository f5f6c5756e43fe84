/**
 * Where a list was scrolled to, by what it shows. It is kept for as long as the tab is open, so whoever comes back from the
 * charts, goes back, or loads the page again is where they were.
 */

/** The row at the upper edge by its number in the plan, and how much of it is above the edge, from 0 to 1. */
export interface Place {
  readonly number: number;
  readonly part: number;
}

const KEPT = "evenhand.places";
const MOST = 50;
let places: Map<string, Place> | undefined;

export function placeOf(list: string): Place | undefined {
  return known().get(list);
}

export function keepPlace(list: string, place: Place): void {
  const all = known();
  all.delete(list); // the newest is the last
  all.set(list, place);
  for (const oldest of all.keys()) {
    if (all.size <= MOST) break;
    all.delete(oldest);
  }
}

/** Writes them down: the page is about to go. */
function save(): void {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify([...known()]));
  } catch {
    // without storage they hold until the page is loaded again
  }
}

function known(): Map<string, Place> {
  if (places === undefined) {
    places = read();
    addEventListener("pagehide", save);
  }
  return places;
}

function read(): Map<string, Place> {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(KEPT) ?? "[]") as [string, Place][]);
  } catch {
    return new Map();
  }
}
