export default (name: string, prompt: string, vars: Record<string, unknown>): { output: string } => ({ output: `${name} of ${String(vars.x)}` });
