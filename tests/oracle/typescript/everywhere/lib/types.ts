export interface Shape { name: string }
export type Size = 1 | 2;
export type Opt = { deep?: Size };
