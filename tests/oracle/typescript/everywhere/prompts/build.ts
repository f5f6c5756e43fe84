import { helper, Box, type Shape } from '../lib';
import data from '../lib/data.json';
import { here } from '@lib/common';
import one from '@one';
import old from '../lib/old.cjs';
import { readFileSync } from 'node:fs';
type Args = { vars: Record<string, string> };
export function build({ vars }: Args): string {
  const box = new Box<Shape>({ name: 'boxed' } satisfies Shape);
  return [helper(vars.x as string), data.word, data.n, here, one(vars.x!), old.base('/a/b.txt'), box.name(), vars.y].join('|');
}
