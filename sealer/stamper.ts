import { createHash } from 'node:crypto'
import { encodeUtf8, equalBytes, sha256, toBase64, toHex } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import type { CheckpointRecord, StampToken } from '../core/log/records.ts'
import type { TimestampAuthority, ValidationData } from '../core/ports.ts'
import type { StampCoordinator } from './stamp-coordinator.ts'

/** Has one authority stamp each round's checkpoint, whatever the others do. What is not stored yet is stamped again. */
export class Stamper {
  readonly #coordinator: StampCoordinator
  readonly #authority: TimestampAuthority
  readonly #trustAnchors: readonly string[]

  constructor(rounds: StampCoordinator, authority: TimestampAuthority, trustAnchors: readonly string[]) {
    this.#coordinator = rounds
    this.#authority = authority
    this.#trustAnchors = trustAnchors
  }

  /** Stamps, if it is time. Answers when to look again, in ms. */
  async step(signal: AbortSignal): Promise<number> {
    const round = await this.#coordinator.nextTask({
      authority: this.#authority.info.name,
      trustAnchors: this.#trustAnchors,
    })
    if ('dueInMs' in round) return round.dueInMs
    await this.#stamp(round.checkpoint, signal)
    return 0
  }

  /** Learns of the newest stamp, and stamps nothing. */
  async observe(): Promise<void> {
    await this.#coordinator.observe()
  }

  async #stamp(checkpoint: Pick<CheckpointRecord, 'size' | 'note'>, signal: AbortSignal): Promise<void> {
    const bytes = encodeUtf8(checkpoint.note)
    const response = await this.#authority.stamp(bytes, signal)
    const evidence = await this.#authority.validationDataOf(response, signal)
    const token = await this.#read(response, bytes, evidence)
    await this.#coordinator.addToken(checkpoint, { token, response, validationData: evidence })
  }

  async #read(response: Uint8Array, stamped: Uint8Array, evidence: readonly ValidationData[]): Promise<StampToken> {
    // Loaded with the first token: the ASN.1 libraries are not small.
    const { parseTimestampResponse } = await import('../core/verify/timestamp.ts')
    const { name, assurance } = this.#authority.info
    const info = parseTimestampResponse(response)
    if (!equalBytes(info.imprint, createHash(info.hashAlgorithm).update(stamped).digest()))
      throw new RegistryError('AUTHORITY_FAILED', `${name} stamped something else than the checkpoint`)
    return {
      authority: name,
      assurance,
      genTime: info.genTime,
      serialNumber: info.serialNumber,
      policy: info.policy,
      hashAlgorithm: info.hashAlgorithm,
      imprint: toHex(info.imprint),
      token: toBase64(response),
      trustAnchors: this.#trustAnchors,
      evidence: evidence.map(({ type, der }) => ({ type, sha256: toHex(sha256(der)) })),
    }
  }
}
