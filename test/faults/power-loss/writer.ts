import { openSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { loadConfig } from '../../../server/settings/load.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { createCompany, registryWriter } from '../workload/registry-writer.ts'
import { Load } from '../workload/load.ts'
import type { Step } from '../workload/model.ts'
import { formatMark } from './marks.ts'

/**
 * The process that is traced: `writer.js FOLDER SEED COUNT VARIANT`. Opens a registry in `FOLDER/data` as the server
 * does,
 * writes `COUNT` times, closes it, opens it again, writes as often, and ends without closing it. Writes a line to
 * `FOLDER/marks` before each write and after its acknowledgement. For the variants see `Variant`.
 */

const [folder = '', seed = '', count = '', variant = ''] = process.argv.slice(2)
const WORKERS = 6

interface ChainedBatch {
  write: (this: ChainedBatch, options?: object) => Promise<void>
}

/** Makes LevelDB acknowledge batches before they are durable. */
function disableSync(): void {
  const { AbstractChainedBatch } = createRequire(import.meta.url)('abstract-level') as {
    readonly AbstractChainedBatch: { readonly prototype: ChainedBatch }
  }
  const { write } = AbstractChainedBatch.prototype
  AbstractChainedBatch.prototype.write = function (options) {
    return write.call(this, { ...options, sync: false })
  }
}

/** What LevelDB accepts as the smallest buffer. */
const SMALLEST_BUFFER_BYTES = 65_536

interface Database {
  _open: (this: Database, options: object) => Promise<void>
}

/** Makes LevelDB switch to a new log and write tables after 64 KiB. */
function shrinkBuffer(): void {
  const { ClassicLevel } = createRequire(import.meta.url)('classic-level') as {
    readonly ClassicLevel: { readonly prototype: Database }
  }
  const { _open: open } = ClassicLevel.prototype
  // eslint-disable-next-line no-underscore-dangle -- the name that abstract-level gives it
  ClassicLevel.prototype._open = function (options) {
    return open.call(this, { ...options, writeBufferSize: SMALLEST_BUFFER_BYTES })
  }
}

async function openRegistry() {
  const env = {
    EVIDENCE_DATA_DIR: join(folder, 'data'),
    EVIDENCE_SEAL_MAX_WAIT_MS: '20',
  }
  return (await openConfiguredRegistry(loadConfig({ args: [], env }), silentLogger)).registry
}

const marks = openSync(join(folder, 'marks'), 'w')
const mark = (externalId: string, step?: Step): void =>
  void writeSync(marks, formatMark({ externalId, ...(step && { step }) }))

if (variant === 'no-sync') disableSync()
if (variant === 'small-buffer') shrinkBuffer()
const load = new Load()
for (const session of [1, 2]) {
  const registry = await openRegistry()
  if (session === 1) await createCompany(registry)
  const write = registryWriter(registry)
  await load.run({
    seed: Number(seed),
    workers: WORKERS,
    async write(externalId, step) {
      mark(externalId, step)
      await write(externalId, step)
      mark(externalId)
    },
    isDone: ({ acknowledged }) => acknowledged >= session * Number(count),
  })
  if (session === 2) process.exit(load.rejected === 0 ? 0 : 1)
  await registry.close()
}
