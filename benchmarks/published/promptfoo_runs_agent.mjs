// An agent and a grader as a promptfoo provider. The agent knows what a test looks for and says it, nearly says it, or
// says something else, by the number of the repetition; the grader agrees with everything.
const GENERAL = ['', 'Yes.', '42', 'As an AI language model I cannot do that.', '{"a": 1}', '[1, 2]', 'null'];
const LONG = 'The quick brown fox. '.repeat(40);

export default class Scripted {
  constructor(options) {
    this.options = options;
  }

  id() {
    return 'scripted';
  }

  async callApi(prompt, context) {
    const test = context?.test;
    if (!test || context.repeatIndex === undefined) {
      return { output: JSON.stringify({ pass: true, score: 1, reason: 'scripted', steps: ['look'] }) };
    }
    const number = context.repeatIndex;
    const usage = { total: 3, prompt: 2, completion: 1 };
    const stop = number % 2 ? 'length' : 'stop';
    return { output: answer(assertions(test), context.vars, number, prompt), tokenUsage: usage, cost: 0.0001, finishReason: stop };
  }

  async callEmbeddingApi() {
    return { embedding: [1, 0, 0] };
  }

  async callClassificationApi() {
    return { classification: { scripted: 1 } };
  }
}

function assertions(test) {
  return (test.assert ?? []).flatMap((one) => (one.type === 'assert-set' ? (one.assert ?? []) : [one]));
}

function answer(wanted, vars, number, prompt) {
  const parts = wanted.map((one) => looksFor(one, vars ?? {})).filter((one) => one !== undefined);
  const whole = parts.length === 1 ? parts[0] : parts.map(text).join(' ');
  const hash = [...prompt].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 9973, number);
  if (number === 0) return whole ?? `You said: ${prompt}`;
  if (number === 1) return nearly(text(whole ?? prompt), hash);
  return hash % 8 === 7 ? LONG : GENERAL[hash % GENERAL.length];
}

function text(value) {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

// What an answer must be to please one assertion, as far as that is easily known.
function looksFor({ type = '', value: template }, vars) {
  const value = fill(template, vars);
  if (type.startsWith('not-')) return undefined;
  if (type === 'is-json' || type === 'contains-json') return example(value);
  if (type.includes('tool-call') || type.includes('function-call')) {
    const names = (Array.isArray(value) ? value : [value]).filter((name) => typeof name === 'string');
    return names.map((name) => ({ id: name, type: 'function', function: { name, arguments: '{}' } }));
  }
  if (['javascript', 'python', 'regex'].includes(type)) return quoted(String(value));
  if (Array.isArray(value)) return value.map(text).join(' ');
  return value === undefined || typeof value === 'function' ? undefined : text(value);
}

function fill(value, vars) {
  if (Array.isArray(value)) return value.map((one) => fill(one, vars));
  if (typeof value !== 'string') return value;
  return value.replace(/\{\{\s*(\w+)\s*\}\}/g, (whole, name) => (name in vars ? text(vars[name]) : whole));
}

function quoted(code) {
  return [...code.matchAll(/(['"`])((?:(?!\1)[^\\\n]){1,60})\1/g)].map((found) => found[2]).join(' ') || code;
}

function example(schema) {
  if (!schema || typeof schema !== 'object') return { a: 1 };
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.type === 'array') return [example(schema.items ?? {})];
  if (schema.type === 'string') return 'words';
  if (['number', 'integer'].includes(schema.type)) return schema.minimum ?? 1;
  if (schema.type === 'boolean') return true;
  const properties = Object.entries(schema.properties ?? {});
  return Object.fromEntries(properties.map(([name, below]) => [name, example(below)]));
}

function nearly(words, hash) {
  const changes = [(said) => said.slice(0, -1), (said) => said.toUpperCase(), (said) => `Well: ${said}.`];
  changes.push((said) => said.split(' ').slice(1).join(' '), (said) => said.replaceAll(' ', '  '));
  return changes[hash % changes.length](words);
}
