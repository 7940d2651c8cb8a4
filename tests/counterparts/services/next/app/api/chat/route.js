// The desk as a route of Next, with OpenAI's own client.
import { appendFileSync } from 'node:fs'
import OpenAI from 'openai'

const describe = (name) => ({
  type: 'function',
  function: {
    name,
    parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  },
})
const SORRY = 'Sorry, I cannot look that up now. Please try again later.'
const statuses = { find_order: 'shipped', refund: 'refunded' }
const tools = Object.keys(statuses).map(describe)

function use(call) {
  try {
    const input = JSON.parse(call.function.arguments)
    if (typeof input.order !== 'string') return { error: 'bad arguments: no order' }
    appendFileSync(process.env.DESK_LOG, JSON.stringify([call.function.name, input]) + '\n')
    return { order: input.order, status: statuses[call.function.name] }
  } catch (error) {
    return { error: `bad arguments: ${error.message}` }
  }
}

async function answer(prompt) {
  const client = new OpenAI({ maxRetries: 0, timeout: 5000 })
  const messages = [{ role: 'user', content: prompt }]
  for (let turn = 0; turn < 4; turn += 1) {
    const completion = await client.chat.completions.create({ model: 'm', messages, tools })
    const said = completion.choices[0].message
    if (!said.tool_calls?.length) return said.content || SORRY
    messages.push(said)
    for (const call of said.tool_calls) {
      const content = JSON.stringify(use(call))
      messages.push({ role: 'tool', tool_call_id: call.id, content })
    }
  }
  return 'Sorry, that took too long.'
}

export async function GET() {
  return Response.json({ up: true })
}

export async function POST(request) {
  const { message } = await request.json()
  try {
    return Response.json({ reply: await answer(message) })
  } catch {
    return Response.json({ reply: SORRY })
  }
}
