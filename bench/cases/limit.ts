import { spawnSync } from 'node:child_process'
import { createHash, hash as oneShot } from 'node:crypto'
import { TILE_WIDTH } from '../../core/log/tree/tile.ts'
import { InlineEngine } from '../../sealer/index.ts'
import { median, shown, type Bench, type Row } from '../run/case.ts'
import { nativeNodes } from '../peers/native-nodes.ts'

const NODE_BYTES = 65
const ROUNDS = 7
const OURS = 'ours, 128-bit vectors'

/** The engine on one thread against what this machine's processor does in C, and OpenSSL with 65 bytes and with long input. */
export const limit: Bench = {
  name: 'limit',
  about: 'hashing a node on one thread: ours, node:crypto, C on wider and wider vectors, and OpenSSL by itself',
  async run({ quick, progress }) {
    const tiles = quick ? 2 ** 7 : 2 ** 10
    const count = tiles * (TILE_WIDTH - 1)
    const engine = new InlineEngine()
    // A tile of 256 has 255 nodes above.
    const row = new Uint8Array(tiles * TILE_WIDTH * 32).fill(5)
    const input = new Uint8Array(NODE_BYTES).fill(1)
    const ways: Readonly<Record<string, () => unknown>> = {
      [OURS]: () => engine.tiles(row, 'nodes'),
      "createHash('sha256')": () => repeat(count, () => createHash('sha256').update(input).digest()),
      "crypto.hash('sha256'), Buffer": () => repeat(count, () => oneShot('sha256', input, 'buffer')),
      "crypto.hash('sha256'), text": () => repeat(count, () => oneShot('sha256', input, 'binary')),
    }
    const nanos = new Map<string, number[]>()
    // One way after the other: what one leaves to the collector is not the next one's to clear.
    for (const [name, way] of Object.entries(ways))
      for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
        const begun = performance.now()
        await way()
        const each = ((performance.now() - begun) * 1e6) / count
        nanos.set(name, [...(nanos.get(name) ?? []), each])
        progress(`${name}, round ${round + 1}`)
      }
    await engine.close()
    const rows: Row[] = [...nanos].map(([way, each]) => ({ way, nanosANode: shown(median(each)) }))
    rows.push(...(await nativeNodes(count, progress)), ...opensslRows(quick, progress))
    const of = (name: string): number => median(nanos.get(name) ?? [])
    return {
      settings: { nodeBytes: NODE_BYTES, nodes: count, threads: 1 },
      rows,
      findings: {
        createHashOverOurs: shown(of("createHash('sha256')") / of(OURS)),
        cryptoHashTextOverOurs: shown(of("crypto.hash('sha256'), text") / of(OURS)),
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
