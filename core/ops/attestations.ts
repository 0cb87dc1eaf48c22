import { createHash } from 'node:crypto'
import { encodeUtf8, sha256, toHex } from '../bytes.ts'
import { entryOf, tokenOpening } from '../commitment/log-entry.ts'
import { logKeys } from '../log/keys.ts'
import { LogReader } from '../log/reader.ts'
import {
  type StampRecord,
  type StampToken,
  NO_ANCHORS,
  type AnchorConfirmation,
  type AnchorRecord,
} from '../log/records.ts'
import { distinctTokens } from '../log/attestation-rules.ts'
import type { AnchorInfo, Key, RecordStore, ValidationData } from '../ports/index.ts'
import { putRecord } from '../store/entries.ts'
import { storedBase64 } from '../store/codec.ts'
import type { Check } from './check.ts'
import { AccountHistory, isStampHistory, type FirstStamp } from './trust-history.ts'

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
    const checkpoints = page.map((entry) => check.decode('checkpoint', entry))
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
  let hasQuorum = false
  const { periods } = (await check.read('stamp', logKeys.stampHistory())) ?? { periods: [] }
  const firsts = new Map<string, FirstStamp>()
  for (const range of [logKeys.stamps(), logKeys.partialStamps()])
    for await (const page of check.pages(range))
      for (const entry of page) {
        const stamp = check.decode('stamp', entry)
        if (stamp === undefined) continue
        const entries = await checkStamp(check, entry.key, stamp)
        tokens += entries.length
        for (const [i, token] of stamp.tokens.entries()) {
          const begun = periods.find((period) => period.entry === entries[i])
          if (begun !== undefined) firsts.set(begun.entry, { stamp, token })
        }
        newest = Math.max(newest ?? 0, stamp.size)
        hasQuorum ||= stamp.quorum !== undefined
        if (verifier !== undefined) await verifyTokens(check, entry.key, { stamp, verifier })
      }
  const message = `The stamps have ${tokens} tokens, the log has ${tokenEntries}`
  check.expect(tokenEntries === undefined || tokens === tokenEntries, 'stamp', 'st', message)
  await checkStampHead(check, newest)
  const key = logKeys.stampHistory()
  check.guard('stamp', key, () => {
    const isRight = (!hasQuorum || periods.length > 0) && isStampHistory(periods, firsts)
    check.expect(isRight, 'stamp', key, 'It does not name the authorities of all stamps')
  })
}

/** The head names a stamp, and is there if there is any stamp. `newest`: the size of the newest stamp. */
async function checkStampHead(check: Check, newest: number | undefined): Promise<void> {
  const key = logKeys.stampHead()
  const head = await check.read('stamp', key)
  await check.guardAsync('stamp', key, async () => {
    const keys = head === undefined ? [] : [logKeys.stamp(head.size), logKeys.partialStamp(head.size)]
    const stamp = (await check.records.get(keys)).find((entry) => entry !== undefined)
    check.expectDerived(
      (stamp === undefined) === (newest === undefined) && (head === undefined) === (stamp === undefined),
      {
        kind: 'index',
        key,
        message: 'The head of the stamps does not name a stamp',
        repair: newest === undefined ? null : putRecord(key, { size: newest }).value,
      },
    )
  })
}

/** Returns the log entries (hex) of the stamp's tokens, none if they cannot be read. */
async function checkStamp(check: Check, key: Key, stamp: StampRecord): Promise<readonly string[]> {
  const checkpoint = await check.read('checkpoint', logKeys.checkpoint(stamp.size))
  const ownKey = (stamp.quorum === undefined ? logKeys.partialStamp : logKeys.stamp)(stamp.size)
  const isRight = checkpoint?.note === stamp.checkpoint && key === ownKey
  check.expect(isRight, 'stamp', key, 'It does not stamp the checkpoint of its size')
  const openings = check.guard('stamp', key, () => {
    const hasQuorum = distinctTokens(stamp.tokens).length >= (stamp.quorum ?? 0)
    check.expect(hasQuorum, 'stamp', key, 'It has no quorum of distinct authorities')
    return stamp.tokens.map((token) => checkToken(check, key, stamp, token))
  })
  await checkTokenData(check, key, stamp)
  const entries = (openings ?? []).map(entryOf)
  for (const entry of entries) {
    const [position] = await check.records.positionsOf([entry])
    check.expect(position !== undefined, 'stamp', key, 'Its token is not in the log')
  }
  return entries.map(toHex)
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
        response: storedBase64(token.token, 'A token'),
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
  return tokenOpening(storedBase64(token.token, 'A token'))
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

/** Checks every anchor against its checkpoint, and the head against the anchors. */
export async function checkAnchors(check: Check, verifier?: AttestationVerifier): Promise<void> {
  const key = logKeys.anchorHead()
  const head = (await check.read('anchor', key)) ?? NO_ANCHORS
  const accounts = check.guard('anchor', key, () => new AccountHistory(head.accounts))
  let confirmedSize = 0
  let outstanding: number | null = null
  // In the order of their sizes.
  for await (const page of check.pages(logKeys.anchors()))
    for (const entry of page) {
      const anchor = check.decode('anchor', entry)
      if (anchor === undefined) continue
      await compareCheckpoint(check, entry.key, anchor)
      check.guard('anchor', key, () => accounts?.add(anchor))
      if (anchor.state === 'prepared' || anchor.state === 'sent') {
        check.expect(outstanding === null, 'anchor', entry.key, 'More than one anchor is outstanding')
        outstanding ??= anchor.size
      }
      if (anchor.confirmation === undefined) continue
      if (verifier !== undefined) verifyAnchor(check, entry.key, { anchor, verifier })
      confirmedSize = anchor.size
    }
  const isRight =
    head.confirmedSize === confirmedSize && head.outstanding === outstanding && head.sentSize >= confirmedSize
  check.expect(isRight, 'anchor', key, 'The head of the anchors does not agree with the anchors')
  const isOfAnchors = check.guard('anchor', key, () => accounts?.isRight) ?? true
  check.expect(isOfAnchors, 'anchor', key, 'It does not name the accounts of all anchors')
  for (const size of head.unsettled) {
    const anchor = await check.read('anchor', logKeys.anchor(size))
    const message = 'The head of the anchors has it as confirmed and unsettled, but it is not confirmed'
    check.expect(anchor?.state === 'confirmed', 'anchor', logKeys.anchor(size), message)
  }
}

async function compareCheckpoint(check: Check, key: Key, anchor: AnchorRecord): Promise<void> {
  const checkpoint = await check.read('checkpoint', logKeys.checkpoint(anchor.size))
  const isRight =
    checkpoint?.note === anchor.checkpoint &&
    checkpoint.root === anchor.root &&
    key === logKeys.anchor(anchor.size) &&
    (anchor.state === 'confirmed') === (anchor.confirmation !== undefined)
  check.expect(isRight, 'anchor', key, 'It does not anchor the checkpoint of its size, or its state is wrong')
}

/** Verifies the proof of a confirmed anchor. */
function verifyAnchor(
  check: Check,
  key: Key,
  { anchor, verifier }: { readonly anchor: AnchorRecord; readonly verifier: AttestationVerifier },
): void {
  const { size, info, checkpoint, confirmation } = anchor
  check.guard('anchor', key, () => {
    if (confirmation === undefined) return
    const { confirmations: _, evidence, ...block } = confirmation
    const proof = storedBase64(evidence, 'The proof of an anchor')
    verifier.verifyAnchor({ info, checkpoint: encodeUtf8(checkpoint), proof, ...block })
  })
  const { localLedgerSize = Infinity } = verifier
  const isInLedger = info.type !== 'local' || size <= localLedgerSize
  check.expect(isInLedger, 'anchor', key, 'It is confirmed, but the local ledger ends before it')
}

/** The size of the largest tree that is confirmed, if that is on a chain of this type; otherwise 0. */
export async function confirmedSizeOn(type: AnchorInfo['type'], records: RecordStore): Promise<number> {
  const log = new LogReader(records)
  const { confirmedSize } = await log.anchorHead()
  const anchor = confirmedSize === 0 ? undefined : await log.anchor(confirmedSize)
  return anchor?.info.type === type ? confirmedSize : 0
}

/** A token of a stamp, with what the stamp says about it. */
export interface TokenToVerify extends Pick<
  StampToken,
  'authority' | 'genTime' | 'policy' | 'serialNumber' | 'trustAnchors'
> {
  /** DER of the TimeStampResp. */
  readonly response: Uint8Array
  /** The checkpoint that it must stamp. */
  readonly stamped: Uint8Array
  /** The validation data that was stored with it. */
  readonly validationData: readonly ValidationData[]
}

/** The proof of a confirmed anchor, with what the anchor says about it. */
export interface AnchorToVerify extends Omit<AnchorConfirmation, 'confirmations' | 'evidence'> {
  readonly info: AnchorInfo
  /** The anchored checkpoint. */
  readonly checkpoint: Uint8Array
  /** The inclusion proof of the chain's adapter. */
  readonly proof: Uint8Array
}

/**
 * Verifies tokens and anchors, which takes parsers of ASN.1 and of chains that the core does not load. Both methods
 * throw if something does not verify, or differs from what the record says about it.
 */
export interface AttestationVerifier {
  verifyToken(token: TokenToVerify): void
  verifyAnchor(anchor: AnchorToVerify): void
  /** The size of the newest checkpoint in the local ledger, `undefined` if there is no local ledger. */
  readonly localLedgerSize?: number | undefined
}
