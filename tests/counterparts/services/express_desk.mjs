// The desk behind Express, with the AI SDK.
import { appendFileSync } from 'node:fs'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, tool } from 'ai'
import express from 'express'
import { z } from 'zod'

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const make = (name, status) =>
  tool({
    description: name,
    inputSchema: z.object({ order: z.string() }),
    execute: async (input) => {
      appendFileSync(process.env.DESK_LOG, JSON.stringify([name, input]) + '\n')
      return { order: input.order, status }
    },
  })
const tools = { find_order: make('find_order', 'shipped'), refund: make('refund', 'refunded') }

const app = express()
app.use(express.json())
app.get('/health', (_, response) => response.json({ up: true }))
app.post('/chat', async (request, response) => {
  try {
    const prompt = request.body.message
    const { text } = await generateText({ model: openai.chat('m'), tools, prompt, maxRetries: 0, abortSignal: AbortSignal.timeout(5000), stopWhen: stepCountIs(4) })
    response.json({ reply: text || 'Sorry, I cannot look that up now. Please try again later.' })
  } catch {
    response.json({ reply: 'Sorry, I cannot look that up now. Please try again later.' })
  }
})
app.listen(Number(process.argv[2]), '127.0.0.1')
