import { createHash } from 'node:crypto'
import { encodeUtf8, sha256, toHex } from '../bytes.ts'
import { entryOf, tokenOpening } from '../commitment/log-entry.ts'
import { logKeys } from '../log/keys.ts'
import { LogReader } from '../log/reader.ts'
import {
  type StampRecord,
  type StampToken,
  NO_ANCHORS,
  type AnchorHeadRecord,
  type AnchorConfirmation,
  type AnchorRecord,
  type ConfirmedAnchorRecord,
} from '../log/records.ts'
import { distinctTokens } from '../log/attestation-rules.ts'
import type { AnchorInfo, Key, RecordStore, ValidationData } from '../ports/index.ts'
import type { StoredRecord } from '../store/keys.ts'
import { listRecords, putRecord, storedBase64 } from '../store/read.ts'
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
  const { periods } = (await check.read('stamp', logKeys.stampHistory())) ?? { periods: [] }
  const firsts = new Map<string, FirstStamp>()
  for (const range of [logKeys.stampsFrom(0), logKeys.partialStamps()])
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
        if (stamp.quorum !== undefined) newest = stamp.size
        if (verifier !== undefined) await verifyTokens(check, entry.key, { stamp, verifier })
      }
  const message = `The stamps have ${tokens} tokens, the log has ${tokenEntries}`
  check.expect(tokenEntries === undefined || tokens === tokenEntries, 'stamp', 'st', message)
  await checkStampHead(check, newest)
  const key = logKeys.stampHistory()
  check.guard('stamp', key, () => {
    const isRight = (newest === undefined || periods.length > 0) && isStampHistory(periods, firsts)
    check.expect(isRight, 'stamp', key, 'It does not name the authorities of all stamps')
  })
}

/** The head names a stamp, and is there if there is any stamp. `newest`: the size of the newest stamp. */
async function checkStampHead(check: Check, newest: number | undefined): Promise<void> {
  const key = logKeys.stampHead()
  const head = await check.read('stamp', key)
  await check.guardAsync('stamp', key, async () => {
    const [stamp] = head === undefined ? [] : await check.records.get([logKeys.stamp(head.size)])
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

/** Checks every anchor against its checkpoint, and the index of blocks and the head against the anchors. */
export async function checkAnchors(check: Check, verifier?: AttestationVerifier): Promise<void> {
  const head = (await check.read('anchor', logKeys.anchorHead())) ?? NO_ANCHORS
  const anchors = new AnchorCheck(check, head, verifier)
  for await (const page of check.pages(logKeys.anchorsFrom(0))) for (const entry of page) await anchors.add(entry)
  await anchors.finish()
}

/** Takes the anchors in the order of their sizes, which is also that of the index. */
class AnchorCheck {
  readonly #check: Check
  readonly #head: AnchorHeadRecord
  readonly #accounts: AccountHistory
  readonly #verifier: AttestationVerifier | undefined
  readonly #blocks: AsyncIterator<StoredRecord<ConfirmedAnchorRecord>>
  #confirmedSize = 0
  #outstanding: number | null = null

  constructor(check: Check, head: AnchorHeadRecord, verifier: AttestationVerifier | undefined) {
    this.#check = check
    this.#head = head
    this.#accounts = new AccountHistory(head.accounts)
    this.#verifier = verifier
    this.#blocks = listRecords(check.records, logKeys.confirmedAnchorsFrom(0))[Symbol.asyncIterator]()
  }

  async add(entry: StoredRecord<AnchorRecord>): Promise<void> {
    const anchor = this.#check.decode('anchor', entry)
    if (anchor === undefined) return
    await this.#compareCheckpoint(entry.key, anchor)
    this.#check.guard('anchor', logKeys.anchorHead(), () => this.#accounts.add(anchor))
    if (anchor.state === 'prepared' || anchor.state === 'sent') {
      const isOnlyOne = this.#outstanding === null
      this.#check.expect(isOnlyOne, 'anchor', entry.key, 'More than one anchor is outstanding')
      this.#outstanding ??= anchor.size
    }
    if (anchor.confirmation === undefined) return
    this.#verify(entry.key, anchor, anchor.confirmation)
    this.#confirmedSize = anchor.size
    await this.#expectNextBlock({ size: anchor.size, blockNumber: anchor.confirmation.blockNumber })
  }

  async finish(): Promise<void> {
    const { value: extra, done } = await this.#blocks.next()
    if (done !== true) this.#check.report('anchor', extra.key, 'It is the block of no confirmed anchor')
    const key = logKeys.anchorHead()
    const head = this.#head
    const isRight =
      head.confirmedSize === this.#confirmedSize &&
      head.outstanding === this.#outstanding &&
      head.sentSize >= this.#confirmedSize
    this.#check.expect(isRight, 'anchor', key, 'The head of the anchors does not agree with the anchors')
    const isOfAnchors = this.#check.guard('anchor', key, () => this.#accounts.isRight) ?? true
    this.#check.expect(isOfAnchors, 'anchor', key, 'It does not name the accounts of all anchors')
    for (const size of head.unsettled) await this.#expectConfirmed(size)
  }

  #verify(key: string, { size, info, checkpoint }: AnchorRecord, confirmation: AnchorConfirmation): void {
    const verifier = this.#verifier
    if (verifier === undefined) return
    const { ref, blockNumber, blockHash, blockTime, evidence } = confirmation
    this.#check.guard('anchor', key, () => {
      const proof = storedBase64(evidence, 'The proof of an anchor')
      verifier.verifyAnchor({
        info,
        checkpoint: encodeUtf8(checkpoint),
        proof,
        ref,
        blockNumber,
        blockHash,
        blockTime,
      })
    })
    const { localLedgerSize = Infinity } = verifier
    const isInLedger = info.type !== 'local' || size <= localLedgerSize
    this.#check.expect(isInLedger, 'anchor', key, 'It is confirmed, but the local ledger ends before it')
  }

  async #compareCheckpoint(key: string, anchor: AnchorRecord): Promise<void> {
    const checkpoint = await this.#check.read('checkpoint', logKeys.checkpoint(anchor.size))
    const isRight =
      checkpoint?.note === anchor.checkpoint &&
      checkpoint.root === anchor.root &&
      key === logKeys.anchor(anchor.size) &&
      (anchor.state === 'confirmed') === (anchor.confirmation !== undefined)
    this.#check.expect(isRight, 'anchor', key, 'It does not anchor the checkpoint of its size, or its state is wrong')
  }

  async #expectNextBlock({ size, blockNumber }: ConfirmedAnchorRecord): Promise<void> {
    const { value, done } = await this.#blocks.next()
    const confirmed = done === true ? undefined : this.#check.decode('anchor', value)
    const isRight = confirmed?.size === size && confirmed.blockNumber === blockNumber
    const key = logKeys.confirmedAnchor(size)
    this.#check.expect(isRight, 'anchor', key, 'It is not the block of the confirmed anchor of its size')
  }

  async #expectConfirmed(size: number): Promise<void> {
    const key = logKeys.anchor(size)
    const anchor = await this.#check.read('anchor', key)
    const message = 'The head of the anchors has it as confirmed and unsettled, but it is not confirmed'
    this.#check.expect(anchor?.state === 'confirmed', 'anchor', key, message)
  }
}

/** The size of the largest tree that is confirmed, if that is on a chain of this type; otherwise 0. */
export async function confirmedSizeOn(type: AnchorInfo['type'], records: RecordStore): Promise<number> {
  const log = new LogReader(records)
  const { confirmedSize } = await log.anchorHead()
  const anchor = confirmedSize === 0 ? undefined : await log.anchor(confirmedSize)
  return anchor?.info.type === type ? confirmedSize : 0
}

/** A token of a stamp, with what the stamp says about it. */
export interface TokenToVerify {
  /** DER of the TimeStampResp. */
  readonly response: Uint8Array
  /** The checkpoint that it must stamp. */
  readonly stamped: Uint8Array
  /** The validation data that was stored with it. */
  readonly validationData: readonly ValidationData[]
  /** SHA-256 (hex) of the public keys that its certificates lead to. */
  readonly trustAnchors: readonly string[]
  readonly authority: string
  /** ms since 1970. */
  readonly genTime: number
  /** Hex. */
  readonly serialNumber: string
  /** Dotted OID. */
  readonly policy: string
}

/** The proof of a confirmed anchor, with what the anchor says about it. */
export interface AnchorToVerify {
  readonly info: AnchorInfo
  /** The anchored checkpoint. */
  readonly checkpoint: Uint8Array
  /** The inclusion proof of the chain's adapter. */
  readonly proof: Uint8Array
  /** The hash of the transaction. */
  readonly ref: string
  readonly blockNumber: number
  readonly blockHash: string
  /** ms since 1970. */
  readonly blockTime: number
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
