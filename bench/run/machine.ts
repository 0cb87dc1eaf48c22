import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, release, totalmem, type } from 'node:os'

/** The machine and the versions of a run. A figure means nothing without them. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly os: string
  readonly node: string
  readonly v8: string
  readonly openssl: string
  /** Load average of the last minute before the run. Above about 0.5, other programs were running too. */
  readonly load: number
  /** Versions of the packages that the figures depend on. */
  readonly packages: Readonly<Record<string, string>>
}

const PACKAGES = ['classic-level', 'abstract-level', 'koa', '@koa/router', 'piscina']
const PEERS = ['merkletreejs', 'fixed-merkle-tree', '@chainsafe/persistent-merkle-tree', 'hypercore']

export const describeMachine = (): Machine => ({
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

/** `AMD EPYC, 4 cores, Node 20.20.2` */
export const formatMachine = ({ cpu, cores, node }: Machine): string => `${cpu}, ${cores} cores, Node ${node}`

/** Read from the file itself, because not every package exports its package.json. */
function versionOf(name: string): string {
  const paths = createRequire(import.meta.url).resolve.paths(name) ?? []
  for (const path of paths) {
    try {
      const { version }: { version: string } = JSON.parse(readFileSync(`${path}/${name}/package.json`, 'utf8'))
      return version
    } catch {
      // Not in this folder.
    }
  }
  return 'not installed'
}
