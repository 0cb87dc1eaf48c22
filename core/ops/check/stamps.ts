import { createHash } from 'node:crypto'
import { encodeUtf8, sha256, toHex } from '../../bytes.ts'
import { entryOf, tokenOpening } from '../../commitment/log-entry.ts'
import { distinctTokens } from '../../log/attestation-rules.ts'
import { logKeys } from '../../log/keys.ts'
import type { StampRecord } from '../../log/records.ts'
import type { Key, Stored } from '../../ports/index.ts'
import type { AttestationVerifier } from './attestation-verifier.ts'
import type { Check } from './check.ts'
import { pagesOf } from './pages.ts'
import { isStampHistory, type FirstStamp } from './trust-history.ts'
import { storedBase64 } from '../../store/codec.ts'
import { putRecord } from '../../store/entries.ts'

/**
 * Compares every stamp with its checkpoint and the log, and with the history of the authorities.
 *
 * @param tokenEntries how many entries of the log belong to tokens; `undefined` if that is not known
 */
export async function checkStamps(
  check: Check,
  tokenEntries: number | undefined,
  verifier: AttestationVerifier | undefined,
): Promise<void> {
  let tokens = 0
  let newest: number | undefined
  let hasQuorum = false
  const { periods } = (await check.read('stamp', logKeys.stampHistory())) ?? { periods: [] }
  const firsts = new Map<string, FirstStamp>()
  for (const range of [logKeys.stamps(), logKeys.partialStamps()])
    for await (const page of pagesOf(check, range))
      for (const entry of page) {
        const stamp = check.decode('stamp', entry)
        if (stamp === undefined) continue
        const entries = await checkStamp(check, entry.key, stamp)
        for (const token of stamp.tokens) await checkToken(check, entry.key, { stamp, token, verifier })
        tokens += entries.length
        for (const [i, token] of stamp.tokens.entries()) {
          const begun = periods.find((period) => period.entry === entries[i])
          if (begun !== undefined) firsts.set(begun.entry, { stamp, token })
        }
        newest = Math.max(newest ?? 0, stamp.size)
        hasQuorum ||= stamp.quorum !== undefined
      }
  const message = `The stamps have ${tokens} tokens, the log has ${tokenEntries}`
  check.expect(tokenEntries === undefined || tokens === tokenEntries, 'stamp', 'st', message)
  await checkHead(check, newest)
  const key = logKeys.stampHistory()
  check.guard('stamp', key, () => {
    const isRight = (!hasQuorum || periods.length > 0) && isStampHistory(periods, firsts)
    check.expect(isRight, 'stamp', key, 'It does not name the authorities of all stamps')
  })
}

/** The head names a stamp, and is there if there is any stamp. `newest`: the size of the newest stamp. */
async function checkHead(check: Check, newest: number | undefined): Promise<void> {
  const key = logKeys.stampHead()
  const head = await check.read('stamp', key)
  await check.guardAsync('stamp', key, async () => {
    const named = head === undefined ? [] : [logKeys.stamp(head.size), logKeys.partialStamp(head.size)]
    const stamp = (await check.records.get(named)).find((entry) => entry !== undefined)
    if ((stamp === undefined) === (newest === undefined) && (head === undefined) === (stamp === undefined)) return
    const right = newest === undefined ? null : putRecord(key, { size: newest }).value
    check.report('index', key, 'The head of the stamps does not name a stamp', right)
  })
}

/** Returns the log entries (hex) of the stamp's tokens, none if they cannot be read. */
async function checkStamp(check: Check, key: Key, stamp: StampRecord): Promise<readonly string[]> {
  const expect = (holds: boolean, message: string): void => check.expect(holds, 'stamp', key, message)
  const checkpoint = await check.read('checkpoint', logKeys.checkpoint(stamp.size))
  const ownKey = (stamp.quorum === undefined ? logKeys.partialStamp : logKeys.stamp)(stamp.size)
  expect(checkpoint?.note === stamp.checkpoint && key === ownKey, 'It does not stamp the checkpoint of its size')
  const openings = check.guard('stamp', key, () => {
    const hasQuorum = distinctTokens(stamp.tokens).length >= (stamp.quorum ?? 0)
    expect(hasQuorum, 'It has no quorum of distinct authorities')
    return stamp.tokens.map(({ hashAlgorithm, imprint, token }) => {
      const digest = createHash(hashAlgorithm).update(stamp.checkpoint, 'utf8').digest('hex')
      expect(imprint === digest, 'It stamps something other than its checkpoint')
      return tokenOpening(storedBase64(token, 'A token'))
    })
  })
  const entries = (openings ?? []).map(entryOf)
  for (const position of await check.records.positionsOf(entries))
    expect(position !== undefined, 'Its token is not in the log')
  return entries.map(toHex)
}

interface TokenOfStamp extends FirstStamp {
  readonly verifier: AttestationVerifier | undefined
}

/** Compares the validation data of a token with its hashes, and verifies the token with it. */
async function checkToken(check: Check, key: Key, { stamp, token, verifier }: TokenOfStamp): Promise<void> {
  const stored = await check.records.get(token.evidence.map(({ sha256: hash }) => logKeys.validationData(hash)))
  const validationData = token.evidence.flatMap(({ type, sha256: hash }, i) => {
    const der = stored[i]?.value
    const isSame = der !== undefined && toHex(sha256(der)) === hash
    check.expect(isSame, 'stamp', key, 'The validation data of its token is missing or changed')
    return der === undefined ? [] : [{ type, der }]
  })
  check.guard('stamp', key, () =>
    verifier?.verifyToken({
      ...token,
      response: storedBase64(token.token, 'A token'),
      stamped: encodeUtf8(stamp.checkpoint),
      validationData,
    }),
  )
}

/** Checks that pieces of validation data are stored under their hashes. */
export function checkValidationData(check: Check, page: readonly Stored[]): void {
  for (const { key, value } of page) {
    const isRight = key === logKeys.validationData(toHex(sha256(value)))
    check.expect(isRight, 'stamp', key, 'It is not stored under its own hash')
  }
}
