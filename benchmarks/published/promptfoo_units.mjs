// A configuration of vitest for a clone of promptfoo: each handler of an assertion is wrapped as its module is loaded,
// and writes what it was given and what it said, a line of JSON each, to the file of CAROB_ROWS.
import { appendFileSync } from 'node:fs';

const HANDLER = /^export (const|function|async function) (handle\w+)/gm;
const clone = process.env.CAROB_CLONE;

const wrapper = (steps) => `
const __append = process.getBuiltinModule('node:fs').appendFileSync; // tests replace the module of that name
${steps ? "import { extractTrajectorySteps as __steps } from './trajectoryUtils';" : 'const __steps = () => [];'}
const __plain = (value) => {
  const within = [];
  return JSON.parse(JSON.stringify(value ?? null, function (key, each) {
    if (typeof each === 'function') return { code: String(each).slice(0, 200) };
    if (!each || typeof each !== 'object') return each;
    while (within.length && within.at(-1) !== this) within.pop();
    if (within.includes(each)) return '(a circle)';
    within.push(each);
    return each;
  }));
};
const __row = (handler, params, said) => {
  const { assertion, baseType, inverse, renderedValue, output, outputString, providerResponse, latencyMs, cost } = params;
  const trace = params.assertionValueContext?.trace;
  let row;
  try {
    row = __plain({
      handler, assertion, baseType, inverse, output, outputString, latencyMs, cost,
      value: params.valueFromScript ?? (renderedValue === undefined ? assertion?.value : renderedValue),
      is_undefined: output === undefined,
      response: providerResponse && { finishReason: providerResponse.finishReason, metadata: providerResponse.metadata },
      config: params.provider?.config,
      vars: params.test?.vars,
      spans: trace?.spans,
      steps: trace && __steps(trace),
      said,
    });
  } catch (error) {
    row = { handler, unread: String(error) };
  }
  __append(process.env.CAROB_ROWS, JSON.stringify(row) + '\\n');
};
const __record = (handler, judge) => (params) => {
  const keep = (result) => {
    __row(handler, params, { pass: result?.pass });
    return result;
  };
  const failed = (error) => {
    __row(handler, params, { error: String(error?.message ?? error) });
    throw error;
  };
  try {
    const result = judge(params);
    return result && typeof result.then === 'function' ? result.then(keep, failed) : keep(result);
  } catch (error) {
    return failed(error);
  }
};
`;

const recorder = {
  name: 'recorder',
  enforce: 'pre',
  transform(code, id) {
    const path = id.split('?')[0];
    if (!path.startsWith(`${clone}/src/assertions/`) || !path.endsWith('.ts')) return null;
    const names = [...code.matchAll(HANDLER)].map((match) => match[2]);
    if (!names.length) return null;
    appendFileSync(process.env.CAROB_ROWS, names.map((name) => `${JSON.stringify({ wrapped: name })}\n`).join(''));
    const plain = code.replace(HANDLER, (_, how, name) => `${how} ${name}__plain`);
    const wrapped = names.map(
      (name) => `export function ${name}(params) { return __record('${name}', ${name}__plain)(params); }`,
    );
    return { code: `${wrapper(path.endsWith('/trajectory.ts'))}${plain}\n${wrapped.join('\n')}\n`, map: null };
  },
};

export default {
  root: clone,
  plugins: [recorder],
  test: {
    environment: 'node',
    include: ['test/assertions/**/*.test.ts'],
    exclude: ['**/*.integration.test.ts'],
    setupFiles: [`${clone}/vitest.setup.ts`],
    deps: { interopDefault: true },
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60000,
    silent: true,
  },
};
