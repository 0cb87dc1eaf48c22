import { logKeys } from '../../log/keys.ts'
import { withSignatures } from '../../log/note.ts'
import type { CosignedRecord } from '../../log/records.ts'
import type { StoredRecord } from '../../store/keys.ts'
import { parseCosigned, verifyCosignature, type VerifyMlDsa44 } from '../../verify/cosignatures.ts'
import { SignatureBudget } from '../../verify/untrusted.ts'
import type { Check } from './check.ts'

/** Checks that the lines that are stored of each witness cosign the checkpoint of their size. */
export async function checkCosignatures(
  check: Check,
  mlDsa44: VerifyMlDsa44 | undefined,
  page: readonly StoredRecord<CosignedRecord>[],
): Promise<void> {
  for (const entry of page) {
    const { key } = entry
    const { size, cosignatures } = check.decode('cosignature', entry) ?? { size: 0, cosignatures: [] }
    const checkpoint = await check.read('checkpoint', logKeys.checkpoint(size))
    if (checkpoint === undefined) continue
    check.expect(key === logKeys.cosigned(size), 'cosignature', key, 'It is stored under another size')
    for (const { vkey, first, newest } of cosignatures)
      for (const line of new Set([first, newest]))
        check.guard('cosignature', key, () => {
          const note = withSignatures(checkpoint.note, [line])
          check.expect(isCosigned(note, vkey, mlDsa44), 'cosignature', key, `It holds a line that is not of ${vkey}`)
        })
  }
}

/** Whether a note has a cosignature of a witness, or one that cannot be checked. Throws if it does not verify. */
function isCosigned(note: string, vkey: string, mlDsa44: VerifyMlDsa44 | undefined): boolean {
  let isUnchecked = false
  const run = { budget: new SignatureBudget(), doubt: () => void (isUnchecked = true) }
  const held = verifyCosignature(parseCosigned(note), { name: vkey, vkey }, { run, cost: 1, mlDsa44 })
  return held !== undefined || isUnchecked
}
