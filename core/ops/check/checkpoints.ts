import { encodeUtf8, equalBytes, toHex } from '../../bytes.ts'
import { logKeys } from '../../log/keys.ts'
import type { CheckpointRecord } from '../../log/records.ts'
import { verifyCheckpointUnder } from '../../verify/checkpoint.ts'
import type { LogKey } from '../../verify/log.ts'
import type { Check } from './check.ts'
import type { StoredRecord } from '../../store/keys.ts'
import { readAll } from '../../store/read.ts'

/**
 * Checks that each checkpoint is that of a batch, and signed by the key of its size. `signers`: `undefined` if they are
 * not known.
 */
export async function checkCheckpoints(
  check: Check,
  signers: readonly LogKey[] | undefined,
  page: readonly StoredRecord<CheckpointRecord>[],
): Promise<void> {
  const checkpoints = page.map((entry) => check.decode('checkpoint', entry))
  const batches = await readAll(
    check.records,
    checkpoints.map((checkpoint) => logKeys.batch(checkpoint?.size ?? 0)),
  )
  for (const [i, { key }] of page.entries()) {
    const checkpoint = checkpoints[i]
    const batch = check.decode('batch', batches[i])
    if (checkpoint === undefined) continue
    const { size, root, note } = checkpoint
    const isOfBatch = key === logKeys.checkpoint(size) && batch?.root === root
    check.expect(isOfBatch, 'checkpoint', key, 'It is not the checkpoint of a batch')
    if (signers === undefined) continue
    check.guard('checkpoint', key, () => {
      const signed = verifyCheckpointUnder(note, signers)
      const isSame =
        signed.size === size && toHex(signed.root) === root && equalBytes(signed.noteBytes, encodeUtf8(note))
      check.expect(isSame, 'checkpoint', key, 'The signed note has another size or root, or another signature')
    })
  }
}
