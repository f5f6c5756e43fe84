export const helper = (x: string): string => `helper ${x}`;
