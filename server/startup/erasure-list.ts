import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { appendDurably, ifExists, replaceDurably } from '../../adapters/files/index.ts'
import { decorateRecords } from '../../adapters/kit/index.ts'
import type { Logger, RecordStore, RegistryOptions } from '../../core/index.ts'
import { erasureLinesIn, isErasureLine, storedErasureLines } from '../../core/ops/index.ts'

/** The file in a data directory, in a backup, and with its secrets that lists what was erased. */
export const ERASURE_LIST = 'erasures.jsonl'

/** How long the list may lack what other servers of the same records have erased, and what could not be written. */
const UPDATE_INTERVAL_MS = 60_000

/** The bytes of a list. */
export const encodeList = (lines: Iterable<string>): Uint8Array => Buffer.from([...lines, ''].join('\n'))

/**
 * Adds the erasures of the records to a list. Keeps its other lines: a restore has applied them. Returns how many lines
 * it then has.
 */
async function updateList(path: string, records: RecordStore): Promise<number> {
  const before = await ifExists(readFile(path))
  const lines = new Set(before?.toString().split('\n').filter(isErasureLine))
  for await (const line of storedErasureLines(records)) lines.add(line)
  const after = encodeList(lines)
  if (before?.equals(after) !== true) await replaceDurably(path, after)
  return lines.size
}

/**
 * Keeps the list of a server up to date. If it cannot be written, the failure is logged, and it is written within a
 * minute.
 */
async function keepList(path: string, records: RecordStore, logger: Logger) {
  let count = await updateList(path, records)
  let isBehind = records.isShared
  let turn: Promise<unknown> = Promise.resolve()
  const orLater = (error: unknown): void => {
    isBehind = true
    logger.error({ err: error }, `${ERASURE_LIST} could not be written; it is tried again`)
  }
  const update = (): Promise<void> => {
    isBehind = records.isShared
    return updateList(path, records).then((lines) => void (count = lines), orLater)
  }
  /** An update must not come between a commit and its lines: they would be in the list twice. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work)
    turn = Promise.allSettled([result])
    return result
  }
  const timer = setInterval(() => isBehind && void inTurn(update), UPDATE_INTERVAL_MS).unref()
  return {
    inTurn,
    update,
    append: (lines: readonly string[]): Promise<void> =>
      appendDurably(path, encodeList(lines)).then(() => void (count += lines.length), orLater),
    /** How many lines it has. */
    count: () => inTurn(async () => count),
    async close() {
      clearInterval(timer)
      await turn
    },
  }
}

/** What a server keeps in step with the list. */
type Kept = Pick<RegistryOptions, 'records' | 'signedHead'>

/**
 * The records of a server, whose erasures are in the list of the data directory before their commit returns, and its
 * signed head, which says how many lines the list has. An erasure also holds if its lines cannot be written.
 */
export async function withErasureList({ records, signedHead }: Kept, directory: string, logger: Logger): Promise<Kept> {
  const list = await keepList(join(directory, ERASURE_LIST), records, logger)
  const listed = decorateRecords(records, {
    async commit(commit) {
      const lines = (commit.writes ?? []).flatMap(({ key, value }) => (value ? erasureLinesIn({ key, value }) : []))
      if (lines.length === 0) return records.commit(commit)
      return list.inTurn(async () => {
        const outcome = await records.commit(commit).catch(async (error: unknown) => {
          // It may have been applied, and another attempt would find nothing to erase.
          await list.update()
          throw error
        })
        if (outcome.ok) await list.append(lines)
        return outcome
      })
    },
    async close() {
      await list.close()
      await records.close()
    },
  })
  const counted: Kept['signedHead'] = {
    read: () => signedHead.read(),
    // In its turn: the tree may have the receipt of an erasure whose lines are being written.
    write: async (head) => signedHead.write({ ...head, erasures: await list.count() }),
  }
  return { records: listed, signedHead: counted }
}
