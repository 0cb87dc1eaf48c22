import type { LogReader } from '../log/reader.ts'
import { assertHoldsSigned } from '../log/signed-head.ts'
import type { RecordStore, SealerStatus, SignedHeadKeeper } from '../ports/index.ts'
import type { Context } from './context.ts'
import { newestAnchoredHead } from './signed-head.ts'

const POLL_MS = 5_000

/** What is sealed, read from the records while the own sealer does not run. */
export class ObservedLog {
  readonly #records: RecordStore
  readonly #log: LogReader
  sizes: Pick<SealerStatus, 'sealedSize' | 'logSize' | 'lastBatchAt'> = { sealedSize: 0, logSize: 0, lastBatchAt: null }

  constructor(records: RecordStore, log: LogReader) {
    this.#records = records
    this.#log = log
  }

  async refresh(): Promise<void> {
    const { size, time } = await this.#log.treeHead()
    const logSize = await this.#records.logSize()
    this.sizes = { sealedSize: size, logSize, lastBatchAt: size === 0 ? null : time }
  }
}

interface HeadWait {
  readonly context: Pick<Context, 'records' | 'log' | 'clock' | 'logger'>
  readonly signedHead: SignedHeadKeeper
  readonly observed: ObservedLog
  /** Starts sealing and allows writes. Called once the signed head is written. */
  readonly begin: () => Promise<void>
}

/**
 * Polls for the newest confirmed anchor, which proves what was signed. Writes it as the signed head of this process,
 * and then begins. A failure is logged and tried again.
 */
export function waitForHead(wait: HeadWait): { stop(): Promise<void> } {
  const { clock, logger } = wait.context
  const aborter = new AbortController()
  const { signal } = aborter
  logger.warn(
    {},
    'this server has no signed head: it serves reads, and does not seal until an anchor is confirmed; --adopt-head FILE of another server ends this',
  )
  const done = (async () => {
    while (!signal.aborted) {
      const isReady = await adoptAnchor(wait).catch((err: unknown) => {
        logger.warn({ err }, 'no signed head could be adopted: it is tried again')
        return false
      })
      if (isReady) return
      await clock.sleep(POLL_MS, signal).catch(() => undefined)
    }
  })()
  return {
    async stop() {
      aborter.abort()
      await done
    },
  }
}

async function adoptAnchor({ context, signedHead, observed, begin }: HeadWait): Promise<boolean> {
  const { records, log, logger } = context
  await observed.refresh()
  // An attempt before may have failed after the sealer had started: then the head is newer than the anchor.
  if ((await signedHead.read()) === undefined) {
    const head = await newestAnchoredHead(log)
    if (head === undefined) return false
    await assertHoldsSigned(records, log, head)
    await signedHead.write(head)
    logger.info({ size: head.size }, 'the signed head was adopted from the newest confirmed anchor')
  }
  await begin()
  return true
}
