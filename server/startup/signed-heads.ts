import { LocalLedger } from '../../adapters/local-ledger/index.ts'
import { LocalTsa } from '../../adapters/local-tsa/index.ts'
import { RegistryError, type RecordStore, type SignedHead } from '../../core/index.ts'
import type { Anchor, TimestampAuthority } from '../../adapters/kit/index.ts'
import { parseCheckpoint } from '../../core/log/index.ts'
import { confirmedSizeOn } from '../../core/ops/index.ts'

/** What was signed, as the local ledger and the embedded authority kept it. Empty for other anchors and authorities. */
export const knownHeads = (
  anchor: Anchor | undefined,
  timestampAuthorities: readonly TimestampAuthority[],
): readonly SignedHead[] => [
  ...(anchor instanceof LocalLedger ? headsIn(anchor.newestInput) : []),
  ...timestampAuthorities.flatMap((authority) => (authority instanceof LocalTsa ? headsIn(authority.lastStamped) : [])),
]

/**
 * Throws `CORRUPT` if the local ledger ends before an anchor that it has confirmed. The records hold the anchor, so the
 * ledger alone was set back, and what it said to others meanwhile would be said again in another way.
 */
export async function assertLedgerComplete(records: RecordStore, ledger: LocalLedger): Promise<void> {
  const confirmedSize = await confirmedSizeOn('local', records)
  const { size } = headsIn(ledger.newestInput)[0] ?? { size: 0 }
  if (size >= confirmedSize) return
  throw new RegistryError(
    'CORRUPT',
    `The local ledger was set back: a tree of ${confirmedSize} entries is confirmed in it, but it ends with one of ` +
      `${size}. Restore the newest ledger/blocks.jsonl, or open the registry read-only ` +
      '(EVIDENCE_READ_ONLY=true). Nothing was written',
  )
}

/**
 * The tree of a checkpoint, as a list of at most one. Requires a checkpoint that was read from our ledger or our
 * authority.
 */
export function headsIn(checkpoint: Uint8Array | undefined): readonly SignedHead[] {
  if (checkpoint === undefined) return []
  const { size, root } = parseCheckpoint(new TextDecoder().decode(checkpoint))
  return [{ size, root }]
}
