import { fromBase64, fromHex, toHex } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import { isId } from '../../ids.ts'
import { keys } from '../../store/keys.ts'
import type { BatchRecord } from '../../log/records.ts'
import { claimOf, type StampClaim } from '../../log/stamp-claim.ts'
import type { Proofs } from '../../api/registry.ts'
import { ExternalId, type MerkleValidationRequest } from '../schemas.ts'
import {
  type EvidenceProof,
  type FileProof,
  type MerkleProof,
  type MerkleRoot,
  type MerkleValidation,
} from './schemas.ts'
import { validate } from '../validation.ts'
import { read, rfc3339, type Context } from '../context.ts'
import { decodeTransaction, openEvent, type Transaction } from '../event/event.ts'
import { readFile } from '../file/files.ts'
import { decodeRecord, type EventRecord, type EvidenceRecord } from '../../store/records.ts'
import { assuranceOf, proveEntry, logProofParts, type LogProof } from './log-proof.ts'
import { validatePath } from './validate.ts'

/** What anyone may ask, without a key. Answers never hold a name, owner, text, meta, company, category, or anything of a file but its id. */
export class RegistryProofs implements Proofs {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  validate(request: MerkleValidationRequest): Promise<MerkleValidation> {
    return validatePath(this.#context.log, request)
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
      ...logProofParts(sealed),
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
      ...logProofParts(sealed),
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
    const [place] = await this.#context.log.entryStatuses([entry])
    if (place === undefined || opening === undefined) return { ...notInLog, txId }
    const sealed = await proveEntry(this.#context.log, place)
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
    const [place] = await this.#context.log.entryStatuses([entry])
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
          stored === undefined ? await this.#context.log.controlOpening(entry) : decodeTransaction(stored.value).opening
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
      ...logProofParts(sealed),
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
    return event === undefined ? this.#context.log.controlOpening(entry) : decodeTransaction(event.value).opening
  }

  async #sealed(txId: string): Promise<LogProof | undefined> {
    const [place] = await this.#context.log.entryStatuses([bytesOf(txId)])
    return place && proveEntry(this.#context.log, place)
  }
}

interface Refusal {
  readonly status: 'invalid' | 'not_found' | 'ambiguous'
  readonly error: string
  readonly code: string
}

const TXID_TAKES = 'txid takes 64 lowercase hex digits'
const invalid = (error: string) => ({ status: 'invalid', error, code: 'VALIDATION_ERROR' }) as const
const notInLog = { status: 'not_found', error: 'This log does not hold that txId', code: 'NOT_FOUND' } as const

const hashOf = (txId: string): Uint8Array | undefined => (txId.length === 64 ? fromHex(txId) : undefined)
const bytesOf = (hash: string): Uint8Array => fromHex(hash) as Uint8Array

/** Levels between a leaf and the root of a tree of n leaves. */
const depthOf = (treeSize: number): number => (treeSize < 2 ? 0 : Math.floor(Math.log2(treeSize - 1)) + 1)
