import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Certificate } from 'pkijs'
import { bitString, certificateTime, integer, objectIdentifier, sequence, smallInteger } from '../../adapters/der.ts'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import { verifyBundle } from '../../core/verify/index.ts'
import { tokens } from '../../core/verify/tokens.ts'
import { formatCell, roundFigure, type BenchCase } from '../run/case.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'
import { categoryOf, evidenceOf } from '../workload/evidence.ts'
import { openBenchRegistry, type BenchRegistry } from '../workload/registry.ts'

const ROUNDS = 3
/** So many values together have nearly the 32 MB that a bundle may have. */
const VALUES = 790_000
/** So many checkpoints have so many tokens of so many values. */
const [CHECKPOINTS, TOKENS, TOKEN_VALUES] = [94, 8, 9_900]
const REVOKED = 1_000_000

interface Bundles {
  /** One evidence with many events and one checkpoint, as JSON. */
  readonly plain: string
  /** One evidence whose events have a checkpoint each, the last one with a token. */
  readonly stamped: Awaited<ReturnType<typeof bundleOf>>
  /** The name of who issued the certificate of that token, DER. */
  readonly issuer: Uint8Array
}

/** The worst that was found of each kind of content. */
const WORST: Readonly<Record<string, (bundles: Bundles) => string>> = {
  'many plain events': ({ plain }) => plain,
  'numbers of 17 digits': ({ stamped }) =>
    withExtension(stamped, `[${listed(VALUES, (i) => String(1 + (i * 7 + 1) * Number.EPSILON))}]`),
  'many names, one of them twice': ({ stamped }) =>
    withExtension(stamped, `{${listed(VALUES, (i) => `"n${i}":${i}`)},"n1":1}`),
  'tokens of many values': ({ stamped }) => withTokens(stamped, (seed) => manyValues(seed)),
  'tokens of many values that end with a reserved one': ({ stamped }) =>
    withTokens(stamped, (seed) => manyValues(seed, Uint8Array.of(0x0f, 0))),
  'revocation lists of many entries': ({ stamped, issuer }) =>
    JSON.stringify({
      ...stamped,
      validationData: [1, 2, 3].map((k) => ({ type: 'crl', data: revocationList(issuer, k) })),
    }),
}

/**
 * How long a verifier works on a bundle that was made to keep it busy. Only the size of a bundle and counts within it
 * bound this, so each row is the worst of its kind that was found.
 */
export const bundles: BenchCase = {
  name: 'bundles',
  measures: 'the CPU time of verifyBundle for many events, and for bundles that are made to take long',
  columns: { content: 'bundle', megabytes: 'size, MB', seconds: 'CPU, s', verdict: 'verdict' },
  async run({ quick, progress }) {
    const made = await makeBundles(quick ? 100 : 10_000, progress)
    const rows = []
    for (const [content, worst] of Object.entries(WORST)) {
      const text = worst(made)
      const times: number[] = []
      let verdict = ''
      for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
        const before = process.cpuUsage()
        const result = verifyBundle(text, { tokens })
        const { user, system } = process.cpuUsage(before)
        times.push((user + system) / 1e6)
        verdict = 'rule' in result ? result.rule : result.state
      }
      rows.push({
        content,
        megabytes: roundFigure(text.length / 1e6),
        seconds: roundFigure(Math.min(...times)),
        verdict,
      })
      progress(content)
    }
    return { settings: { rounds: ROUNDS }, rows, findings: {} }
  },
  conclude(result) {
    const [worst] = result.rows.toSorted((a, b) => Number(b['seconds']) - Number(a['seconds']))
    const seconds = (content: string): string => formatCell(result, { where: { content }, get: 'seconds' })
    return (
      `A bundle of many plain events is verified in ${seconds('many plain events')} s; the worst that was found ` +
      `(${worst?.['content']}) takes ${worst?.['seconds']} s.`
    )
  },
}

function makeBundles(events: number, progress: (text: string) => void): Promise<Bundles> {
  return inTemporaryFolder(async (directory) => {
    const authority = join(directory, 'tsa')
    const bench = await openBenchRegistry({
      timestampAuthority: await openLocalTsa(authority),
      tsaIntervalMs: 0,
      maxWaitMs: 3_600_000,
    })
    try {
      await createWith(bench, 0, events, (i) => i % 1_000 === 0 && progress(`${i} events`))
      await bench.registry.sealNow()
      const plain = JSON.stringify(await bundleOf(bench, 0))
      await createWith(bench, 1, CHECKPOINTS, () => bench.registry.sealNow())
      await waitUntilStamped(bench)
      const signer = new X509Certificate(await readFile(join(authority, 'tsa.pem')))
      const issuer = new Uint8Array(Certificate.fromBER(signer.raw).issuer.toSchema().toBER())
      return { plain, stamped: await bundleOf(bench, 1), issuer }
    } finally {
      await bench.close()
    }
  })
}

/** An evidence with this number of events. `after` is called after each of them. */
async function createWith(
  { registry, scope }: BenchRegistry,
  index: number,
  events: number,
  after: (event: number) => unknown,
): Promise<void> {
  await registry.evidences.create(scope, { ...categoryOf(index), ...evidenceOf(index) })
  await after(1)
  for (let i = 2; i <= events; i++) {
    await registry.evidences.update(scope, evidenceOf(index).externalId, { owner: `Owner ${i}` })
    await after(i)
  }
}

const bundleOf = ({ registry, scope }: BenchRegistry, index: number) =>
  registry.proofs.bundle(scope, {
    externalId: evidenceOf(index).externalId,
    fields: 'all',
    files: 'none',
    history: true,
  })

async function waitUntilStamped({ registry }: BenchRegistry): Promise<void> {
  while (registry.status().stampedSize < registry.status().sealedSize) await delay(50)
}

const listed = (count: number, valueOf: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => valueOf(i)).join(',')

/** A bundle with a member that later versions may have, and that this one must read to its end. */
const withExtension = (bundle: object, json: string): string =>
  `${JSON.stringify(bundle).slice(0, -1)},"extensions":{"a":${json}}}`

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const withTokens = (bundle: Bundles['stamped'], tokenOf: (seed: number) => string): string =>
  JSON.stringify({
    ...bundle,
    checkpoints: bundle.checkpoints.map((checkpoint, at) => ({
      ...checkpoint,
      tokens: Array.from({ length: TOKENS }, (_, k) => tokenOf(at * TOKENS + k)),
    })),
  })

/** DER that is not a token, with as many values as a token may have. */
function manyValues(seed: number, last = new Uint8Array()): string {
  const values = Array.from({ length: TOKEN_VALUES }, (_, i) => smallInteger((i * 7 + seed) % 128))
  return base64(sequence(sequence(...values), integer(Uint8Array.of(1, seed >> 8, seed & 255)), last))
}

/** A list with entries as short as they can be, without a valid signature. */
function revocationList(issuer: Uint8Array, seed: number): string {
  const entry = 8
  const entries = Buffer.alloc(REVOKED * entry)
  for (let i = 0; i < REVOKED; i++)
    entries.set([0x30, 6, 2, 4, (i >> 16) & 127, (i >> 8) & 255, i & 255, seed], i * entry)
  const algorithm = sequence(objectIdentifier('1.2.840.10045.4.3.2'))
  const body = sequence(algorithm, issuer, certificateTime(Date.UTC(2025, 0, 1)), sequence(entries))
  return base64(sequence(body, algorithm, bitString(Uint8Array.of(1))))
}
