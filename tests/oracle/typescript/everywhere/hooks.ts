import { Kind } from './lib/helper';
export async function beforeEach(context: any, info: { hookName: string }) { context.test.vars.h = Kind.A; return context; }
