import type { ApiProvider, ProviderOptions, ProviderResponse } from 'promptfoo';
import { CallApiContextParams } from 'promptfoo';
import { helper } from './lib/helper';
export default class Mine implements ApiProvider {
  constructor(private options: ProviderOptions) {}
  id(): string { return 'mine' }
  async callApi(prompt: string, context?: CallApiContextParams): Promise<ProviderResponse> {
    return { output: `mine ${(this.options.config as any).mark} ${prompt}` };
  }
}
