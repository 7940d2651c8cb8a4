// Judges assertions with promptfoo itself: a job per line of stdin, a verdict per line of stdout.
// Run it where promptfoo is installed: node promptfoo_peer.mjs FOLDER_OF_NODE_MODULES < jobs > verdicts
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

process.env.PROMPTFOO_DISABLE_TELEMETRY = '1';
process.env.PROMPTFOO_DISABLE_UPDATE = '1';
const found = createRequire(pathToFileURL(`${process.argv[2]}/x.js`)).resolve('promptfoo');
const promptfoo = await import(pathToFileURL(found).href);
const { runAssertion } = promptfoo.assertions ?? promptfoo.default.assertions;
const write = process.stdout.write.bind(process.stdout);
for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  let verdict;
  try {
    const result = await runAssertion({
      prompt: 'ask',
      provider: undefined,
      assertion: job.assertion,
      test: { vars: job.vars ?? {} },
      providerResponse: { output: job.output, ...job.response },
      latencyMs: job.latencyMs,
      ...(job.spans && { traceId: 'x', traceData: { traceId: 'x', spans: job.spans } }),
    });
    verdict = { pass: result.pass, reason: result.reason };
  } catch (error) {
    verdict = { error: String(error.message ?? error) };
  }
  write(`${JSON.stringify(verdict)}\n`);
}
process.exit(0);
