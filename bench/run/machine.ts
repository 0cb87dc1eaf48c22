import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, release, totalmem, type } from 'node:os'

/** Under what a figure was measured: without it the figure says nothing. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly os: string
  readonly node: string
  readonly v8: string
  readonly openssl: string
  /** Of the last minute, when the benchmark began: more than a little means that others were at work. */
  readonly load: number
  /** Of what the figures depend on. */
  readonly packages: Readonly<Record<string, string>>
}

const PACKAGES = ['classic-level', 'abstract-level', 'koa', '@koa/router', 'piscina', 'autocannon']
const PEERS = [
  'merkletreejs',
  '@openzeppelin/merkle-tree',
  'fixed-merkle-tree',
  '@chainsafe/persistent-merkle-tree',
  'merkle-tree-stream',
]

export const machine = (): Machine => ({
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  os: `${type()} ${release()}`,
  node: process.versions.node,
  v8: process.versions.v8,
  openssl: process.versions.openssl,
  load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  packages: Object.fromEntries([...PACKAGES, ...PEERS].map((name) => [name, versionOf(name)])),
})

/** From the package's own file, which not every package lets one import. */
function versionOf(name: string): string {
  const paths = createRequire(import.meta.url).resolve.paths(name) ?? []
  for (const path of paths) {
    try {
      return (JSON.parse(readFileSync(`${path}/${name}/package.json`, 'utf8')) as { version: string }).version
    } catch {
      // Not in this folder.
    }
  }
  return 'not installed'
}
