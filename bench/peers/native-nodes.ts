import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { shown, type Row } from '../run/case.ts'

const SOURCE = 'bench/peers/native-nodes.c'
/** Vectors of so many bytes, and the flag in /proc/cpuinfo of processors that have them. */
const WIDTHS = [
  { bytes: 16, flag: 'sse2' },
  { bytes: 32, flag: 'avx2' },
  { bytes: 64, flag: 'avx512f' },
] as const

/** Nodes hashed in C on one thread, on vectors as wide as ours (16 bytes) and wider, where there is a C compiler. */
export async function nativeNodes(count: number, progress: (text: string) => void): Promise<readonly Row[]> {
  if (spawnSync('cc', ['--version']).status !== 0) {
    progress('SKIPPED: native code: no C compiler (apt-get install gcc libc6-dev)')
    return [{ way: 'C', note: 'skipped: no C compiler here' }]
  }
  const flags = await readFile('/proc/cpuinfo', 'utf8').catch(() => '')
  const directory = await mkdtemp(join(tmpdir(), 'evidence-native-'))
  try {
    return WIDTHS.filter(({ flag }) => new RegExp(`\\b${flag}\\b`).test(flags)).map(({ bytes }) => {
      progress(`C, ${bytes * 8}-bit vectors`)
      return {
        way: `C, ${bytes * 8}-bit vectors`,
        nanosANode: shown(nanosOf(join(directory, String(bytes)), bytes, count)),
      }
    })
  } finally {
    await rm(directory, { recursive: true })
  }
}

function nanosOf(program: string, bytes: number, count: number): number {
  const flags = ['-O3', '-march=native', `-DBYTES=${bytes}`]
  const compiled = spawnSync('cc', [...flags, '-o', program, SOURCE], { encoding: 'utf8' })
  if (compiled.status !== 0) throw new Error(`${SOURCE} was not compiled: ${compiled.stderr}`)
  const { stdout } = spawnSync(program, [String(count)], { encoding: 'utf8' })
  const [nanos, last] = stdout.trim().split(' ')
  if (last !== lastHashOf(count)) throw new Error(`C on ${bytes} bytes hashes otherwise: ${stdout}`)
  return Number(nanos)
}

/** Of the sequence that the program makes its nodes of. */
function lastHashOf(count: number): string {
  const begin = 1 + 64 * (count - 1)
  const children = Uint8Array.from({ length: 64 }, (_, i) => ((begin + i) * 7 + ((begin + i) >> 8)) & 0xff)
  return createHash('sha256').update(Uint8Array.of(1)).update(children).digest('hex')
}
