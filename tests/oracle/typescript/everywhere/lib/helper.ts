import type { Opt } from './types';
import { Shape, Size } from './types';
export enum Kind { A = 'helper', B = 'b' }
export const enum Num { One = 1, Two }
export namespace Space { export const word = 'spaced'; export function twice(s: string) { return s + s; } }
abstract class Base { abstract name(): string }
export class Box<T extends Shape> extends Base {
  constructor(private readonly value: T, public tag: string = 'tag') { super(); }
  name(): string { return `${this.value.name}:${this.tag}`; }
}
export const helper = (x: string, o?: Opt): string => `${Kind.A} ${x} ${Num.Two} ${Space.twice(Space.word)}`;
export function assertText(value: unknown): asserts value is string { if (typeof value !== 'string') throw new Error('no') }
export default helper;
