import type { UnifiedConfig } from 'promptfoo';
import { helper } from './lib/helper';
enum P { X = 'say' }
const config: UnifiedConfig = { prompts: [`${P.X} {{x}}`], providers: ['echo'], tests: [{ vars: { x: helper('one') }, assert: [{ type: 'javascript', value: (output: string) => output.includes('helper one') }] }] };
export default config;
