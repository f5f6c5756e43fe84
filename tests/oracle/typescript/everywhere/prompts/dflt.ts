type Args = { vars: Record<string, string> };
export default (args: Args): string => `default ${args.vars.x}`;
