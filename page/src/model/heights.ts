/** How high each row of a long list is: as measured where it was drawn, and about as high as the others where not. */

export class Heights {
  /** Where each row of the list begins, and last where the list ends; px. */
  offsets = new Float64Array(1);
  private own = new Float32Array(0);
  private order: ArrayLike<number> = [];
  private key = "";
  private usual = 0;
  private settled = false;

  /** The list to be drawn. Heights last for as long as `key`, which names what they depend on, is the same; `most` is a row's largest. */
  take(order: ArrayLike<number>, key: string, most: number): void {
    if (key !== this.key) {
      [this.key, this.usual, this.settled] = [key, most, false];
      this.own.fill(0);
    } else if (order === this.order) return;
    this.order = order;
    this.count(0);
  }

  /** Takes the heights of drawn rows, by their place in the list; the first place from which on rows moved, -1 for none. */
  measure(drawn: readonly (readonly [place: number, height: number])[]): number {
    let from = -1;
    for (const [place, height] of drawn) {
      const row = this.order[place];
      if (row === undefined || Math.abs(this.at(row) - height) < 0.5) continue;
      if (row >= this.own.length) {
        const larger = new Float32Array(Math.max(row + 1, 2 * this.own.length));
        larger.set(this.own);
        this.own = larger;
      }
      this.own[row] = height;
      from = from < 0 ? place : Math.min(from, place);
    }
    if (!this.settled && drawn.length > 0) {
      this.settled = true; // once: rows that are not drawn must not move while others are
      this.usual = drawn.reduce((sum, [, height]) => sum + height, 0) / drawn.length;
      from = 0;
    }
    if (from >= 0) this.count(from);
    return from;
  }

  /** The row that is drawn at this height from the list's beginning; the last one for what is below it. */
  rowAt(px: number): number {
    let [low, high] = [0, Math.max(0, this.offsets.length - 2)];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offsets[middle]! <= px) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private at(row: number): number {
    return this.own[row] || this.usual;
  }

  private count(from: number): void {
    const n = this.order.length;
    if (this.offsets.length !== n + 1) this.offsets = new Float64Array(n + 1);
    else if (from > 0) return this.sum(from);
    this.sum(0);
  }

  private sum(from: number): void {
    for (let i = from; i < this.order.length; i++) this.offsets[i + 1] = this.offsets[i]! + this.at(this.order[i]!);
  }
}
