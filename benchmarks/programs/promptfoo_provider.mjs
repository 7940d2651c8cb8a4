// The canned agent as a promptfoo provider; BENCH_CASES names the workload, which holds the answer's template.
import fs from 'node:fs';

let workload;

export default class CannedAgent {
  id() {
    return 'canned-agent';
  }

  async callApi(prompt) {
    workload ??= JSON.parse(fs.readFileSync(process.env.BENCH_CASES, 'utf8'));
    const number = prompt.slice(8, prompt.indexOf(':'));
    return {
      output: workload.template.replace('{number}', () => number),
      metadata: { tool_calls: workload.tool_calls },
    };
  }
}
