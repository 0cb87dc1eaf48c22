import { createHash } from 'node:crypto'
import { encodeUtf8, equalBytes, sha256, toBase64, toHex } from '../core/bytes.ts'
import { RegistryError } from '../core/errors.ts'
import type { StampToken } from '../core/log/records.ts'
import type { TimestampAuthority, ValidationData } from '../core/ports/index.ts'
import type { DurationObserver } from './schedule.ts'
import type { StampCoordinator, StampedCheckpoint } from './stamp-coordinator.ts'

interface StamperOptions {
  readonly coordinator: StampCoordinator
  readonly authority: TimestampAuthority
  /** SHA-256 (hex) of the public key of each trust anchor. */
  readonly trustAnchors: readonly string[]
  readonly onDuration: DurationObserver
}

/** Has one authority stamp the checkpoints, independently of the other authorities. */
export class Stamper {
  readonly #coordinator: StampCoordinator
  readonly #authority: TimestampAuthority
  readonly #trustAnchors: readonly string[]
  readonly #onDuration: DurationObserver

  constructor({ coordinator, authority, trustAnchors, onDuration }: StamperOptions) {
    this.#onDuration = onDuration
    this.#coordinator = coordinator
    this.#authority = authority
    this.#trustAnchors = trustAnchors
  }

  /** Stamps a checkpoint if one is due. Returns after how many ms the next step is due. */
  async step(signal: AbortSignal): Promise<number> {
    const identity = { authority: this.#authority.info.name, trustAnchors: this.#trustAnchors }
    const task = await this.#coordinator.nextTask(identity)
    if ('dueInMs' in task) return task.dueInMs
    await this.#stamp(task.checkpoint, signal)
    return 0
  }

  /** Reads the newest stamp, and stamps nothing. */
  async observe(): Promise<void> {
    await this.#coordinator.observe()
  }

  /** If the process stops before the token is stored, the checkpoint is stamped again. */
  async #stamp(checkpoint: StampedCheckpoint, signal: AbortSignal): Promise<void> {
    const startedAt = performance.now()
    const data = encodeUtf8(checkpoint.note)
    const response = await this.#authority.stamp(data, signal)
    const validationData = await this.#authority.validationDataOf(response, signal)
    const token = await this.#tokenOf(response, data, validationData)
    await this.#coordinator.addToken(checkpoint, { token, response, validationData })
    this.#onDuration('stamp', performance.now() - startedAt)
  }

  async #tokenOf(
    response: Uint8Array,
    data: Uint8Array,
    validationData: readonly ValidationData[],
  ): Promise<StampToken> {
    // Loaded with the first token, because the ASN.1 libraries are large.
    const { parseTimestampResponse } = await import('../core/verify/tokens/timestamp.ts')
    const { name, assurance } = this.#authority.info
    const info = parseTimestampResponse(response)
    if (!equalBytes(info.imprint, createHash(info.hashAlgorithm).update(data).digest()))
      throw new RegistryError('AUTHORITY_FAILED', `${name} stamped other data than the checkpoint`)
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
      evidence: validationData.map(({ type, der }) => ({ type, sha256: toHex(sha256(der)) })),
    }
  }
}
