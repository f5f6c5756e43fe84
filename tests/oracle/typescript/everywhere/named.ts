export const named = (output: string, context: any): boolean => output.length > 3 && context.vars.x === 'one-tv';
