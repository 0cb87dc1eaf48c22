import { once } from 'node:events'
import fc from 'fast-check'
import { pick, randomFrom, type Random } from '../../support/bundle-mutations.ts'
import { eventually } from '../../support/eventually.ts'
import { END, MULTIPART, part, RawRequest } from '../../support/raw-http.ts'
import { damagedForm, formDamage } from '../../support/random-requests/requests.ts'
import { problemOf } from '../../support/random-requests/send.ts'
import { OPERATOR_KEY } from './target.ts'

/** Connections that break the rules: each returns what is wrong with the server's behaviour, `undefined` if nothing. */

export const ABUSED_SETTINGS = {
  // The server itself ends what stands still.
  EVIDENCE_UPLOAD_IDLE_MS: '2000',
}

/** How many connections are open at the same time. The server waits 20 s for a slow head. */
export const ABUSE_AT_ONCE = 120
/** More bodies than a sender may have in memory (`server/http/load-limits.ts`). */
const EXCESS = 2_200

const PATH = '/api/v1/evidences/acme/evidence'
const KINDS = ['damaged form', 'cut off', 'slow body', 'slow head', 'garbage'] as const

/** Opens one connection, and waits until the server has responded or closed it. */
export async function abuse(port: number, seed: number): Promise<string | undefined> {
  const random = randomFrom(seed)
  const kind = pick(random, KINDS)
  const connection = new RawRequest(port)
  try {
    await begin(connection, kind, random, seed)
    if (kind === 'cut off') return undefined
    await eventually(
      () => connection.closed || isComplete(connection.received) || undefined,
      () => `${kind}: the server neither responded nor closed the connection`,
    )
    const problem = problemIn(connection.received)
    return problem && `${kind}: ${problem}: ${connection.received.slice(0, 300)}`
  } catch (error) {
    return `${kind}: ${error instanceof Error ? error.message : String(error)}`
  } finally {
    connection.disconnect()
  }
}

async function begin(
  connection: RawRequest,
  kind: (typeof KINDS)[number],
  random: Random,
  seed: number,
): Promise<void> {
  if (kind === 'garbage') return void (await connection.send(Buffer.from(bytesOf(random, 200))))
  if (kind === 'slow head') return void (await connection.send(`POST ${PATH} HTTP/1.1\r\nhost: localhost\r\nx-a: `))
  const form = formOf(seed)
  const body = kind === 'damaged form' ? damagedForm(form, damageOf(seed)) : form
  const length = Buffer.byteLength(body, 'latin1')
  const headers = { 'x-api-key': OPERATOR_KEY, 'content-type': MULTIPART, 'content-length': length }
  connection.head('POST', PATH, headers)
  const sent = kind === 'damaged form' ? length : Math.floor(random() * length)
  await connection.send(Buffer.from(body, 'latin1').subarray(0, sent))
}

const damageOf = (seed: number) =>
  fc.sample(formDamage, { seed, numRuns: 1 })[0] ?? { place: 0, length: 1, instead: '' }

const bytesOf = (random: Random, length: number): readonly number[] =>
  Array.from({ length }, () => Math.floor(random() * 256))

function formOf(seed: number): string {
  const fields = { categoryName: 'Tools', subcategoryName: 'Drills', externalId: `abuse-${seed}`, name: 'A drill' }
  const texts = Object.entries(fields).map(([name, value]) => part(name, value))
  return [...texts, part('images.items', 'x'.repeat(20_000), { filename: 'a.txt' }), END].join('')
}

const isComplete = (received: string): boolean => /^HTTP\/1\.1 [2-5]\d\d [^]*\r\n\r\n/.test(received)

function problemIn(received: string): string | undefined {
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1])
  if (received === '' || status === 100) return undefined
  return problemOf(status, /^retry-after: *(.*?)\r$/im.exec(received)?.[1] ?? null)
}

/**
 * Opens more uploads than the server accepts, sends no body, and waits until each has ended. Returns how many were
 * rejected with 503, or what is wrong.
 */
export async function overload(port: number): Promise<number | string> {
  const headers = { 'x-api-key': OPERATOR_KEY, 'content-type': MULTIPART, 'content-length': 1_000 }
  const uploads = Array.from({ length: EXCESS }, () => new RawRequest(port))
  try {
    await Promise.all(uploads.map(({ socket }) => once(socket, 'connect')))
    for (const upload of uploads) upload.head('POST', PATH, headers)
    await eventually(
      () => uploads.every(({ received, closed }) => closed || isComplete(received)) || undefined,
      () => 'an upload without a body was not ended',
    )
    const problem = uploads.map(({ received }) => problemIn(received)).find((each) => each !== undefined)
    return problem ?? uploads.filter(({ received }) => received.startsWith('HTTP/1.1 503')).length
  } finally {
    for (const upload of uploads) upload.disconnect()
  }
}
