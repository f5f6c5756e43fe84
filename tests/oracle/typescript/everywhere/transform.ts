import { Kind } from './lib/helper';
export default (output: string, context: { vars: object }): string => `${output} T-${Kind.B}`;
