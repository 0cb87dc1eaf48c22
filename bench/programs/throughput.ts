import { join } from 'node:path'
import { openLevelRecords } from '../../adapters/level/index.ts'
import { LogReader } from '../../core/log/reader.ts'
import { PoolEngine } from '../../sealer/index.ts'
import { createHashByHand, merkletreejs } from '../peers/npm-trees.ts'
import { openSealingRegistry } from '../workload/backlog.ts'
import { libraryPooled } from '../workload/library-tree.ts'
import type { TreeBuilder } from '../workload/tree-builder.ts'
import { warmUp } from '../workload/tree-measurement.ts'

/**
 * `throughput DIRECTORY`: seals the backlog in this folder, then builds the tree over the same entries with other
 * implementations, and writes the times as JSON. Throws if a root is not the one that was sealed.
 */

export type ThroughputMeasurement = Awaited<ReturnType<typeof measure>>

/** More than the pool hashes without a worker. */
const WARM_UP_LEAVES = 2 ** 14

async function timeBuild(builder: TreeBuilder, entries: Uint8Array, expectedRoot: string): Promise<number> {
  await warmUp(builder, WARM_UP_LEAVES)
  const begin = performance.now()
  const { root } = await builder.build(entries)
  const ms = performance.now() - begin
  await builder.close?.()
  if (root !== expectedRoot)
    throw new Error(`${builder.name} computes the root ${root}, but ${expectedRoot} was sealed`)
  return ms
}

async function measure(directory: string) {
  const records = await openLevelRecords(join(directory, 'records'))
  const engine = new PoolEngine()
  // The workers start before the measurement.
  await engine.tiles(new Uint8Array(32 * WARM_UP_LEAVES), 'entries')
  const registry = await openSealingRegistry({ directory, records, engine })
  const begin = performance.now()
  await registry.sealNow()
  const sealMs = performance.now() - begin
  const { size, root } = await new LogReader(records).tree.head()
  const entries = await records.readLog(0, size)
  await registry.close()
  return {
    sealMs,
    engineMs: await timeBuild(libraryPooled(), entries, root),
    createHashMs: await timeBuild(createHashByHand(), entries, root),
    merkletreejsMs: await timeBuild(merkletreejs(), entries, root),
  }
}

const [directory = ''] = process.argv.slice(2)
console.log(JSON.stringify(await measure(directory)))
