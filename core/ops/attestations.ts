import { createHash } from 'node:crypto'
import { encodeUtf8, fromBase64, sha256, toHex } from '../bytes.ts'
import { entryOf, tokenOpening } from '../commitment/log-entry.ts'
import { logKeys } from '../log/keys.ts'
import type { CheckpointRecord, StampHeadRecord, StampRecord, StampToken } from '../log/records.ts'
import { distinctTokens } from '../log/stamp-claim.ts'
import type { Key } from '../ports/index.ts'
import { encodeRecord } from '../store/record-codec.ts'
import type { AttestationVerifier } from './attestation-verifier.ts'
import { checkAnchors } from './anchors.ts'
import type { Check } from './check.ts'

/**
 * Checks that checkpoints, stamps and anchors belong to a batch, and that the log contains the tokens. `tokenEntries`:
 * how many entries of the log belong to tokens; `undefined` if that is not known.
 */
export async function checkAttestations(
  check: Check,
  tokenEntries: number | undefined,
  verifier: AttestationVerifier | undefined,
): Promise<void> {
  await checkCheckpoints(check)
  await checkStamps(check, tokenEntries, verifier)
  await checkValidationData(check)
  await checkAnchors(check, verifier)
}

async function checkCheckpoints(check: Check): Promise<void> {
  for await (const page of check.pages(logKeys.checkpoints())) {
    const checkpoints = page.map((entry) => check.decode<CheckpointRecord>('checkpoint', entry))
    const batches = await check.records.get(checkpoints.map((checkpoint) => logKeys.batch(checkpoint?.size ?? 0)))
    for (const [i, { key }] of page.entries()) {
      const checkpoint = checkpoints[i]
      const isRight = checkpoint !== undefined && key === logKeys.checkpoint(checkpoint.size)
      check.expect(isRight && batches[i] !== undefined, 'checkpoint', key, 'It has no batch')
    }
  }
}

/** Checks every stamp, and that the log has as many token entries as the stamps have tokens. */
async function checkStamps(
  check: Check,
  tokenEntries: number | undefined,
  verifier: AttestationVerifier | undefined,
): Promise<void> {
  let tokens = 0
  let newest: number | undefined
  for (const range of [logKeys.stampsFrom(0), logKeys.partialStamps()])
    for await (const page of check.pages(range))
      for (const entry of page) {
        const stamp = check.decode<StampRecord>('stamp', entry)
        if (stamp === undefined) continue
        tokens += await checkStamp(check, entry.key, stamp)
        if (stamp.quorum !== undefined) newest = stamp.size
        if (verifier !== undefined) await verifyTokens(check, entry.key, { stamp, verifier })
      }
  const message = `The stamps have ${tokens} tokens, the log has ${tokenEntries}`
  check.expect(tokenEntries === undefined || tokens === tokenEntries, 'stamp', 'st', message)
  await checkStampHead(check, newest)
}

/** The head names a stamp, and is there if there is any stamp. `newest`: the size of the newest stamp. */
async function checkStampHead(check: Check, newest: number | undefined): Promise<void> {
  const key = logKeys.stampHead()
  const head = await check.read<StampHeadRecord>('stamp', key)
  await check.guardAsync('stamp', key, async () => {
    const [stamp] = head === undefined ? [] : await check.records.get([logKeys.stamp(head.size)])
    check.expectDerived(
      (stamp === undefined) === (newest === undefined) && (head === undefined) === (stamp === undefined),
      {
        kind: 'index',
        key,
        message: 'The head of the stamps does not name a stamp',
        repair: newest === undefined ? null : encodeRecord({ size: newest } satisfies StampHeadRecord),
      },
    )
  })
}

/** Returns the number of tokens in the stamp, 0 if it cannot be read. */
async function checkStamp(check: Check, key: Key, stamp: StampRecord): Promise<number> {
  const checkpoint = await check.read<CheckpointRecord>('checkpoint', logKeys.checkpoint(stamp.size))
  const ownKey = (stamp.quorum === undefined ? logKeys.partialStamp : logKeys.stamp)(stamp.size)
  const isRight = checkpoint?.note === stamp.checkpoint && key === ownKey
  check.expect(isRight, 'stamp', key, 'It does not stamp the checkpoint of its size')
  const openings = check.guard('stamp', key, () => {
    const hasQuorum = distinctTokens(stamp.tokens).length >= (stamp.quorum ?? 0)
    check.expect(hasQuorum, 'stamp', key, 'It has no quorum of distinct authorities')
    return stamp.tokens.map((token) => checkToken(check, key, stamp, token))
  })
  await checkTokenData(check, key, stamp)
  for (const opening of openings ?? []) {
    const [position] = await check.records.positionsOf([entryOf(opening)])
    check.expect(position !== undefined, 'stamp', key, 'Its token is not in the log')
  }
  return openings?.length ?? 0
}

/** Verifies the signature of each token, with the validation data that is stored. */
async function verifyTokens(
  check: Check,
  key: Key,
  { stamp, verifier }: { readonly stamp: StampRecord; readonly verifier: AttestationVerifier },
): Promise<void> {
  for (const token of stamp.tokens) {
    const stored = await check.records.get(token.evidence.map(({ sha256: hash }) => logKeys.validationData(hash)))
    const validationData = token.evidence.flatMap(({ type }, i) => {
      const der = stored[i]?.value
      return der === undefined ? [] : [{ type, der }]
    })
    check.guard('stamp', key, () =>
      verifier.verifyToken({
        ...token,
        response: fromBase64(token.token) ?? new Uint8Array(),
        stamped: encodeUtf8(stamp.checkpoint),
        validationData,
      }),
    )
  }
}

/** Returns the opening of the token. Throws if its base64 is damaged. */
function checkToken(check: Check, key: string, { checkpoint }: StampRecord, token: StampToken): Uint8Array {
  const digest = createHash(token.hashAlgorithm).update(checkpoint, 'utf8').digest('hex')
  check.expect(token.imprint === digest, 'stamp', key, 'It stamps something other than its checkpoint')
  const response = fromBase64(token.token)
  if (response === undefined) throw new TypeError('a token is not base64')
  return tokenOpening(response)
}

async function checkTokenData(check: Check, key: string, { tokens }: StampRecord): Promise<void> {
  for (const { sha256: hash } of tokens.flatMap(({ evidence }) => evidence)) {
    const stored = await check.get(logKeys.validationData(hash))
    const isSame = stored !== undefined && toHex(sha256(stored.value)) === hash
    check.expect(isSame, 'stamp', key, 'The validation data of its token is missing or changed')
  }
}

async function checkValidationData(check: Check): Promise<void> {
  for await (const page of check.pages(logKeys.allValidationData()))
    for (const { key, value } of page) {
      const isRight = key === logKeys.validationData(toHex(sha256(value)))
      check.expect(isRight, 'stamp', key, 'It is not stored under its own hash')
    }
}
