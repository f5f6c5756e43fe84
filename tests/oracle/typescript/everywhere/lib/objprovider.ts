import { helper } from './index.js';
export default class { id(): string { return 'obj' } async callApi(prompt: string) { return { output: `obj ${helper(prompt)}` } } }
