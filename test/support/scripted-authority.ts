import { RegistryError } from '../../core/errors.ts'
import type { TimestampAuthority, ValidationData } from '../../core/ports/index.ts'

type CallFault = 'before' | 'after'

/** A real timestamp authority that can fail: before it stamps, or after it stamped, so that the token is lost. */
export class ScriptedAuthority implements TimestampAuthority {
  readonly info: TimestampAuthority['info']
  /** How the next calls fail. Afterwards it works again. */
  readonly faults: CallFault[] = []
  /** While true, every call fails before it stamps. */
  isDown = false
  /** Returned for each token. */
  validationData: readonly ValidationData[] = []
  calls = 0
  stamped = 0
  isClosed = false
  readonly #authority: TimestampAuthority

  constructor(authority: TimestampAuthority, info: Partial<TimestampAuthority['info']> = {}) {
    this.#authority = authority
    this.info = { ...authority.info, ...info }
  }

  async stamp(bytes: Uint8Array): Promise<Uint8Array> {
    this.calls++
    const fault = this.faults.shift()
    if (this.isDown || fault === 'before') throw new Error('Injected: it is down')
    const response = await this.#authority.stamp(bytes)
    this.stamped++
    if (fault === 'after') throw new RegistryError('AUTHORITY_FAILED', 'Injected: its response was lost')
    return response
  }

  async validationDataOf(): Promise<readonly ValidationData[]> {
    return this.validationData
  }

  /** Does not close the real authority, which several sealers use. */
  async close(): Promise<void> {
    this.isClosed = true
  }
}
