import { createPublicKey, randomBytes, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openLocalLedger, type LocalLedger, type LocalLedgerOptions } from '../../adapters/local-ledger/index.ts'
import type { PreparedAnchor } from '../../core/ports/index.ts'
import { ManualClock } from './manual-clock.ts'
import { temporaryFor } from './temporary.ts'

/** A directory for a ledger and its clock. Ledgers that `open` returns are closed at the end of the test. */
export interface LedgerDirectory {
  readonly directory: string
  readonly blocks: string
  readonly clock: ManualClock
  readonly open: (options?: Partial<LocalLedgerOptions>) => Promise<LocalLedger>
  readonly publicKey: () => Promise<KeyObject>
  /** The same key: 32 bytes. */
  readonly account: () => Promise<Uint8Array>
  /** The lines of `blocks.jsonl`, without line feeds. */
  readonly lines: () => Promise<readonly string[]>
}

export async function ledgerDirectory(t: TestContext): Promise<LedgerDirectory> {
  const directory = join(await temporaryFor(t), 'ledger')
  const blocks = join(directory, 'blocks.jsonl')
  const clock = new ManualClock()
  const publicKey = async (): Promise<KeyObject> => createPublicKey(await readFile(join(directory, 'ledger.pub')))
  return {
    directory,
    blocks,
    clock,
    publicKey,
    account: async () => new Uint8Array((await publicKey()).export({ type: 'spki', format: 'der' })).slice(-32),
    open: async (options = {}) => {
      const ledger = await openLocalLedger(directory, { clock, ...options })
      t.after(() => ledger.close())
      return ledger
    },
    lines: async () => (await readFile(blocks, 'utf8')).split('\n').slice(0, -1),
  }
}

export const input = (): Uint8Array => new Uint8Array(randomBytes(200))

export async function send(ledger: LocalLedger, checkpoint = input()): Promise<PreparedAnchor> {
  const prepared = await ledger.prepare({ checkpoint })
  await ledger.broadcast(prepared.raw)
  return prepared
}
