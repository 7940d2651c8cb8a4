// Runs `promptfoo eval` for one configuration after the other in one process: its start takes most of the time.
// A job per line of stdin, {"config", "outputs", "repeat"}, and a line of stdout for each, {"error"} or {}.
//   node promptfoo_runs_peer.mjs FOLDER_OF_NODE_MODULES < jobs
import fs from 'node:fs';
import { createRequire, register } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'promptfoo-home-'));
process.on('exit', () => fs.rmSync(home, { recursive: true, force: true }));
Object.assign(process.env, {
  PROMPTFOO_CONFIG_DIR: home,
  PROMPTFOO_DISABLE_TELEMETRY: '1',
  PROMPTFOO_DISABLE_UPDATE: '1',
  PROMPTFOO_DISABLE_REMOTE_GENERATION: '1',
  PROMPTFOO_FAILED_TEST_EXIT_CODE: '0',
  PROMPTFOO_REQUEST_BACKOFF_MS: '1',
  PROMPTFOO_EVAL_TIMEOUT_MS: '20000',
  LOG_LEVEL: 'error',
});
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (...rest) => rest.findLast((one) => typeof one === 'function')?.() ?? true;
process.exit = (code) => {
  throw new Error(`promptfoo ended with ${code ?? process.exitCode ?? 0}`);
};
process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});
// Nothing leaves this machine: a model that some configuration names for grading agrees with everything.
const content = JSON.stringify({ pass: true, score: 1, reason: 'scripted' });
globalThis.fetch = async () => Response.json({ choices: [{ message: { content }, finish_reason: 'stop' }] });

// The command itself is not exported: the module that holds it is read with one more line.
const loader = `export async function load(url, context, next) {
  const read = await next(url, context);
  return url.endsWith('/dist/src/main.js') ? { ...read, source: read.source + '\\nexport { main };' } : read;
}`;
register(`data:text/javascript,${encodeURIComponent(loader)}`);
const packageFile = createRequire(pathToFileURL(`${process.argv[2]}/x.js`)).resolve('promptfoo');
const { main } = await import(pathToFileURL(path.join(path.dirname(packageFile), 'main.js')).href);
const agent = pathToFileURL(path.join(import.meta.dirname, 'promptfoo_runs_agent.mjs')).href;

const environment = { ...process.env };
for await (const line of createInterface({ input: process.stdin })) {
  const { config, outputs, repeat } = JSON.parse(line);
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
  const said = [];
  console.error = console.log = (...words) => said.push(words.join(' '));
  let error;
  try {
    process.chdir(path.dirname(config));
    process.exitCode = 0;
    const options = ['--no-cache', '--no-write', '--no-table', '--no-progress-bar', '--no-share'];
    process.argv = ['node', 'promptfoo', 'eval', '-c', config, '-r', agent, '--grader', agent, ...options];
    process.argv.push('--repeat', String(repeat), ...outputs.flatMap((name) => ['-o', name]));
    await main();
    if (!outputs.every((name) => fs.existsSync(name))) error = said.join(' ') || 'nothing was written';
  } catch (problem) {
    error = String(problem?.message ?? problem);
  }
  write(`${JSON.stringify(error === undefined ? {} : { error: error.slice(0, 500) })}\n`);
}
fs.rmSync(home, { recursive: true, force: true });
process.kill(process.pid, 'SIGKILL');
