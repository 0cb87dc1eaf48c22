import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { roundFigure, type Row } from '../run/case.ts'
import { repositoryPath } from '../run/repository.ts'

const SOURCE = repositoryPath('bench/peers/native-nodes.c')
/** Widths of vectors, and the flag in /proc/cpuinfo of processors that have them. */
const WIDTHS = [
  { bytes: 16, flag: 'sse2' },
  { bytes: 32, flag: 'avx2' },
  { bytes: 64, flag: 'avx512f' },
] as const

/**
 * Hashes nodes in C on one thread, with vectors as wide as the WebAssembly kernel's (16 bytes) and wider. Needs `cc`.
 */
export async function measureNativeNodes(count: number, progress: (text: string) => void): Promise<readonly Row[]> {
  if (spawnSync('cc', ['--version']).status !== 0) {
    progress('SKIPPED: native code, because there is no C compiler (apt-get install gcc libc6-dev)')
    return [{ method: 'C', note: 'skipped: no C compiler on this machine' }]
  }
  const flags = await readFile('/proc/cpuinfo', 'utf8').catch(() => '')
  const directory = await mkdtemp(join(tmpdir(), 'evidence-native-'))
  try {
    return WIDTHS.filter(({ flag }) => new RegExp(`\\b${flag}\\b`).test(flags)).map(({ bytes }) => {
      const method = `C, ${bytes * 8}-bit vectors`
      progress(method)
      return { method, nanosecondsPerNode: roundFigure(measureProgram(join(directory, String(bytes)), bytes, count)) }
    })
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Compiles and runs the program. Throws if its last hash is wrong. */
function measureProgram(program: string, bytes: number, count: number): number {
  const flags = ['-O3', '-march=native', `-DBYTES=${bytes}`]
  const compilation = spawnSync('cc', [...flags, '-o', program, SOURCE], { encoding: 'utf8' })
  if (compilation.status !== 0) throw new Error(`${SOURCE} does not compile: ${compilation.stderr}`)
  const { stdout } = spawnSync(program, [String(count)], { encoding: 'utf8' })
  const [nanoseconds, last] = stdout.trim().split(' ')
  if (last !== lastHashOf(count)) throw new Error(`C with vectors of ${bytes} bytes computes a wrong hash: ${stdout}`)
  return Number(nanoseconds)
}

/** The last hash of the byte sequence that the program makes its nodes from. */
function lastHashOf(count: number): string {
  const begin = 1 + 64 * (count - 1)
  const children = Uint8Array.from({ length: 64 }, (_, i) => ((begin + i) * 7 + ((begin + i) >> 8)) & 0xff)
  return createHash('sha256').update(Uint8Array.of(1)).update(children).digest('hex')
}
