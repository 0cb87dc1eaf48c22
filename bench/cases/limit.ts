import { spawnSync } from 'node:child_process'
import { createHash, hash as oneShotHash } from 'node:crypto'
import { TILE_WIDTH } from '../../core/log/tree/tile.ts'
import { InlineEngine } from '../../sealer/index.ts'
import { measureNativeNodes } from '../peers/native-nodes.ts'
import { formatFinding, median, roundFigure, type BenchCase, type Row } from '../run/case.ts'
import { barsOf } from '../run/picture.ts'

const NODE_BYTES = 65
const LONG_BYTES = 16_384
const ROUNDS = 7
const LIBRARY = 'this library, 128-bit vectors'
const CREATE_HASH = "createHash('sha256')"
const ONE_SHOT_TEXT = "crypto.hash('sha256'), text"

/**
 * Hashing one tree node (65 bytes) on one thread: this library's WebAssembly kernel, node:crypto, C with vectors of the
 * same width and wider, and OpenSSL alone.
 *
 * Fair because all hash the same number of nodes in this process, each method seven times without a change of method in
 * between, so that no method pays for the garbage of another. C and OpenSSL show what the processor can do.
 */
export const limit: BenchCase = {
  name: 'limit',
  measures: 'hashing a node on one thread: this library, node:crypto, C with wider vectors, and OpenSSL alone',
  columns: { method: 'method', nanosecondsPerNode: 'ns per node', note: 'note' },
  picture: {
    title: 'Hashing a node, one thread',
    unit: 'ns per node',
    bars: barsOf(({ method }) => String(method), { nanosecondsPerNode: 'ns' }),
  },
  async run({ quick, progress }) {
    const tiles = quick ? 2 ** 7 : 2 ** 10
    // A tile of 256 leaves has 255 nodes above them.
    const count = tiles * (TILE_WIDTH - 1)
    const nanoseconds = await measureMethods(tiles, count, { rounds: quick ? 1 : ROUNDS, progress })
    const rows: Row[] = [...nanoseconds].map(([method, value]) => ({ method, nanosecondsPerNode: roundFigure(value) }))
    rows.push(...(await measureNativeNodes(count, progress)))
    for (const bytes of [NODE_BYTES, LONG_BYTES]) rows.push(measureOpenssl(bytes, { seconds: quick ? 1 : 3, progress }))
    const ratio = (method: string): number =>
      roundFigure((nanoseconds.get(method) ?? Number.NaN) / (nanoseconds.get(LIBRARY) ?? Number.NaN))
    return {
      settings: { nodeBytes: NODE_BYTES, nodes: count, threads: 1 },
      rows,
      findings: { createHashOverOurs: ratio(CREATE_HASH), cryptoHashTextOverOurs: ratio(ONE_SHOT_TEXT) },
    }
  },
  conclude: (result) =>
    `Hashing a node takes createHash ${formatFinding(result, 'createHashOverOurs')} times and the fastest form of ` +
    `crypto.hash ${formatFinding(result, 'cryptoHashTextOverOurs')} times as long as this library on one thread.`,
}

interface MeasureOptions {
  readonly rounds: number
  readonly progress: (text: string) => void
}

/** Returns the median ns for each node, by method. */
async function measureMethods(tiles: number, count: number, { rounds, progress }: MeasureOptions) {
  const engine = new InlineEngine()
  const row = new Uint8Array(tiles * TILE_WIDTH * 32).fill(5)
  const input = new Uint8Array(NODE_BYTES).fill(1)
  const methods: Readonly<Record<string, () => unknown>> = {
    [LIBRARY]: () => engine.tiles(row, 'nodes'),
    [CREATE_HASH]: () => repeat(count, () => createHash('sha256').update(input).digest()),
    "crypto.hash('sha256'), Buffer": () => repeat(count, () => oneShotHash('sha256', input, 'buffer')),
    [ONE_SHOT_TEXT]: () => repeat(count, () => oneShotHash('sha256', input, 'binary')),
  }
  const medians = new Map<string, number>()
  for (const [method, work] of Object.entries(methods)) {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      const begin = performance.now()
      await work()
      times.push(((performance.now() - begin) * 1e6) / count)
      progress(`${method}, round ${round + 1} of ${rounds}`)
    }
    medians.set(method, median(times))
  }
  await engine.close()
  return medians
}

function repeat(times: number, work: () => unknown): void {
  for (let i = 0; i < times; i++) work()
}

interface OpensslOptions {
  readonly seconds: number
  readonly progress: (text: string) => void
}

/** OpenSSL's own measurement: 65 bytes include the cost of a call, 16 KiB do not (a node is two blocks of 64 bytes). */
function measureOpenssl(bytes: number, { seconds, progress }: OpensslOptions): Row {
  const args = ['speed', '-seconds', String(seconds), '-bytes', String(bytes), '-evp', 'sha256', '-mr']
  const { stdout, status } = spawnSync('openssl', args, { encoding: 'utf8' })
  // "+F:22:sha256:417123.45", in bytes per second.
  const bytesPerSecond = Number(/^\+F:\d+:sha256:([\d.]+)/im.exec(stdout ?? '')?.[1])
  if (status !== 0 || !(bytesPerSecond > 0)) {
    progress('SKIPPED: openssl speed, because openssl is not installed or failed')
    return { method: `openssl speed, ${bytes} bytes`, note: 'skipped: no openssl on this machine' }
  }
  progress(`openssl speed, ${bytes} bytes`)
  const nodes = bytes === NODE_BYTES ? 1 : bytes / 128
  const name = bytes === NODE_BYTES ? '65 bytes per call' : '16 KiB per call, two blocks per node'
  return { method: `openssl speed, ${name}`, nanosecondsPerNode: roundFigure((1e9 * bytes) / bytesPerSecond / nodes) }
}
