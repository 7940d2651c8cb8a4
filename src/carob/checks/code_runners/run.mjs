// Runs one piece of JavaScript in a process of its own: a job as JSON on stdin, its result as JSON on stdout.
import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// Where the last statement of a line begins: behind the last semicolon that is in no text.
const lastSemicolon = (line) => {
  const plain = line.replace(/(["'`])(?:\\.|(?!\1).)*\1/g, (text) => '_'.repeat(text.length));
  return plain.lastIndexOf(';');
};

// A single line is an expression; the last part of several is, where the first ones declare something.
const body = (code) => {
  const text = code.trim();
  if (text.includes('\n')) return text;
  const line = text.replace(/;+\s*$/, '');
  if (/^return\b/.test(line)) return line;
  const last = /^(const|let|var)\s/.test(line) ? lastSemicolon(line) : -1;
  return /^(const|let|var)\s/.test(line) ? `${line.slice(0, last + 1)} return ${line.slice(last + 1)}` : `return ${line}`;
};

const judge = async (job) => {
  const { output, context } = job;
  if (job.file) {
    const module = await import(pathToFileURL(job.file).href);
    const main = module.default ?? module;
    const found = job.function ? (module[job.function] ?? main[job.function]) : main;
    if (typeof found !== 'function') throw new Error(`${job.file} exports no function ${job.function || ''}`);
    return await found(output, context);
  }
  const require = createRequire(import.meta.url);
  return await new Function('output', 'context', 'process', 'require', body(job.code))(output, context, process, require);
};

console.log = console.info = console.debug = console.error;
const job = JSON.parse(readFileSync(0, 'utf8'));
let answer;
try {
  const result = await judge(job);
  answer = { result: result === undefined ? null : result };
} catch (error) {
  answer = { error: String(error) };
}
writeSync(1, JSON.stringify(answer));
process.exit(0);
