import { createHmac, hash, randomUUID, timingSafeEqual } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import Router from '@koa/router'
import { Ajv } from 'ajv'
import type { File } from 'formidable'
import Koa, { type Middleware } from 'koa'
import { koaBody } from 'koa-body'
import { Level } from 'level'
import { pino } from 'pino'
import { Histogram } from 'prom-client'
import { listen } from './listen.ts'

/**
 * `plain-server DIRECTORY EVIDENCES PAGE KEY`: what a developer would write for gets and creates with the packages of
 * the registry's server, in the way that their documentation shows. It has no salts, log, proofs, rate limits, guards
 * against overload, idempotency or erasure. `http` compares the registry's server with it.
 *
 * It begins with this number of evidences, `item 0` and so on. PAGE is what a get returns of the first one.
 */
const [directory = '', evidences = '0', page = '{}', apiKey = ''] = process.argv.slice(2)

interface Fields {
  readonly externalId: string
  readonly owner?: string
  readonly categoryName: string
}

const db = new Level(join(directory, 'plain'))
const { object, events }: { object: object; events: object[] } = JSON.parse(page)
for (let i = 0; i < Number(evidences); i++) {
  const fields = { externalId: `item ${i}`, owner: 'Ada', categoryName: 'Category' }
  await db.batch(recordsOf('bench', randomUUID(), fields, { ...object, externalId: fields.externalId }, events))
}

/** Nine of them, as many as a create of the registry writes. */
function recordsOf(company: string, id: string, fields: Fields, evidence: object, history: readonly object[]) {
  const { externalId, owner = '', categoryName } = fields
  const put = (key: string, value = '') => ({ type: 'put' as const, key, value })
  const words = `${externalId} ${owner}`.toLowerCase().split(' ')
  return [
    put(`external/${company}/${externalId}`, id),
    put(`evidence/${id}`, JSON.stringify(evidence)),
    put(`history/${id}`, JSON.stringify(history)),
    put(`owner/${company}/${owner}/${id}`),
    put(`category/${company}/${categoryName}/${id}`),
    put(`created/${company}/${Date.now()}/${id}`),
    ...words.map((word) => put(`word/${company}/${word}/${id}`)),
  ]
}

const texts = ['externalId', 'name', 'owner', 'description', 'categoryName', 'subcategoryName']
const isValid = new Ajv().compile<Fields>({
  type: 'object',
  properties: { ...Object.fromEntries(texts.map((name) => [name, { type: 'string' }])), meta: { type: 'object' } },
  required: ['externalId', 'name', 'categoryName', 'subcategoryName'],
  additionalProperties: false,
})

// Asynchronous, because a system call for each line would take longer than the line.
const log = pino(pino.destination({ sync: false, minLength: 4_096 }))
const durations = new Histogram({ name: 'duration_seconds', help: 'Of requests', labelNames: ['method', 'route'] })

const HEADERS = {
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
}

const observe: Middleware = async (ctx, next) => {
  const begin = performance.now()
  ctx.set(HEADERS)
  await next()
  const [{ method, path, status }, route, ms] = [ctx, String(ctx['_matchedRoute']), performance.now() - begin]
  durations.observe({ method, route }, ms / 1_000)
  log.info({ method, path, route, status, ms }, 'request')
}

const macOf = (key: string): Buffer => createHmac('sha256', 'a secret of the plain server').update(key).digest()
const keys = new Map([['bench', macOf(apiKey)]])

const authenticate: Middleware = async (ctx, next) => {
  const expected = keys.get(ctx['params'].company)
  if (expected === undefined || !timingSafeEqual(expected, macOf(ctx.get('X-API-Key')))) return ctx.throw(401)
  return next()
}

const respondWith = (ctx: Koa.Context, body: object): void => {
  const json = JSON.stringify(body)
  ctx.type = 'json'
  ctx.etag = hash('sha256', json, 'base64url')
  ctx.body = json
  if (ctx.fresh) ctx.status = 304
}

const router = new Router()
const path = '/api/v1/evidences/:company/evidence'
router.get(`${path}/:externalId`, authenticate, async (ctx) => {
  const id = await db.get(`external/${ctx['params'].company}/${ctx['params'].externalId}`)
  const evidence = await db.get(`evidence/${id}`)
  const history = await db.get(`history/${id}`)
  if (evidence === undefined || history === undefined) return ctx.throw(404)
  return respondWith(ctx, { object: JSON.parse(evidence), events: JSON.parse(history) })
})

const body = koaBody({ multipart: true, formidable: { uploadDir: directory, hashAlgorithm: 'sha256' } })
router.post(path, authenticate, body, async (ctx) => {
  const files = await Promise.all(
    Object.values(ctx.request.files ?? {})
      .flat()
      .map(syncFile),
  )
  const sent = Object(ctx.request.body)
  const fields: unknown = typeof sent.meta === 'string' ? { ...sent, meta: JSON.parse(sent.meta) } : sent
  if (!isValid(fields)) return ctx.throw(400)
  const company = String(ctx['params'].company)
  if ((await db.get(`external/${company}/${fields.externalId}`)) !== undefined) return ctx.throw(409)
  const [id, createDate] = [randomUUID(), new Date().toISOString()]
  const evidence = { ...fields, id, createDate, files }
  const txId = hash('sha256', JSON.stringify(evidence))
  const event = { type: 'create', timestamp: createDate, owner: fields.owner, txId }
  await db.batch(recordsOf(company, id, fields, { ...evidence, txId }, [event]), { sync: true })
  ctx.status = 201
  return respondWith(ctx, { id, txId })
})

/** formidable has written and hashed it. */
async function syncFile({ filepath, hash: sha256, size, originalFilename, mimetype }: File) {
  const handle = await open(filepath, 'r+')
  await handle.sync()
  await handle.close()
  return { id: filepath.slice(directory.length + 1), sha256, size, name: originalFilename, type: mimetype }
}

const app = new Koa()
app.use(observe)
app.use(router.routes())
listen(app)
