import { spawnSync } from 'node:child_process'
import { createHash, hash as oneShot } from 'node:crypto'
import { InlineEngine } from '../sealer/index.ts'
import { median, shown, type Bench, type Row } from './bench.ts'
import { hashTree } from './engine/ours.ts'

const NODE_BYTES = 65
const ROUNDS = 7

/** The engine on one thread against what this machine's processor and OpenSSL do with 65 bytes and with long input. */
export const limit: Bench = {
  name: 'limit',
  about: 'hashing a node on one thread: ours, node:crypto, and OpenSSL by itself',
  async run({ quick, progress }) {
    const count = quick ? 2 ** 14 : 2 ** 17
    const engine = new InlineEngine()
    const entries = new Uint8Array(count * 32).fill(5)
    const input = new Uint8Array(NODE_BYTES).fill(1)
    const ways: Readonly<Record<string, () => unknown>> = {
      'ours, whole tree': () => hashTree(engine, entries),
      "createHash('sha256')": () => repeat(2 * count, () => createHash('sha256').update(input).digest()),
      "crypto.hash('sha256'), Buffer": () => repeat(2 * count, () => oneShot('sha256', input, 'buffer')),
      "crypto.hash('sha256'), text": () => repeat(2 * count, () => oneShot('sha256', input, 'binary')),
    }
    const nanos = new Map<string, number[]>()
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++)
      for (const [name, way] of Object.entries(ways)) {
        const begun = performance.now()
        await way()
        const each = ((performance.now() - begun) * 1e6) / (2 * count)
        nanos.set(name, [...(nanos.get(name) ?? []), each])
        progress(`${name}, round ${round + 1}`)
      }
    await engine.close()
    const rows: Row[] = [...nanos].map(([way, each]) => ({ way, nanosANode: shown(median(each)) }))
    rows.push(...opensslRows(quick, progress))
    const of = (name: string): number => median(nanos.get(name) ?? [])
    return {
      settings: { nodeBytes: NODE_BYTES, leaves: count, threads: 1 },
      rows,
      findings: {
        createHashOverOurs: shown(of("createHash('sha256')") / of('ours, whole tree')),
        cryptoHashTextOverOurs: shown(of("crypto.hash('sha256'), text") / of('ours, whole tree')),
      },
    }
  },
}

function repeat(times: number, work: () => unknown): void {
  for (let i = 0; i < times; i++) work()
}

/** OpenSSL's own figures: with the cost of a call (65 bytes), and without (16 KiB, two blocks of 64 bytes a node). */
function opensslRows(quick: boolean, progress: (text: string) => void): Row[] {
  const seconds = quick ? '1' : '3'
  const rows: Row[] = []
  for (const bytes of [NODE_BYTES, 16_384]) {
    const args = ['speed', '-seconds', seconds, '-bytes', String(bytes), '-evp', 'sha256', '-mr']
    const { stdout, status } = spawnSync('openssl', args, { encoding: 'utf8' })
    // "+F:22:sha256:417123.45", in bytes a second.
    const perSecond = Number(/^\+F:\d+:sha256:([\d.]+)/im.exec(stdout ?? '')?.[1])
    if (status !== 0 || !(perSecond > 0)) {
      progress('SKIPPED: openssl speed, which is not there or did not answer')
      rows.push({ way: `openssl speed, ${bytes} bytes`, note: 'skipped: no openssl here' })
      continue
    }
    const nodes = bytes === NODE_BYTES ? 1 : bytes / 128
    rows.push({
      way: bytes === NODE_BYTES ? 'openssl speed, 65 bytes a call' : 'openssl speed, 16 KiB a call, two blocks a node',
      nanosANode: shown((1e9 * bytes) / perSecond / nodes),
    })
    progress(`openssl speed, ${bytes} bytes`)
  }
  return rows
}
