import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { appendDurably, ifExists, replaceDurably } from '../../adapters/files/index.ts'
import { decorateRecords } from '../../adapters/kit/index.ts'
import type { Logger, RecordStore } from '../../core/index.ts'
import { erasureLinesIn, isErasureLine, storedErasureLines } from '../../core/ops/index.ts'

/** The file in a data directory, in a backup, and with its secrets that lists what was erased. */
export const ERASURE_LIST = 'erasures.jsonl'

/** How long the list may lack what other servers of the same records have erased, and what could not be written. */
const UPDATE_INTERVAL_MS = 60_000

/** The bytes of a list. */
export const encodeList = (lines: Iterable<string>): Uint8Array => Buffer.from([...lines, ''].join('\n'))

/** Adds the erasures of the records to a list. Keeps its other lines: a restore has applied them. */
async function updateList(path: string, records: RecordStore): Promise<void> {
  const before = await ifExists(readFile(path))
  const lines = new Set(before?.toString().split('\n').filter(isErasureLine))
  for await (const line of storedErasureLines(records)) lines.add(line)
  const after = encodeList(lines)
  if (before?.equals(after) !== true) await replaceDurably(path, after)
}

/**
 * The records of a server, whose erasures are in the list of the data directory before their commit returns. If the
 * list cannot be written, the erasure holds: the failure is logged, and the list is written within a minute.
 */
export async function withErasureList(records: RecordStore, directory: string, logger: Logger): Promise<RecordStore> {
  const path = join(directory, ERASURE_LIST)
  await updateList(path, records)
  let [isBehind, written] = [records.isShared, Promise.resolve()]
  const inTurn = (write: () => Promise<void>): Promise<void> =>
    (written = written.then(write).catch((error: unknown) => {
      isBehind = true
      logger.error({ err: error }, `${ERASURE_LIST} could not be written; it is tried again`)
    }))
  const update = (): Promise<void> => {
    isBehind = records.isShared
    return inTurn(() => updateList(path, records))
  }
  const timer = setInterval(() => isBehind && void update(), UPDATE_INTERVAL_MS).unref()
  return decorateRecords(records, {
    async commit(commit) {
      const lines = (commit.writes ?? []).flatMap(({ key, value }) => (value ? erasureLinesIn({ key, value }) : []))
      if (lines.length === 0) return records.commit(commit)
      const outcome = await records.commit(commit).catch(async (error: unknown) => {
        // It may have been applied, and another attempt would find nothing to erase.
        await update()
        throw error
      })
      if (outcome.ok) await inTurn(() => appendDurably(path, encodeList(lines)))
      return outcome
    },
    async close() {
      clearInterval(timer)
      await written
      await records.close()
    },
  })
}
