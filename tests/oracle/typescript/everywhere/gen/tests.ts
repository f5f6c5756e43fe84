import { helper } from '../lib/helper';
enum Word { A = 'gen' }
export default async function make(): Promise<unknown[]> {
  return [{ vars: { x: helper(Word.A) }, assert: [{ type: 'contains', value: 'gen' }] }];
}
