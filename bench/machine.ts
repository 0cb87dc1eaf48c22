import { cpus, release, totalmem, type } from 'node:os'

/** Under what a figure was measured: without it the figure says nothing. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly os: string
  readonly node: string
  readonly v8: string
}

export const machine = (): Machine => ({
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  os: `${type()} ${release()}`,
  node: process.versions.node,
  v8: process.versions.v8,
})
