export default (vars: Record<string, string>) => ({ ...vars, x: `${vars.x}-tv` });
