export * from './helper.js';
export { default as dflt } from './helper';
export type { Shape } from './types';
