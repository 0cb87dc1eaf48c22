import { fromBase64, fromHex, toBase64, toHex } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import { isId } from '../ids.ts'
import { keys } from '../keys.ts'
import type { LogPlace, LogReader } from '../log/reader.ts'
import type { AnchorRecord, BatchRecord, StampRecord, StampToken } from '../log/records.ts'
import { claimOf, type StampClaim } from '../log/stamp-claim.ts'
import type { Proofs } from '../registry.ts'
import {
  ExternalId,
  MerkleValidationRequest,
  type AnchorProof,
  type AssuranceNote,
  type EventMerkleProof,
  type EvidenceProof,
  type FileProof,
  type MerkleProof,
  type MerkleRoot,
  type MerkleValidation,
  type ProofItem,
  type TsaProof,
} from '../schemas.ts'
import { leafHash } from '../tree/hasher.ts'
import { rootFromInclusionProof, rootFromSides, sidesOf } from '../tree/proof.ts'
import { validate } from '../validation.ts'
import { read, rfc3339, type Context } from './context.ts'
import { decodeTransaction, openEvent, type Transaction } from './event.ts'
import { readFile } from './files.ts'
import { decodeRecord, type EventRecord, type EvidenceRecord } from './records.ts'

/** What anyone may ask, without a key. Answers never hold a name, owner, text, meta, company, category, or anything of a file but its id. */
export class RegistryProofs implements Proofs {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  async validate(request: MerkleValidationRequest): Promise<MerkleValidation> {
    const { txId, merkleRoot, proof } = validate(MerkleValidationRequest, request)
    const { log } = this.#context
    const [[place], rootSize] = await Promise.all([log.placesOf([bytesOf(txId)]), log.sizeOfRoot(merkleRoot)])
    // A root that was sealed before the txId came cannot hold it: the path is then that of its own batch.
    const treeSize =
      place !== undefined && rootSize !== undefined && place.position < rootSize ? rootSize : place?.batch?.end
    const computed = computeRoot({ txId, proof, leafIndex: place?.position, treeSize })
    const known = {
      expectedRoot: merkleRoot,
      txIdKnown: place !== undefined,
      rootKnown: rootSize !== undefined,
      ...(place?.sendStatus && { sendStatus: place.sendStatus }),
    }
    const computedRoot = computed && toHex(computed.root)
    const valid = proof.length > 0 && computed?.sidesHold === true && computedRoot === merkleRoot
    const base = { valid, ...(computedRoot !== undefined && { computedRoot }), ...known }
    if (place === undefined && computed === undefined)
      return {
        status: 'not_found',
        ...base,
        error: 'This log does not hold the txId; without positions nothing can be computed',
        code: 'NOT_FOUND',
      }
    if (rootSize === undefined)
      return { status: 'unknown_root', ...base, error: 'This log never sealed that root', code: 'UNKNOWN_ROOT' }
    if (computed === undefined && place?.batch === null)
      return {
        status: 'pending',
        ...base,
        error: 'This txId is not in a batch yet; without positions nothing can be computed',
        code: 'PENDING',
      }
    if (valid) return { status: 'ok', ...base }
    return { status: 'ok', ...base, error: whyNot(proof, computed), code: 'VERIFICATION_FAILED' }
  }

  async evidence(evidenceId: string, companyId?: string): Promise<EvidenceProof> {
    const found = await this.#findEvidence(evidenceId, companyId)
    if (!('record' in found)) return { ...found, evidenceId }
    const { record } = found
    const [event, transaction] = [await this.#event(record.id, 1), await this.#transaction(record.txId)]
    const sealed = await this.#sealed(record.txId)
    return {
      status: sealed === undefined ? 'pending' : 'ok',
      evidenceId: record.externalId,
      txId: record.txId,
      ...(sealed?.blockNumber !== undefined && { blockNumber: sealed.blockNumber }),
      createdAt: rfc3339(event.time),
      fileCount: record.fileCount,
      ...sealedParts(sealed),
      opening: toHex(transaction.opening),
      assurance: assuranceOf(sealed),
    }
  }

  async file(evidenceId: string, fileId: string, companyId?: string): Promise<FileProof> {
    if (!isId(fileId)) return { ...invalid('fileId takes the id of a file: a UUID in lowercase'), evidenceId, fileId }
    const found = await this.#findEvidence(evidenceId, companyId)
    if (!('record' in found)) return { ...found, evidenceId, fileId }
    const { record } = found
    const file = await readFile(this.#context, fileId)
    if (file === undefined || file.record.ownerKind !== 'evidence' || file.record.ownerId !== record.id)
      return {
        status: 'not_found',
        evidenceId,
        fileId,
        error: 'This evidence has no such file',
        code: 'FILE_NOT_FOUND',
      }
    const event = await this.#event(record.id, file.record.version)
    const { opening, filesText, filesSalt } = openEvent(event, {
      origin: this.#context.origin,
      slotKey: record.slotKey,
    }).disclosure
    const sealed = await this.#sealed(event.txId)
    const deletion = 'deletion' in file.record ? await this.#deletion(record, file.record.deletion.version) : undefined
    return {
      status: deletion !== undefined ? 'deleted' : sealed === undefined ? 'pending' : 'ok',
      fileId,
      evidenceId: record.externalId,
      txId: event.txId,
      ...(sealed?.blockNumber !== undefined && { blockNumber: sealed.blockNumber }),
      eventTimestamp: rfc3339(event.time),
      ...sealedParts(sealed),
      opening,
      filesText,
      filesSalt,
      ...(deletion && { deletion }),
      assurance: assuranceOf(sealed),
    }
  }

  async proof(txId: string): Promise<MerkleProof> {
    const entry = hashOf(txId)
    if (entry === undefined) return { ...invalid(TXID_TAKES), txId }
    const opening = await this.#openingOf(entry)
    const [place] = await this.#context.log.placesOf([entry])
    if (place === undefined || opening === undefined) return { ...notInLog, txId }
    const sealed = await this.#seal(place)
    if (sealed === undefined)
      return { status: 'pending', txId, opening: toHex(opening), assurance: assuranceOf(sealed) }
    const { merkleRoot, leafIndex, proof, treeSize, batchId, sendStatus, checkpoint } = sealed.merkle
    return {
      status: 'ok',
      txId,
      merkleRoot,
      leafIndex,
      proof,
      treeSize,
      batchId,
      sendStatus,
      checkpoint,
      opening: toHex(opening),
      assurance: assuranceOf(sealed),
    }
  }

  async root(txId: string): Promise<MerkleRoot> {
    const entry = hashOf(txId)
    if (entry === undefined) return invalid(TXID_TAKES)
    const [place] = await this.#context.log.placesOf([entry])
    if (place === undefined) return notInLog
    const { batch, sendStatus } = place
    if (batch === null || sendStatus === null) return { status: 'pending' }
    const stamp = (await this.#claim(batch))?.token
    return {
      status: 'ok',
      merkleRoot: batch.root,
      txidCount: batch.end - batch.start,
      sendStatus,
      treeDepth: depthOf(batch.end),
      createdAt: rfc3339(batch.createdAt),
      ...(stamp && { tsaGenTime: rfc3339(stamp.genTime), tsaSerial: stamp.serialNumber, tsaPolicy: stamp.policy }),
      batchId: batch.id,
    }
  }

  async timestampToken(batchId: string): Promise<Uint8Array> {
    const batch = isId(batchId) ? await this.#context.log.batchById(batchId) : undefined
    if (batch === undefined) throw new RegistryError('BATCH_NOT_FOUND', 'There is no such batch')
    const token = (await this.#claim(batch))?.token
    if (token === undefined)
      throw new RegistryError('BATCH_NOT_FOUND', 'This batch has no timestamp yet; ask again later')
    return fromBase64(token.token) as Uint8Array
  }

  async openings(index: number, width: number): Promise<readonly string[] | undefined> {
    const packed = await this.#context.log.packedEntries(index, width)
    if (packed === undefined) return undefined
    const entries = Array.from({ length: width }, (_, i) => packed.subarray(32 * i, 32 * (i + 1)))
    const transactions = await this.#context.records.get(entries.map((entry) => keys.transaction(toHex(entry))))
    return Promise.all(
      entries.map(async (entry, i) => {
        const stored = transactions[i]
        const opening =
          stored === undefined ? await this.#context.log.otherOpening(entry) : decodeTransaction(stored.value).opening
        if (opening === undefined)
          throw new RegistryError('CORRUPT', `The opening of the log entry ${toHex(entry)} is missing`)
        return toHex(opening)
      }),
    )
  }

  /** What the first stamp that covers the batch claims, `undefined` where there is none yet. */
  async #claim(batch: BatchRecord): Promise<StampClaim | undefined> {
    const stamp = await this.#context.log.stampCovering(batch.end)
    return stamp && claimOf(stamp)
  }

  /** An internal id always wins; an external id must be one company's, or that of `companyId`. */
  async #findEvidence(
    evidenceId: string,
    companyId: string | undefined,
  ): Promise<{ readonly record: EvidenceRecord } | Refusal> {
    if (isId(evidenceId)) {
      const own = await read<EvidenceRecord>(this.#context, keys.evidence(evidenceId))
      if (own !== undefined) return own
    }
    try {
      validate(ExternalId, evidenceId)
    } catch {
      return invalid('evidenceId takes the external id of an evidence, or its id')
    }
    const ids: string[] = []
    if (companyId !== undefined) {
      const index = await read<{ id: string }>(this.#context, keys.externalId(evidenceId, companyId))
      if (index !== undefined) ids.push(index.record.id)
    } else {
      for await (const { value } of this.#context.records.list({ ...keys.externalIds(evidenceId), limit: 2 }))
        ids.push(decodeRecord<{ id: string }>(value).id)
    }
    if (ids.length > 1)
      return {
        status: 'ambiguous',
        error: 'Several evidences have this external id: ask by the internal id',
        code: 'AMBIGUOUS',
      }
    const found = ids[0] === undefined ? undefined : await read<EvidenceRecord>(this.#context, keys.evidence(ids[0]))
    return found ?? { status: 'not_found', error: 'There is no such evidence', code: 'EVIDENCE_NOT_FOUND' }
  }

  async #deletion({ id }: EvidenceRecord, version: number): Promise<NonNullable<FileProof['deletion']>> {
    const event = await this.#event(id, version)
    const sealed = await this.#sealed(event.txId)
    return {
      txId: event.txId,
      eventTimestamp: rfc3339(event.time),
      ...(sealed?.blockNumber !== undefined && { blockNumber: sealed.blockNumber }),
      ...sealedParts(sealed),
    }
  }

  async #event(evidenceId: string, version: number): Promise<EventRecord> {
    const event = await read<EventRecord>(this.#context, keys.event(evidenceId, version))
    if (event === undefined)
      throw new RegistryError('CORRUPT', `Version ${version} of evidence ${evidenceId} is missing`)
    return event.record
  }

  async #transaction(txId: string): Promise<Transaction> {
    const [entry] = await this.#context.records.get([keys.transaction(txId)])
    if (entry === undefined) throw new RegistryError('CORRUPT', `The record of transaction ${txId} is missing`)
    return decodeTransaction(entry.value)
  }

  async #openingOf(entry: Uint8Array): Promise<Uint8Array | undefined> {
    const [event] = await this.#context.records.get([keys.transaction(toHex(entry))])
    return event === undefined ? this.#context.log.otherOpening(entry) : decodeTransaction(event.value).opening
  }

  async #sealed(txId: string): Promise<Sealed | undefined> {
    const [place] = await this.#context.log.placesOf([bytesOf(txId)])
    return place && this.#seal(place)
  }

  /** What is known of a batched entry; `undefined` while its batch has no signed checkpoint yet. */
  async #seal({ position, batch, sendStatus }: LogPlace): Promise<Sealed | undefined> {
    if (batch === null || sendStatus === null) return undefined
    const { log } = this.#context
    const [checkpoint, proof, anchor, stamp] = await Promise.all([
      log.checkpoint(batch.end),
      log.inclusionProof(position, batch.end),
      log.anchorCovering(batch.end),
      log.stampCovering(batch.end),
    ])
    if (checkpoint === undefined) return undefined
    const sides = sidesOf(position, batch.end)
    const merkle: EventMerkleProof = {
      batchId: batch.id,
      merkleRoot: batch.root,
      leafIndex: position,
      treeSize: batch.end,
      sendStatus,
      proof: proof.map((hash, i): ProofItem => ({ hash: toHex(hash), position: sides[i] ?? 'right' })),
      checkpoint: checkpoint.note,
      ...(anchor?.confirmation && { anchor: await anchorProof(log, batch, anchor, anchor.confirmation) }),
    }
    const claim = stamp && claimOf(stamp)
    return {
      merkle,
      stamp: stamp && claim && (await stampProof(log, batch, stamp, claim)),
      blockNumber: anchor?.confirmation?.blockNumber,
      assurance: { time: claim?.assurance ?? 'none', anchor: anchor?.info.assurance ?? 'none' },
    }
  }
}

interface Refusal {
  readonly status: 'invalid' | 'not_found' | 'ambiguous'
  readonly error: string
  readonly code: string
}

interface Sealed {
  readonly merkle: EventMerkleProof
  readonly stamp: StampProof | undefined
  readonly blockNumber: number | undefined
  readonly assurance: Omit<AssuranceNote, 'note'>
}

const TXID_TAKES = 'txid takes 64 lowercase hex digits'
const invalid = (error: string) => ({ status: 'invalid', error, code: 'VALIDATION_ERROR' }) as const
const notInLog = { status: 'not_found', error: 'This log does not hold that txId', code: 'NOT_FOUND' } as const

const hashOf = (txId: string): Uint8Array | undefined => (txId.length === 64 ? fromHex(txId) : undefined)
const bytesOf = (hash: string): Uint8Array => fromHex(hash) as Uint8Array

const sealedParts = (sealed: Sealed | undefined) => ({
  ...(sealed && { merkle: sealed.merkle }),
  ...sealed?.stamp,
})

/** Levels between a leaf and the root of a tree of n leaves. */
const depthOf = (treeSize: number): number => (treeSize < 2 ? 0 : Math.floor(Math.log2(treeSize - 1)) + 1)

async function anchorProof(
  log: LogReader,
  batch: BatchRecord,
  { size, root, checkpoint, info }: AnchorRecord,
  confirmation: NonNullable<AnchorRecord['confirmation']>,
): Promise<AnchorProof> {
  return {
    type: info.type,
    network: info.network,
    chainId: info.chainId,
    txHash: confirmation.ref,
    blockNumber: confirmation.blockNumber,
    blockHash: confirmation.blockHash,
    blockTime: rfc3339(confirmation.blockTime),
    confirmations: confirmation.confirmations,
    treeSize: size,
    merkleRoot: root,
    checkpoint,
    consistency: (await log.consistencyProof(batch.end, size)).map(toHex),
  }
}

interface StampProof {
  readonly tsa: TsaProof
  readonly tsas: TsaProof[]
}

async function stampProof(
  log: LogReader,
  batch: BatchRecord,
  { size, checkpoint, tokens }: StampRecord,
  claim: StampClaim,
): Promise<StampProof> {
  const consistency = (await log.consistencyProof(batch.end, size)).map(toHex)
  const proofOf = (token: StampToken): TsaProof => ({
    authority: token.authority,
    genTime: rfc3339(token.genTime),
    serialNumber: token.serialNumber,
    policy: token.policy,
    hashAlgorithm: token.hashAlgorithm,
    imprint: token.imprint,
    token: token.token,
    treeSize: size,
    checkpoint,
    consistency,
  })
  const tsas = tokens.map(async (token) => {
    const evidence = (await log.tokenEvidence(token.evidence)).map(({ type, der }) => ({ type, data: toBase64(der) }))
    return { ...proofOf(token), ...(evidence.length > 0 && { evidence }) }
  })
  return { tsa: proofOf(claim.token), tsas: await Promise.all(tsas) }
}

const NOTES = {
  none: 'Neither time nor existence is vouched for outside this registry yet',
  operator:
    'The time stamp or the ledger is the operator’s own, for one machine and for trying: nobody independent vouches for them',
  independent: 'Vouched for by an authority or a chain that is independent of the operator',
} as const

/** Only "not later than genTime or blockTime" is proven, and only as well as who says so. */
function assuranceOf(sealed: Sealed | undefined): AssuranceNote {
  const { time, anchor } = sealed?.assurance ?? { time: 'none', anchor: 'none' }
  const best = [time, anchor].includes('independent')
    ? 'independent'
    : [time, anchor].includes('operator')
      ? 'operator'
      : 'none'
  return { time, anchor, note: NOTES[best] }
}

interface Path {
  readonly txId: string
  readonly proof: MerkleValidationRequest['proof']
  readonly leafIndex: number | undefined
  readonly treeSize: number | undefined
}

interface Computed {
  readonly root: Uint8Array
  /** Where positions were sent for a known txId: they are those of its leaf index. */
  readonly sidesHold: boolean
}

/**
 * The root to which the caller's own hashes lead: by the positions they carry, or by the leaf's known place. Sides are
 * never guessed by trying. `undefined` where there is no way to tell them.
 */
function computeRoot({ txId, proof, leafIndex, treeSize }: Path): Computed | undefined {
  const leaf = leafHash(bytesOf(txId))
  const placed = leafIndex !== undefined && treeSize !== undefined && leafIndex < treeSize
  const sides = proof.map(({ position }) => position)
  if (proof.length > 0 && sides.every((side) => side !== undefined)) {
    const root = rootFromSides(
      leaf,
      proof.map(({ hash }, i) => ({ hash: bytesOf(hash), side: sides[i] as 'left' | 'right' })),
    )
    return { root, sidesHold: !placed || sidesOf(leafIndex, treeSize).join() === sides.join() }
  }
  if (!placed) return undefined
  const root = rootFromInclusionProof(
    leaf,
    leafIndex,
    treeSize,
    proof.map(({ hash }) => bytesOf(hash)),
  )
  if (root === undefined) return undefined
  const expected = sidesOf(leafIndex, treeSize)
  return { root, sidesHold: sides.every((side, i) => side === undefined || side === expected[i]) }
}

function whyNot(proof: MerkleValidationRequest['proof'], computed: Computed | undefined): string {
  if (proof.length === 0) return 'An empty proof proves nothing'
  if (computed === undefined) return 'The proof does not have the length of a path of this txId in this tree'
  return computed.sidesHold
    ? 'The path leads to another root'
    : 'The positions are not those of the leaf index of this txId'
}
